#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define RESULT(call)                     \
    do {                                 \
        __typeof__(call) r_ = (call);    \
        return r_ < 0 ? -errno : r_;     \
    } while (0)
// Calls that a signal may interrupt before they did anything.
#define RETRIED(call)                                  \
    do {                                               \
        __typeof__(call) r_;                           \
        do r_ = (call);                                \
        while (r_ < 0 && errno == EINTR);              \
        return r_ < 0 ? -errno : r_;                   \
    } while (0)

const int CL_O_PATH = O_PATH, CL_O_TMPFILE = O_TMPFILE, CL_O_NOATIME = O_NOATIME, CL_O_DIRECT = O_DIRECT, CL_O_LARGEFILE = 0100000;
const int CL_AT_EMPTY_PATH = AT_EMPTY_PATH, CL_AT_STATX_DONT_SYNC = AT_STATX_DONT_SYNC, CL_SO_PEERGROUPS = SO_PEERGROUPS, CL_SO_PEERPIDFD = 77;
const unsigned CL_RENAME_NOREPLACE = RENAME_NOREPLACE, CL_RENAME_EXCHANGE = RENAME_EXCHANGE,
               CL_RENAME_WHITEOUT = RENAME_WHITEOUT;

int cl_statx(int dirfd, const char *path, int flags, struct cl_status *out) {
    struct statx x;
    if (statx(dirfd, path, flags, STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, &x) < 0) return -errno;
    memset(&out->st, 0, sizeof out->st);
    out->st.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor);
    out->st.st_ino = x.stx_ino;
    out->st.st_mode = x.stx_mode;
    out->st.st_nlink = x.stx_nlink;
    out->st.st_uid = x.stx_uid;
    out->st.st_gid = x.stx_gid;
    out->st.st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor);
    out->st.st_size = x.stx_size;
    out->st.st_blksize = x.stx_blksize;
    out->st.st_blocks = x.stx_blocks;
    out->st.st_atim = (struct timespec){x.stx_atime.tv_sec, x.stx_atime.tv_nsec};
    out->st.st_mtim = (struct timespec){x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec};
    out->st.st_ctim = (struct timespec){x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec};
    out->birth_ns =
        x.stx_mask & STATX_BTIME ? (int64_t)((uint64_t)x.stx_btime.tv_sec * 1000000000u + x.stx_btime.tv_nsec) : 0;
    out->mount_id = x.stx_mnt_id;
    out->is_mount_root = (x.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    return 0;
}
int cl_statx_fd(int fd, struct cl_status *out) { return cl_statx(fd, "", AT_EMPTY_PATH, out); }

