#define _GNU_SOURCE
#include "CSystemCalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CONSTANT(name) const int sc_##name = name;
#include "constants.def"
#undef CONSTANT
#define CONSTANT(name) const long sc_##name = name;
#include "calls.def"
#undef CONSTANT

long sc_call(long number, long a, long b, long c, long d, long e, long f) {
    long result = syscall(number, a, b, c, d, e, f);
    return result == -1 ? -errno : result;
}

int sc_open_by_handle(int fd, int flags) {
    union {
        struct file_handle handle;
        char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } file = {.handle.handle_bytes = MAX_HANDLE_SZ};
    int mount;
    if (name_to_handle_at(fd, "", &file.handle, &mount, AT_EMPTY_PATH) < 0) return -errno;
    int opened = open_by_handle_at(fd, &file.handle, flags);
    return opened < 0 ? -errno : opened;
}

static int64_t nanoseconds(struct statx_timestamp t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

int sc_stat(int folder, const char *path, int flags, struct sc_status *out) {
    struct statx x;
    if (statx(folder, path, flags, STATX_BASIC_STATS | STATX_BTIME, &x) < 0) return -errno;
    *out = (struct sc_status){
        .device = makedev(x.stx_dev_major, x.stx_dev_minor),
        .inode = x.stx_ino,
        .size = x.stx_size,
        .blocks = x.stx_blocks,
        .special = makedev(x.stx_rdev_major, x.stx_rdev_minor),
        .mode = x.stx_mode,
        .links = x.stx_nlink,
        .uid = x.stx_uid,
        .gid = x.stx_gid,
        .block_size = x.stx_blksize,
        .access_ns = nanoseconds(x.stx_atime),
        .modify_ns = nanoseconds(x.stx_mtime),
        .change_ns = nanoseconds(x.stx_ctime),
        .birth_ns = x.stx_mask & STATX_BTIME ? nanoseconds(x.stx_btime) : 0,
    };
    return 0;
}

static int converted(int result, const struct statfs *s, struct sc_file_system *out) {
    if (result < 0) return -errno;
    *out = (struct sc_file_system){
        .type = (uint64_t)s->f_type,
        .block_size = (uint64_t)s->f_bsize,
        .blocks = s->f_blocks,
        .free_blocks = s->f_bfree,
        .available_blocks = s->f_bavail,
        .files = s->f_files,
        .free_files = s->f_ffree,
        .name_length = (uint64_t)s->f_namelen,
        .flags = (uint64_t)s->f_flags,
    };
    return 0;
}
int sc_statfs(const char *path, struct sc_file_system *out) {
    struct statfs s;
    return converted(statfs(path, &s), &s, out);
}
int sc_fstatfs(int fd, struct sc_file_system *out) {
    struct statfs s;
    return converted(fstatfs(fd, &s), &s, out);
}

int sc_lock(int fd, int command, int16_t *type, int64_t start, int64_t length, int32_t *process) {
    struct flock lock = {.l_type = *type, .l_whence = SEEK_SET, .l_start = start, .l_len = length, .l_pid = 0};
    if (fcntl(fd, command, &lock) < 0) return -errno;
    *type = lock.l_type;
    *process = lock.l_pid;
    return 0;
}

int sc_fork(void) {
    fflush(stdout);
    int result = fork();
    return result < 0 ? -errno : result;
}

const char *sc_errno_name(int number) {
    static char text[16];
    const char *name = strerrorname_np(number);
    if (name) return name;
    snprintf(text, sizeof text, "errno %d", number);
    return text;
}

static volatile sig_atomic_t caught[65];
static void count(int signal) { caught[signal] = caught[signal] + 1; }
int sc_catch(int signal) {
    struct sigaction action = {.sa_handler = count};
    return sigaction(signal, &action, NULL) < 0 ? -errno : 0;
}
int sc_caught(int signal) { return caught[signal]; }
int sc_set_handler(int signal, int ignored) {
    struct sigaction action = {.sa_handler = ignored ? SIG_IGN : SIG_DFL};
    return sigaction(signal, &action, NULL) < 0 ? -errno : 0;
}
int sc_alarm(int milliseconds) {
    struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000};
    struct itimerval timer = {.it_interval = time, .it_value = time};
    return setitimer(ITIMER_REAL, &timer, NULL) < 0 ? -errno : 0;
}
int sc_prlimit(int resource, uint64_t soft, uint64_t hard) {
    struct rlimit limit = {soft, hard};
    return setrlimit(resource, &limit) < 0 ? -errno : 0;
}
uint64_t sc_makedev(unsigned major, unsigned minor) { return makedev(major, minor); }

static int named(const char *path, struct sockaddr_un *out) {
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof out->sun_path) return -ENAMETOOLONG;
    strcpy(out->sun_path, path);
    return 0;
}
int sc_bind_unix(int socket, const char *path) {
    struct sockaddr_un address;
    if (named(path, &address) < 0) return -ENAMETOOLONG;
    return bind(socket, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}
int sc_connect_unix(int socket, const char *path) {
    struct sockaddr_un address;
    if (named(path, &address) < 0) return -ENAMETOOLONG;
    return connect(socket, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}
char *const *sc_environment(void) { return environ; }
