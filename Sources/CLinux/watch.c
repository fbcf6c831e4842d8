#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RESULT(call)                     \
    do {                                 \
        __typeof__(call) r_ = (call);    \
        return r_ < 0 ? -errno : r_;     \
    } while (0)

// Newer than some systems' headers.
#ifndef FAN_RENAME
#define FAN_RENAME 0x10000000
#endif
#ifndef FAN_EVENT_INFO_TYPE_OLD_DFID_NAME
#define FAN_EVENT_INFO_TYPE_OLD_DFID_NAME 10
#define FAN_EVENT_INFO_TYPE_NEW_DFID_NAME 12
#endif

const unsigned CL_FAN_MARK_ADD = FAN_MARK_ADD, CL_FAN_MARK_REMOVE = FAN_MARK_REMOVE,
               CL_FAN_MARK_FILESYSTEM = FAN_MARK_FILESYSTEM, CL_FAN_MARK_MOUNT = FAN_MARK_MOUNT,
               CL_FAN_MARK_IGNORE_ALWAYS = FAN_MARK_IGNORED_MASK | FAN_MARK_IGNORED_SURV_MODIFY;
const uint64_t CL_FAN_MODIFY = FAN_MODIFY, CL_FAN_ATTRIB = FAN_ATTRIB, CL_FAN_CLOSE_WRITE = FAN_CLOSE_WRITE,
               CL_FAN_MOVED_FROM = FAN_MOVED_FROM, CL_FAN_MOVED_TO = FAN_MOVED_TO, CL_FAN_CREATE = FAN_CREATE,
               CL_FAN_DELETE = FAN_DELETE, CL_FAN_Q_OVERFLOW = FAN_Q_OVERFLOW, CL_FAN_RENAME = FAN_RENAME,
               CL_FAN_ONDIR = FAN_ONDIR;
const uint32_t CL_IN_MODIFY = IN_MODIFY, CL_IN_ATTRIB = IN_ATTRIB, CL_IN_CLOSE_WRITE = IN_CLOSE_WRITE,
               CL_IN_MOVED_FROM = IN_MOVED_FROM, CL_IN_MOVED_TO = IN_MOVED_TO, CL_IN_CREATE = IN_CREATE,
               CL_IN_DELETE = IN_DELETE, CL_IN_Q_OVERFLOW = IN_Q_OVERFLOW, CL_IN_IGNORED = IN_IGNORED,
               CL_IN_ONLYDIR = IN_ONLYDIR, CL_IN_EXCL_UNLINK = IN_EXCL_UNLINK, CL_IN_ISDIR = IN_ISDIR;

int cl_fanotify_open(void) {
    RESULT(fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_MARKS | FAN_REPORT_DFID_NAME,
                         O_RDONLY | O_CLOEXEC));
}
int cl_fanotify_mark(int queue, unsigned flags, uint64_t mask, int dirfd, const char *path) {
    RESULT(fanotify_mark(queue, flags, mask, dirfd, path));
}

int cl_fanotify_next(const void *buffer, size_t length, size_t *offset, struct cl_fanotify_event *out) {
    if (*offset >= length) return 0;
    struct fanotify_event_metadata head;
    if (length - *offset < sizeof head) return -EINVAL;
    const uint8_t *start = (const uint8_t *)buffer + *offset;
    memcpy(&head, start, sizeof head);
    if (head.vers != FANOTIFY_METADATA_VERSION || head.metadata_len < sizeof head ||
        head.event_len < head.metadata_len || head.event_len > length - *offset)
        return -EINVAL;
    out->mask = head.mask;
    out->pid = head.pid;
    out->records = start + head.metadata_len;
    out->records_length = head.event_len - head.metadata_len;
    *offset += head.event_len;
    return 1;
}

