// Linux calls and constants that Glibc's module map does not give to Swift. Plain declarations only: feature macros stay in
// the .c files (a _GNU_SOURCE here would break module merging with Glibc).
// Every call returns what the system call returns, or -errno: no caller reads errno across a language boundary.
#pragma once
#include <stddef.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "find.h"
#include "guard.h"
#include "messages.h"
#include "mounts.h"
#include "processes.h"
#include "replay.h"
#include "versions.h"
#include "watch.h"

// What one statx(2) tells: a struct stat ready for a FUSE reply, and the birth time, which tells apart two files that had
// the same inode number one after the other.
struct cl_status {
    struct stat st;
    int64_t birth_ns;    // 0 where the file system keeps none
    uint64_t mount_id;
    int is_mount_root;  // something is mounted here
};
int cl_statx(int dirfd, const char *path, int flags, struct cl_status *out);
int cl_statx_fd(int fd, struct cl_status *out);

// Makes a lock in which who wants it exclusively goes before those who come later.
void cl_init_shared_lock(pthread_rwlock_t *lock);
// Takes a lock exclusively, or gives up with -ETIMEDOUT.
int cl_write_lock_within(pthread_rwlock_t *lock, int seconds);

int cl_openat(int dirfd, const char *path, int flags, mode_t mode);
int cl_close(int fd);
ssize_t cl_pwrite(int fd, const void *buffer, size_t count, off_t offset);
ssize_t cl_read(int fd, void *buffer, size_t count);
ssize_t cl_write(int fd, const void *buffer, size_t count);
int cl_mkdirat(int dirfd, const char *path, mode_t mode);
int cl_mknodat(int dirfd, const char *path, mode_t mode, dev_t dev);
int cl_symlinkat(const char *target, int dirfd, const char *path);
ssize_t cl_readlinkat(int dirfd, const char *path, char *buffer, size_t size);
int cl_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int cl_unlinkat(int dirfd, const char *path, int flags);
int cl_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int cl_fchmodat(int dirfd, const char *path, mode_t mode);
int cl_fchownat(int dirfd, const char *path, uid_t uid, gid_t gid, int flags);
int cl_ftruncate(int fd, off_t size);
// Seconds and nanoseconds as utimensat(2) takes them, UTIME_NOW and UTIME_OMIT included.
int cl_utimensat(int dirfd, const char *path, const struct timespec times[2], int flags);
int cl_fsync(int fd, int data_only);
int cl_fallocate(int fd, int mode, off_t offset, off_t length);
// Writes all of it at the file's end, wherever that is by then, as write(2) does after O_APPEND. Short if a part cannot be written.
ssize_t cl_append(int fd, const void *bytes, size_t count);
off_t cl_lseek(int fd, off_t offset, int whence);
ssize_t cl_copy_file_range(int in, off_t in_offset, int out, off_t out_offset, size_t length, unsigned flags);
// Reads raw linux_dirent64 records; walk them with cl_dirent_at.
ssize_t cl_getdents(int fd, void *buffer, size_t size);
struct cl_dirent {
    uint64_t inode;
    int64_t next_offset;
    uint16_t record_length;
    uint8_t type;
    const char *name;
};
void cl_dirent_at(const void *record, struct cl_dirent *out);
struct statvfs;
int cl_fstatvfs(int fd, struct statvfs *out);
long cl_filesystem_type(int fd);

ssize_t cl_getxattr(const char *path, const char *name, void *value, size_t size);
ssize_t cl_listxattr(const char *path, char *list, size_t size);
int cl_setxattr(const char *path, const char *name, const void *value, size_t size, int flags);
int cl_lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags);
int cl_removexattr(const char *path, const char *name);
ssize_t cl_lgetxattr(const char *path, const char *name, void *value, size_t size);
// How long the list of attributes is of what has a name in a folder; no link is followed.
ssize_t cl_attribute_list_size(int folder, const char *name);
ssize_t cl_fgetxattr(int fd, const char *name, void *value, size_t size);

int cl_ioctl_pointer(int fd, unsigned long request, void *argument);

// File handles: the name of a file that survives renames and remounts. out_handle holds CL_HANDLE_MAX bytes, type first.
enum { CL_HANDLE_MAX = 136 };
int cl_name_to_handle(int dirfd, const char *path, int flags, uint8_t *out_handle, size_t *out_length, int *mount_id);
int cl_open_by_handle(int mount_fd, const uint8_t *handle, size_t length, int flags);

