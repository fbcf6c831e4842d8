// What making and publishing versions of a document needs: attributes by descriptor, inode flags, space, ordering.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

ssize_t cl_flistxattr(int fd, char *list, size_t size);
int cl_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags);
int cl_fremovexattr(int fd, const char *name);
ssize_t cl_pread(int fd, void *buffer, size_t count, off_t offset);
int cl_fchmod(int fd, mode_t mode);
int cl_fchown(int fd, uid_t uid, gid_t gid);
int cl_futimens(int fd, const struct timespec times[2]);
int cl_syncfs(int fd);

// Which file system a file is on, and what room there is for an ordinary user.
struct cl_file_system {
    long type;
    uint64_t id;
    uint64_t available;  // bytes; UINT64_MAX where there is no limit
    int has_inodes;      // 0: not one more file can be made
};
int cl_file_system(int fd, struct cl_file_system *out);

// ioctl_ficlone(2): all of `from`'s blocks.
int cl_clone(int to, int from);

// The extended attribute of a file's access list (acl(5)).
#define CL_ACCESS_LIST "system.posix_acl_access"

// Inode flags as chattr(1) sets them, and the project id. -ENOTTY or -EOPNOTSUPP where a file system has none.
int cl_get_flags(int fd, uint32_t *flags);
int cl_set_flags(int fd, uint32_t flags);
int cl_get_project(int fd, uint32_t *project);
int cl_set_project(int fd, uint32_t project);
// The flags that a new regular file can be given; the two that forbid replacing it.
extern const uint32_t CL_FLAGS_GIVEN, CL_FLAGS_FORBIDDING;

// Writes the file's data out and waits until it and the blocks it lies in are on their way in the journal's order
// (sync_file_range(2)); starts no commit and does not flush the disk's cache.
int cl_write_out(int fd);
// Only begins with that.
void cl_begin_write_out(int fd);
// Gives the open file a name. Works without privilege and for a file that never had one.
int cl_link_open_file(int fd, int folder, const char *name);

extern const int CL_SEEK_DATA, CL_SEEK_HOLE;
extern const int CL_FALLOC_KEEP_SIZE, CL_FALLOC_PUNCH_HOLE;
int64_t cl_realtime_coarse_ns(void);  // the clock that file times are taken from; some 4 ms behind
