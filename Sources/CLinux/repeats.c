#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

// Below the root of the mount, and through nothing that somebody could have put on the way there.
static int open_below(int root, const char *path) {
    const struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

static char repeat_below(int root, char operation, const char *path) {
    const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_NOW } };
    int file = open_below(root, path);
    if (file < 0) return 0;
    char result = operation == CL_REPEAT_WRITE ? utimensat(file, "", times, AT_EMPTY_PATH) == 0 : 1;
    close(file);
    if (operation == CL_REPEAT_LOOKUP && (file = open_below(root, path)) >= 0) close(file);
    return result;
}

static char repeat(const char *request, size_t length) {
    const char *root_path = request + 1, *path = memchr(root_path, 0, length - 1);
    if (!path) return 0;
    // Not kept open: that would keep the mount busy.
    int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return 0;
    struct statfs system;
    char result = fstatfs(root, &system) == 0 && system.f_type == 0x65735546 /* FUSE_SUPER_MAGIC */
        && repeat_below(root, request[0], path + 1);
    close(root);
    return result;
}

void cl_serve_repeats(int channel) {
    // What ends the daemon closes the channel; a signal to both must not end this one first.
    const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_IGN);
    // Nothing of the daemon's stays open here, the kernel's device least of all: the mount would outlive the daemon.
    if (dup2(channel, 0) < 0 || close_range(1, ~0U, 0) < 0 || chdir("/") < 0) _exit(1);
    prctl(PR_SET_NAME, "quire-repeat");
    static char request[2 * PATH_MAX + 2];
    for (;;) {
        ssize_t length = recv(0, request, sizeof request - 1, 0);
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) _exit(0);
        request[length] = 0;
        char result = repeat(request, (size_t)length);
        if (send(0, &result, 1, MSG_NOSIGNAL) != 1) _exit(0);
    }
}

int cl_repeat_channel(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0;
}

int cl_repeat(int channel, const void *request, size_t length, int milliseconds) {
    if (send(channel, request, length, MSG_NOSIGNAL) < 0) return -errno;
    struct pollfd answer = { .fd = channel, .events = POLLIN };
    int ready;
    while ((ready = poll(&answer, 1, milliseconds)) < 0 && errno == EINTR) {}
    if (ready <= 0) return ready < 0 ? -errno : -ETIMEDOUT;
    char result;
    ssize_t count = recv(channel, &result, 1, 0);
    if (count < 0) return -errno;
    return count == 0 ? -EPIPE : result;
}