// This thread's file system identity (setfsuid(2), setfsgid(2)), umask and capabilities.
int cl_set_fs_identity(uid_t uid, gid_t gid);
int cl_unshare_fs(void);
int cl_keep_capabilities(void);                        // SECBIT_NO_SETUID_FIXUP: setfsuid leaves capabilities alone
int cl_raise_capability(int capability, int raised);   // in this thread's effective set
int cl_has_capability(int capability);
int cl_effective_access(int fd, int mode);             // faccessat2 with AT_EACCESS: asks for the fs identity
int cl_set_groups(size_t count, const gid_t *groups);  // this thread only
int cl_set_thread_nice(int nice);
int cl_set_thread_slice(unsigned long long nanoseconds);  // 0: the usual one. Linux 6.12 and newer; sched_setattr(2), sched_runtime
int cl_set_thread_name(const char *name);
void cl_trim_memory(void);  // malloc_trim(3): gives back to the kernel what is free in all of malloc's arenas

// The constants that Swift cannot read from macros.
extern const int CL_O_PATH, CL_O_TMPFILE, CL_O_NOATIME, CL_O_DIRECT, CL_O_LARGEFILE;
extern const int CL_AT_EMPTY_PATH, CL_AT_STATX_DONT_SYNC, CL_SO_PEERGROUPS, CL_SO_PEERPIDFD;
extern const unsigned CL_RENAME_NOREPLACE, CL_RENAME_EXCHANGE, CL_RENAME_WHITEOUT;
enum { CL_CAP_DAC_OVERRIDE = 1, CL_CAP_DAC_READ_SEARCH = 2, CL_CAP_FSETID = 4, CL_CAP_SYS_ADMIN = 21, CL_CAP_SYS_RESOURCE = 24 };
// How many processors the process may run on: taskset and containers leave it some of the machine's.
int cl_usable_processors(void);
// Makes this thread act as (uid, gid) with `umask` in the file system calls that follow; remembers what is in force and makes
// no system call when nothing changes. uid and gid are left alone when `change_ids` is 0.
int cl_assume(uid_t uid, gid_t gid, mode_t umask, int change_ids);
int cl_pipe(int ends[2]);  // closed on exec (pipe2(2))
// Writes "/proc/self/fd/FD" and, if there is a name, "/NAME".
void cl_proc_path(int fd, const char *name, char *out, size_t capacity);
extern const long CL_UTIME_NOW, CL_UTIME_OMIT;
// Opens a path below dirfd: no symbolic link is followed, nothing outside is reached, and nothing that is mounted there: -EXDEV (openat2(2)).
int cl_open_beneath(int dirfd, const char *path, int flags);
// Opens a name in dirfd: no symbolic link is followed, and nothing that is mounted there: -EXDEV. With O_PATH, flags that mean nothing then
// are left out, as open(2) does.
int cl_open_on_mount(int dirfd, const char *name, int flags);
// The id of the mount that an open file is on, as in /proc/self/mountinfo. Asks no server (statx(2), a mask of 0).
int cl_mount_id(int fd, uint64_t *id);
// Opens (O_PATH) a path from the kernel's cache alone, on the same file system: waits for no disk, lock or other process (RESOLVE_CACHED,
// openat2(2), Linux 5.12). -ENOENT if nothing is there, -EXDEV beyond the file system, -EAGAIN and the like if it is not known.
int cl_open_cached(int dirfd, const char *path, int flags);
// The inode's number, as the kernel knows it: asks no file system (AT_STATX_DONT_SYNC, statx(2)).
int cl_known_inode(int fd, uint64_t *inode);
// The inode that is cached under a path; the errors are those of cl_open_cached.
int cl_cached_inode(int dirfd, const char *path, uint64_t *inode);
int cl_is_io_idle(int thread);  // whether its I/O class is "idle" (ioprio_get(2))
// The ids alone; the umask stays as it is.
int cl_assume_ids(uid_t uid, gid_t gid);
void cl_forget_assumed(void);  // the identity was changed by other means: cl_assume sets it anew
uint32_t cl_dev_major(dev_t device);
uint32_t cl_dev_minor(dev_t device);