int cl_openat(int dirfd, const char *path, int flags, mode_t mode) { RETRIED(openat(dirfd, path, flags | O_CLOEXEC, mode)); }
int cl_pipe(int ends[2]) { RESULT(pipe2(ends, O_CLOEXEC)); }
int cl_close(int fd) { RESULT(close(fd)); }
ssize_t cl_pwrite(int fd, const void *b, size_t n, off_t o) { RETRIED(pwrite(fd, b, n, o)); }
ssize_t cl_read(int fd, void *b, size_t n) { RETRIED(read(fd, b, n)); }
ssize_t cl_write(int fd, const void *b, size_t n) { RETRIED(write(fd, b, n)); }
int cl_mkdirat(int d, const char *p, mode_t m) { RESULT(mkdirat(d, p, m)); }
int cl_mknodat(int d, const char *p, mode_t m, dev_t dev) { RESULT(mknodat(d, p, m, dev)); }
int cl_symlinkat(const char *t, int d, const char *p) { RESULT(symlinkat(t, d, p)); }
ssize_t cl_readlinkat(int d, const char *p, char *b, size_t n) { RESULT(readlinkat(d, p, b, n)); }
int cl_linkat(int d, const char *p, int e, const char *q, int f) { RESULT(linkat(d, p, e, q, f)); }
int cl_unlinkat(int d, const char *p, int f) { RESULT(unlinkat(d, p, f)); }
int cl_renameat2(int d, const char *p, int e, const char *q, unsigned f) { RESULT(renameat2(d, p, e, q, f)); }
int cl_fchmodat(int d, const char *p, mode_t m) { RESULT(fchmodat(d, p, m, 0)); }
int cl_fchownat(int d, const char *p, uid_t u, gid_t g, int f) { RESULT(fchownat(d, p, u, g, f)); }
int cl_ftruncate(int fd, off_t s) { RETRIED(ftruncate(fd, s)); }
int cl_utimensat(int d, const char *p, const struct timespec t[2], int f) { RESULT(utimensat(d, p, t, f)); }
int cl_fsync(int fd, int data_only) { RETRIED(data_only ? fdatasync(fd) : fsync(fd)); }
int cl_fallocate(int fd, int m, off_t o, off_t n) { RETRIED(fallocate(fd, m, o, n)); }
static ssize_t append_once(int fd, const void *bytes, size_t count) {
    const struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    RETRIED(pwritev2(fd, &part, 1, 0, RWF_APPEND));
}
ssize_t cl_append(int fd, const void *bytes, size_t count) {
    size_t done = 0;
    do {
        const ssize_t more = append_once(fd, (const char *)bytes + done, count - done);
        if (more < 0 && done == 0) return more;
        if (more <= 0) break;
        done += (size_t)more;
    } while (done < count);
    return (ssize_t)done;
}
off_t cl_lseek(int fd, off_t o, int w) { RESULT(lseek(fd, o, w)); }
ssize_t cl_copy_file_range(int in, off_t i, int out, off_t o, size_t n, unsigned f) {
    RETRIED(copy_file_range(in, &i, out, &o, n, f));
}

struct record64 {  // linux_dirent64, see getdents64(2)
    uint64_t d_ino;
    int64_t d_off;
    uint16_t d_reclen;
    uint8_t d_type;
    char d_name[];
};
ssize_t cl_getdents(int fd, void *b, size_t n) { RETRIED(syscall(SYS_getdents64, fd, b, n)); }
void cl_dirent_at(const void *record, struct cl_dirent *out) {
    const struct record64 *r = record;
    out->inode = r->d_ino;
    out->next_offset = r->d_off;
    out->record_length = r->d_reclen;
    out->type = r->d_type;
    out->name = r->d_name;
}
int cl_fstatvfs(int fd, struct statvfs *out) { RETRIED(fstatvfs(fd, out)); }
long cl_filesystem_type(int fd) {
    struct statfs s;
    return fstatfs(fd, &s) < 0 ? -errno : (long)s.f_type;
}

ssize_t cl_getxattr(const char *p, const char *n, void *v, size_t s) { RESULT(getxattr(p, n, v, s)); }
ssize_t cl_listxattr(const char *p, char *l, size_t s) { RESULT(listxattr(p, l, s)); }
int cl_setxattr(const char *p, const char *n, const void *v, size_t s, int f) { RESULT(setxattr(p, n, v, s, f)); }
int cl_lsetxattr(const char *p, const char *n, const void *v, size_t s, int f) { RESULT(lsetxattr(p, n, v, s, f)); }
int cl_removexattr(const char *p, const char *n) { RESULT(removexattr(p, n)); }
ssize_t cl_lgetxattr(const char *p, const char *n, void *v, size_t s) { RESULT(lgetxattr(p, n, v, s)); }
// listxattrat(2) is of Linux 6.13; a path through /proc costs three times as much.
ssize_t cl_attribute_list_size(int folder, const char *name) {
    enum { LISTXATTRAT = 465 };
    static _Atomic bool is_missing;
    if (!is_missing) {
        long size = syscall(LISTXATTRAT, folder, name, AT_SYMLINK_NOFOLLOW, NULL, (size_t)0);
        if (size >= 0 || (errno != ENOSYS && errno != EPERM)) return size < 0 ? -errno : size;
        is_missing = true;
    }
    char path[32 + NAME_MAX + 1];
    cl_proc_path(folder, name, path, sizeof path);
    RESULT(llistxattr(path, NULL, 0));
}
ssize_t cl_fgetxattr(int fd, const char *n, void *v, size_t s) { RESULT(fgetxattr(fd, n, v, s)); }

