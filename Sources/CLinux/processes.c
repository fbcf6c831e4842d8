#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int cl_is_process(pid_t number) {
    // Signal 0 goes to a thread only if it is of that thread group. "Not permitted" tells that it is.
    return number > 0 && (syscall(SYS_tgkill, number, number, 0) == 0 || errno != ESRCH);
}
int cl_pidfd_open(pid_t number) {
    int fd = (int)syscall(SYS_pidfd_open, number, 0);
    return fd < 0 ? -errno : fd;
}
// As in the kernel's pidfd.h since Linux 6.15; newer than the system's headers.
struct pidfd_info {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code;
};
enum { info_exit = 1 << 3 };
#define CL_PIDFD_GET_INFO _IOWR(0xFF, 11, struct pidfd_info)

int cl_pidfd_end(int pidfd, int *status) {
    struct pidfd_info info = {.mask = info_exit};
    if (ioctl(pidfd, CL_PIDFD_GET_INFO, &info) < 0) return -errno;
    if (!(info.mask & info_exit)) return -EAGAIN;
    *status = info.exit_code;
    return 0;
}
int cl_share_descriptors(pid_t one, pid_t other) {
    long order = syscall(SYS_kcmp, one, other, KCMP_FILES, 0, 0);
    return order < 0 ? -errno : order == 0;
}
int64_t cl_count_threads(int proc, const char *path) {
    struct statx x;
    // Each thread is a folder in it.
    if (statx(proc, path, AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW, STATX_NLINK, &x) < 0) return -errno;
    return (int64_t)x.stx_nlink - 2;
}
uint64_t cl_ticks_per_second(void) { return (uint64_t)sysconf(_SC_CLK_TCK); }
uint64_t cl_boot_ticks(void) {
    static uint64_t tick_ns;  // the same whoever writes it first
    uint64_t length = __atomic_load_n(&tick_ns, __ATOMIC_RELAXED);
    if (!length) __atomic_store_n(&tick_ns, length = 1000000000 / cl_ticks_per_second(), __ATOMIC_RELAXED);
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) / length;
}
int64_t cl_count_descriptors(int proc, const char *path) {
    struct statx x;
    return statx(proc, path, AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW, STATX_SIZE, &x) < 0 ? -errno : (int64_t)x.stx_size;
}

// posix_spawn(3) cannot set PR_SET_PDEATHSIG. The child of a vfork(2) has signal handlers of its own and this memory, while this
// thread stands still until it has begun the program.
int cl_spawn_bound(const char *program, char *const arguments[], char *const environment[]) {
    sigset_t all, before, none;
    sigfillset(&all);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    volatile int failure = 0;
    pid_t parent = getpid(), child = vfork();
    if (child == 0) {
        struct sigaction usual = {.sa_handler = SIG_DFL};
        for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) raise(SIGKILL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execvpe(program, arguments, environment);
        failure = errno;
        _exit(127);
    }
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (child < 0) return -error;
    if (!failure) return child;
    waitpid(child, NULL, 0);
    return -failure;
}
int cl_reads_file(long number) { return number == SYS_read || number == SYS_readv; }
int cl_opens_file(long number) {
#ifdef SYS_open
    if (number == SYS_open || number == SYS_creat) return 1;
#endif
    return number == SYS_openat || number == SYS_openat2;
}
