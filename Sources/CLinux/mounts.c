#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

int cl_open_canonical(const char *path) {
    const struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int folder;
    do folder = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    while (folder < 0 && (errno == EINTR || errno == EAGAIN));
    return folder < 0 ? -errno : folder;
}

uint32_t cl_fuse_connection(int device) {
    char text[64], line[128];
    unsigned connection = 0;
    snprintf(text, sizeof text, "/proc/self/fdinfo/%d", device);
    FILE *info = fopen(text, "re");
    if (!info) return 0;
    while (fgets(line, sizeof line, info) && sscanf(line, "fuse_connection: %u", &connection) != 1) {}
    fclose(info);
    return connection;
}

uint32_t cl_unnamed_device(int file) {
    struct statx status;
    // With no attribute asked for, the kernel tells the device even of a mount that is another user's or whose server has died.
    if (statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) < 0 || status.stx_dev_major != 0) return 0;
    return status.stx_dev_minor;
}

int cl_unmount(const char *path, uint32_t unnamed_device, int flags) {
    char copy[PATH_MAX], place[64 + NAME_MAX];
    size_t length = strlen(path);
    if (length >= sizeof copy) return -ENAMETOOLONG;
    memcpy(copy, path, length + 1);
    char *name = strrchr(copy, '/');
    if (!name || !name[1] || strlen(name + 1) > NAME_MAX) return -EINVAL;
    *name++ = 0;
    int folder = cl_open_canonical(*copy ? copy : "/");
    if (folder < 0) return folder;
    int result = -ESTALE, root = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root >= 0) {
        uint32_t device = cl_unnamed_device(root);
        // Open, it would keep the mount busy.
        close(root);
        if (device != 0 && device == unnamed_device) {
            // The folder is the one that was looked into, whatever its path leads to by now.
            cl_proc_path(folder, name, place, sizeof place);
            result = umount2(place, flags | UMOUNT_NOFOLLOW) < 0 ? -errno : 0;
        }
    }
    close(folder);
    return result;
}

// Of one write to a pipe.
struct mount_answer {
    int result;
    uint64_t device;
    char value[2048];
};

static struct mount_answer mount_answer(const char *path, const char *attribute) {
    struct mount_answer answer = {0};
    if (attribute) {
        ssize_t length = getxattr(path, attribute, answer.value, sizeof answer.value);
        answer.result = length < 0 ? -errno : (int)length;
        return answer;
    }
    struct statx status = {0};
    answer.result = statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_TYPE, &status) < 0 ? -errno : 0;
    answer.device = makedev(status.stx_dev_major, status.stx_dev_minor);
    return answer;
}

// Does not return. Should it wait for ever, it keeps no pipe of its caller's open.
static void tell_mount_answer(const char *path, const char *attribute, int pipe) {
    if (pipe > 0) syscall(SYS_close_range, 0, pipe - 1, 0);
    syscall(SYS_close_range, pipe + 1, ~0U, 0);
    struct mount_answer answer = mount_answer(path, attribute);
    _exit(write(pipe, &answer, sizeof answer) == sizeof answer ? 0 : 1);
}

int cl_ask_mount(const char *path, const char *attribute, int milliseconds, uint64_t *device, void *value, size_t capacity) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    pid_t child = _Fork();
    if (child == 0) tell_mount_answer(path, attribute, ends[1]);
    int failure = child < 0 ? errno : 0;
    close(ends[1]);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    int events = 0;
    if (!failure) do events = poll(&end, 1, milliseconds);
        while (events < 0 && errno == EINTR);
    struct mount_answer answer = {.result = -ETIMEDOUT};
    int is_answered = events > 0 && read(ends[0], &answer, sizeof answer) == sizeof answer;
    close(ends[0]);
    if (failure) return -failure;
    if (!is_answered) kill(child, SIGKILL);
    waitpid(child, NULL, is_answered ? 0 : WNOHANG);
    *device = answer.device;
    if (answer.result > 0) memcpy(value, answer.value, (size_t)answer.result < capacity ? (size_t)answer.result : capacity);
    return answer.result;
}