// Record: header (type, pad, length: 4 bytes), fsid (8), handle_bytes (4), handle_type (4), handle, name, NUL, padding.
static int place_of(const uint8_t *record, size_t length, struct cl_fanotify_place *out) {
    enum { HEADER = 4, FIXED = 16 };
    if (length < HEADER + FIXED) return -EINVAL;
    uint32_t handle_bytes;
    memcpy(&handle_bytes, record + HEADER + 8, 4);
    size_t key_length = FIXED + (size_t)handle_bytes;
    if (handle_bytes > CL_HANDLE_MAX || length < HEADER + key_length + 1) return -EINVAL;
    const char *name = (const char *)record + HEADER + key_length;
    if (!memchr(name, 0, length - HEADER - key_length)) return -EINVAL;
    out->key = record + HEADER;
    out->key_length = key_length;
    out->name = name;
    return 0;
}
int cl_fanotify_places(const struct cl_fanotify_event *event, struct cl_fanotify_place *at, struct cl_fanotify_place *from,
                       struct cl_fanotify_place *to) {
    memset(at, 0, sizeof *at);
    memset(from, 0, sizeof *from);
    memset(to, 0, sizeof *to);
    size_t offset = 0;
    while (offset < event->records_length) {
        const uint8_t *record = event->records + offset;
        size_t room = event->records_length - offset;
        uint16_t length;
        if (room < 4) return -EINVAL;
        memcpy(&length, record + 2, 2);
        if (length < 4 || length > room) return -EINVAL;
        struct cl_fanotify_place *out = record[0] == FAN_EVENT_INFO_TYPE_DFID_NAME       ? at
                                        : record[0] == FAN_EVENT_INFO_TYPE_OLD_DFID_NAME ? from
                                        : record[0] == FAN_EVENT_INFO_TYPE_NEW_DFID_NAME ? to
                                                                                         : NULL;
        int result = out ? place_of(record, length, out) : 0;
        if (result < 0) return result;
        offset += length;
    }
    return 0;
}

int cl_inotify_open(void) { RESULT(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)); }
int cl_inotify_add(int queue, const char *path, uint32_t mask) { RESULT(inotify_add_watch(queue, path, mask)); }
int cl_inotify_remove(int queue, int watch) { RESULT(inotify_rm_watch(queue, watch)); }
int cl_inotify_next(const void *buffer, size_t length, size_t *offset, struct cl_inotify_event *out) {
    if (*offset >= length) return 0;
    struct inotify_event head;
    if (length - *offset < sizeof head) return -EINVAL;
    const uint8_t *start = (const uint8_t *)buffer + *offset;
    memcpy(&head, start, sizeof head);
    if (head.len > length - *offset - sizeof head) return -EINVAL;
    const char *name = (const char *)start + sizeof head;
    if (head.len > 0 && !memchr(name, 0, head.len)) return -EINVAL;
    out->watch = head.wd;
    out->mask = head.mask;
    out->cookie = head.cookie;
    out->name = head.len > 0 && name[0] ? name : NULL;
    *offset += sizeof head + head.len;
    return 1;
}

int cl_eventfd(void) { RESULT(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }
int cl_eventfd_signal(int fd) {
    uint64_t one = 1;
    return write(fd, &one, sizeof one) < 0 ? -errno : 0;
}
int cl_wait_any(const int *fds, int count, unsigned priority, int timeout_ms) {
    struct pollfd polled[8];
    if (count < 0 || count > 8) return -EINVAL;
    for (int i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = fds[i], .events = priority >> i & 1 ? POLLPRI : POLLIN};
    if (poll(polled, (nfds_t)count, timeout_ms) < 0) return errno == EINTR ? 0 : -errno;
    int ready = 0;
    for (int i = 0; i < count; i++)
        if (polled[i].revents) ready |= 1 << i;
    return ready;
}

int cl_clone_mount(int dirfd, int recursive) {
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
    enum { CLONE = 1, RECURSIVE = 0x8000 };  // OPEN_TREE_CLONE, AT_RECURSIVE
    unsigned flags = CLONE | O_CLOEXEC | AT_EMPTY_PATH | (recursive ? RECURSIVE : 0);
    RESULT((int)syscall(SYS_open_tree, dirfd, "", flags));
}
int cl_filesystem_id(int fd, uint8_t out[8]) {
    struct statfs s;
    if (fstatfs(fd, &s) < 0) return -errno;
    memcpy(out, &s.f_fsid, 8);
    return 0;
}
int cl_set_thread_io_idle(void) {
    enum { WHO_PROCESS = 1, CLASS_IDLE = 3, CLASS_SHIFT = 13 };  // linux/ioprio.h; 0 names the calling thread
    return syscall(SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE << CLASS_SHIFT) < 0 ? -errno : 0;
}
int64_t cl_monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int cl_cond_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ns) {
    struct timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
    return -pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &deadline);
}
int cl_sem_wait_until(sem_t *semaphore, int64_t deadline_ns) {
    struct timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
    return sem_clockwait(semaphore, CLOCK_MONOTONIC, &deadline) < 0 ? -errno : 0;
}
