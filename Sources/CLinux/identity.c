// The calling thread's identity. glibc's wrappers change every thread of the process at once; these are the raw calls.
#include "CLinux.h"
#include <malloc.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int cl_set_fs_identity(uid_t uid, gid_t gid) {
    // setfsuid reports no error: ask again with an invalid id to learn what is in force (setfsuid(2)).
    syscall(SYS_setfsgid, gid);
    syscall(SYS_setfsuid, uid);
    if ((uid_t)syscall(SYS_setfsuid, (uid_t)-1) != uid || (gid_t)syscall(SYS_setfsgid, (gid_t)-1) != gid) return -EPERM;
    return 0;
}
int cl_unshare_fs(void) { return unshare(CLONE_FS) < 0 ? -errno : 0; }
int cl_keep_capabilities(void) { return prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ? -errno : 0; }

static int get_capabilities(struct __user_cap_data_struct data[2]) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    return syscall(SYS_capget, &header, data) < 0 ? -errno : 0;
}
int cl_raise_capability(int capability, int raised) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    int result = get_capabilities(data);
    if (result < 0) return result;
    uint32_t bit = 1u << (capability & 31);
    if (raised)
        data[capability / 32].effective |= bit;
    else
        data[capability / 32].effective &= ~bit;
    return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}
int cl_has_capability(int capability) {
    struct __user_cap_data_struct data[2];
    if (get_capabilities(data) < 0) return 0;
    return (data[capability / 32].effective >> (capability & 31)) & 1;
}
int cl_effective_access(int fd, int mode) {
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
    return syscall(SYS_faccessat2, fd, "", mode, AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0 ? -errno : 0;
}
int cl_set_groups(size_t count, const gid_t *groups) { return syscall(SYS_setgroups, count, groups) < 0 ? -errno : 0; }
int cl_set_thread_nice(int nice) { return setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice) < 0 ? -errno : 0; }
void cl_trim_memory(void) { malloc_trim(0); }
int cl_set_thread_slice(unsigned long long nanoseconds) {
    // struct sched_attr as of its first version; glibc 2.36 has none.
    struct {
        unsigned int size, policy;
        unsigned long long flags;
        int nice;
        unsigned int priority;
        unsigned long long runtime, deadline, period;
    } attributes = {.size = sizeof attributes, .nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)), .runtime = nanoseconds};
    return syscall(SYS_sched_setattr, 0, &attributes, 0) < 0 ? -errno : 0;
}
int cl_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0) < 0 ? -errno : 0; }
#include <sys/stat.h>
static __thread struct {
    uid_t uid;
    gid_t gid;
    mode_t umask;
    int known;
} current;
int cl_assume(uid_t uid, gid_t gid, mode_t mask, int change_ids) {
    if (!current.known || current.umask != mask) umask(mask);
    current.umask = mask;
    if (change_ids && (!current.known || current.uid != uid || current.gid != gid)) {
        current.known = 0;
        int result = cl_set_fs_identity(uid, gid);
        if (result < 0) return result;
        current.uid = uid;
        current.gid = gid;
    }
    current.known = 1;
    return 0;
}
int cl_assume_ids(uid_t uid, gid_t gid) {
    if (current.known && current.uid == uid && current.gid == gid) return 0;
    // The umask has to be set anew by who needs it.
    current.known = 0;
    current.umask = (mode_t)-1;
    int result = cl_set_fs_identity(uid, gid);
    if (result < 0) return result;
    current.uid = uid;
    current.gid = gid;
    current.known = 1;
    return 0;
}
int cl_is_io_idle(int thread) {
    long priority = syscall(SYS_ioprio_get, 1 /* IOPRIO_WHO_PROCESS */, thread);
    return priority >= 0 && (priority >> 13) == 3 /* IOPRIO_CLASS_IDLE */;
}
void cl_forget_assumed(void) { current.known = 0; }
