#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
