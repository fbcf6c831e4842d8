// Telling of changes made by others: fanotify(7), inotify(7), and what a thread that waits for them needs.
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A notification-class, non-blocking queue that reports folder handles and names. Needs CAP_SYS_ADMIN.
int cl_fanotify_open(void);
int cl_fanotify_mark(int queue, unsigned flags, uint64_t mask, int dirfd, const char *path);
extern const unsigned CL_FAN_MARK_ADD, CL_FAN_MARK_REMOVE, CL_FAN_MARK_FILESYSTEM, CL_FAN_MARK_MOUNT;
extern const unsigned CL_FAN_MARK_IGNORE_ALWAYS;  // an ignore mask that writing does not clear
extern const uint64_t CL_FAN_MODIFY, CL_FAN_ATTRIB, CL_FAN_CLOSE_WRITE, CL_FAN_MOVED_FROM, CL_FAN_MOVED_TO, CL_FAN_CREATE,
    CL_FAN_DELETE, CL_FAN_Q_OVERFLOW, CL_FAN_RENAME, CL_FAN_ONDIR;

// One event in a buffer that read(2) filled; valid as long as the buffer.
struct cl_fanotify_event {
    uint64_t mask;
    int32_t pid;
    const uint8_t *records;
    size_t records_length;
};
// A folder and a name in it. The key is the file system's id (8 bytes), the handle's length (4), then the handle as
// cl_open_by_handle takes it, from byte 12 on. Absent: key is NULL.
struct cl_fanotify_place {
    const uint8_t *key;
    size_t key_length;
    const char *name;  // ends in NUL; "." for the folder itself
};
enum { CL_FANOTIFY_KEY_HANDLE = 12 };
// Reads the event at *offset and moves *offset past it. 1: an event; 0: the buffer's end; -EINVAL: not a whole event.
int cl_fanotify_next(const void *buffer, size_t length, size_t *offset, struct cl_fanotify_event *out);
// The places an event names: where it happened, and for a rename the old and the new place. -EINVAL: malformed.
int cl_fanotify_places(const struct cl_fanotify_event *event, struct cl_fanotify_place *at, struct cl_fanotify_place *from,
                       struct cl_fanotify_place *to);

int cl_inotify_open(void);  // non-blocking
int cl_inotify_add(int queue, const char *path, uint32_t mask);
int cl_inotify_remove(int queue, int watch);
extern const uint32_t CL_IN_MODIFY, CL_IN_ATTRIB, CL_IN_CLOSE_WRITE, CL_IN_MOVED_FROM, CL_IN_MOVED_TO, CL_IN_CREATE,
    CL_IN_DELETE, CL_IN_Q_OVERFLOW, CL_IN_IGNORED, CL_IN_ONLYDIR, CL_IN_EXCL_UNLINK, CL_IN_ISDIR;
struct cl_inotify_event {
    int32_t watch;
    uint32_t mask;
    uint32_t cookie;
    const char *name;  // NULL for the watched folder itself
};
// As cl_fanotify_next.
int cl_inotify_next(const void *buffer, size_t length, size_t *offset, struct cl_inotify_event *out);

int cl_eventfd(void);
int cl_eventfd_signal(int fd);
// Waits until one of up to 8 descriptors is readable (or, where the bit in `priority` is set, has POLLPRI). Returns a bit
// for each that is ready, 0 after the timeout (milliseconds, -1: none) or a signal.
int cl_wait_any(const int *fds, int count, unsigned priority, int timeout_ms);

// A mount of the same folder that only this process has, attached nowhere (open_tree(2)); what is mounted inside comes along
// if recursive. An O_PATH descriptor. Needs CAP_SYS_ADMIN.
int cl_clone_mount(int dirfd, int recursive);
int cl_filesystem_id(int fd, uint8_t out[8]);  // f_fsid of statfs(2), as fanotify reports it
int cl_set_thread_io_idle(void);               // the idle I/O class of ioprio_set(2), for this thread
int64_t cl_monotonic_ns(void);

/* pthread_cond_clockwait(3) on the monotonic clock, until a time of cl_monotonic_ns. */
int cl_cond_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ns);
/* sem_clockwait(3) on the monotonic clock, until a time of cl_monotonic_ns. */
int cl_sem_wait_until(sem_t *semaphore, int64_t deadline_ns);
