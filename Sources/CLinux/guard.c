#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

int cl_watch_parent(pid_t parent) {
    const int ignored[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
    sigset_t death;
    sigemptyset(&death);
    sigaddset(&death, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &death, NULL);
    int fd = signalfd(-1, &death, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) return -errno;
    int failure = prctl(PR_SET_PDEATHSIG, SIGUSR1) < 0 ? errno : getppid() != parent ? ESRCH : 0;
    if (failure == 0) return fd;
    close(fd);
    return -failure;
}

int cl_exit_status(int pidfd) {
    // struct pidfd_info of linux/pidfd.h, which the system's headers may be too old to have.
    struct {
        uint64_t mask, cgroup;
        uint32_t ids[11];
        int32_t exit_code;
    } info = {.mask = 1 << 3 /* PIDFD_INFO_EXIT */};
    _Static_assert(sizeof info == 64, "PIDFD_INFO_SIZE_VER0");
    if (ioctl(pidfd, _IOWR(0xff, 11, info), &info) < 0 || !(info.mask & 1 << 3)) return -ENODATA;
    return info.exit_code;
}

int cl_never_wait(int fd) { return fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ? -errno : 0; }