int cl_ioctl_pointer(int fd, unsigned long request, void *argument) { RESULT(ioctl(fd, request, argument)); }

int cl_name_to_handle(int dirfd, const char *path, int flags, uint8_t *out, size_t *length, int *mount_id) {
    union {
        struct file_handle h;
        uint8_t room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } u;
    u.h.handle_bytes = MAX_HANDLE_SZ;
    if (name_to_handle_at(dirfd, path, &u.h, mount_id, flags) < 0) return -errno;
    uint32_t type = (uint32_t)u.h.handle_type;
    memcpy(out, &type, 4);
    memcpy(out + 4, u.h.f_handle, u.h.handle_bytes);
    *length = 4 + u.h.handle_bytes;
    return 0;
}
int cl_open_by_handle(int mount_fd, const uint8_t *handle, size_t length, int flags) {
    union {
        struct file_handle h;
        uint8_t room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } u;
    if (length < 4 || length - 4 > MAX_HANDLE_SZ) return -EINVAL;
    uint32_t type;
    memcpy(&type, handle, 4);
    u.h.handle_bytes = (unsigned)(length - 4);
    u.h.handle_type = (int)type;
    memcpy(u.h.f_handle, handle + 4, length - 4);
    RETRIED(open_by_handle_at(mount_fd, &u.h, flags | O_CLOEXEC));
}
void cl_proc_path(int fd, const char *name, char *out, size_t capacity) {
    snprintf(out, capacity, name ? "/proc/self/fd/%d/%s" : "/proc/self/fd/%d", fd, name);
}
const long CL_UTIME_NOW = UTIME_NOW, CL_UTIME_OMIT = UTIME_OMIT;
#include <linux/openat2.h>
int cl_open_beneath(int dirfd, const char *path, int flags) {
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
    RETRIED((int)syscall(SYS_openat2, dirfd, path, &how, sizeof how));
}
int cl_open_on_mount(int dirfd, const char *name, int flags) {
    if (flags & O_PATH) flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW;
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    RETRIED((int)syscall(SYS_openat2, dirfd, name, &how, sizeof how));
}
int cl_mount_id(int fd, uint64_t *id) {
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) < 0) return -errno;
    *id = status.stx_mnt_id;
    return 0;
}
int cl_open_cached(int dirfd, const char *path, int flags) {
    struct open_how how = {
        .flags = (uint64_t)(flags | O_PATH | O_NOFOLLOW | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV | RESOLVE_CACHED};
    int fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
    return fd < 0 ? -errno : fd;
}
int cl_known_inode(int fd, uint64_t *inode) {
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &status) < 0) return -errno;
    *inode = status.stx_ino;
    return 0;
}
int cl_cached_inode(int dirfd, const char *path, uint64_t *inode) {
    int fd = cl_open_cached(dirfd, path, 0);
    if (fd < 0) return fd;
    int error = cl_known_inode(fd, inode);
    close(fd);
    return error;
}
uint32_t cl_dev_major(dev_t device) { return major(device); }
uint32_t cl_dev_minor(dev_t device) { return minor(device); }
#include <time.h>
void cl_init_shared_lock(pthread_rwlock_t *lock) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

int cl_write_lock_within(pthread_rwlock_t *lock, int seconds) {
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += seconds;
    return -pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &deadline);
}
int cl_usable_processors(void) {
    cpu_set_t set;
    // More than 1,024 of them do not fit.
    return sched_getaffinity(0, sizeof set, &set) < 0 ? (int)sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT(&set);
}
