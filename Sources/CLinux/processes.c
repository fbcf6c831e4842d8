#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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
