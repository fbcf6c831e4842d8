#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define RESULT(call)                     \
    do {                                 \
        __typeof__(call) r_ = (call);    \
        return r_ < 0 ? -errno : r_;     \
    } while (0)

ssize_t cl_flistxattr(int fd, char *l, size_t s) { RESULT(flistxattr(fd, l, s)); }
int cl_fsetxattr(int fd, const char *n, const void *v, size_t s, int f) { RESULT(fsetxattr(fd, n, v, s, f)); }
int cl_fremovexattr(int fd, const char *n) { RESULT(fremovexattr(fd, n)); }
ssize_t cl_pread(int fd, void *b, size_t n, off_t o) {
    ssize_t r;
    do r = pread(fd, b, n, o);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}
int cl_fchmod(int fd, mode_t m) { RESULT(fchmod(fd, m)); }
int cl_fchown(int fd, uid_t u, gid_t g) { RESULT(fchown(fd, u, g)); }
int cl_syncfs(int fd) { RESULT(syncfs(fd)); }
int cl_futimens(int fd, const struct timespec t[2]) { RESULT(futimens(fd, t)); }

int cl_file_system(int fd, struct cl_file_system *out) {
    struct statfs s;
    if (fstatfs(fd, &s) < 0) return -errno;
    out->type = (long)s.f_type;
    memcpy(&out->id, &s.f_fsid, sizeof out->id);
    // A tmpfs without a limit tells 0 of 0.
    out->available = s.f_blocks ? (uint64_t)s.f_bavail * (uint64_t)s.f_bsize : UINT64_MAX;
    out->has_inodes = s.f_files == 0 || s.f_ffree > 0;
    return 0;
}

const uint32_t CL_FLAGS_GIVEN = FS_SECRM_FL | FS_UNRM_FL | FS_COMPR_FL | FS_SYNC_FL | FS_NODUMP_FL | FS_NOATIME_FL | FS_NOCOMP_FL |
                                FS_JOURNAL_DATA_FL | FS_NOTAIL_FL | FS_NOCOW_FL | FS_DAX_FL,
               CL_FLAGS_FORBIDDING = FS_IMMUTABLE_FL | FS_APPEND_FL;
int cl_clone(int to, int from) { RESULT(ioctl(to, FICLONE, from)); }
int cl_get_flags(int fd, uint32_t *flags) { RESULT(ioctl(fd, FS_IOC_GETFLAGS, flags)); }
int cl_set_flags(int fd, uint32_t flags) { RESULT(ioctl(fd, FS_IOC_SETFLAGS, &flags)); }
int cl_get_project(int fd, uint32_t *project) {
    struct fsxattr x;
    if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0) return -errno;
    *project = x.fsx_projid;
    return 0;
}
int cl_set_project(int fd, uint32_t project) {
    struct fsxattr x;
    if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0) return -errno;
    x.fsx_projid = project;
    RESULT(ioctl(fd, FS_IOC_FSSETXATTR, &x));
}

int cl_write_out(int fd) {
    int r;
    do r = sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}
void cl_begin_write_out(int fd) { sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }
int cl_link_open_file(int fd, int folder, const char *name) {
    // The short way needs CAP_DAC_READ_SEARCH, or Linux 6.10 and the credentials the file was opened with.
    if (linkat(fd, "", folder, name, AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT) return -errno;
    char path[64];
    cl_proc_path(fd, NULL, path, sizeof path);
    RESULT(linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW));
}

const int CL_SEEK_DATA = SEEK_DATA, CL_SEEK_HOLE = SEEK_HOLE;
const int CL_FALLOC_KEEP_SIZE = FALLOC_FL_KEEP_SIZE, CL_FALLOC_PUNCH_HOLE = FALLOC_FL_PUNCH_HOLE;
int64_t cl_realtime_coarse_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
