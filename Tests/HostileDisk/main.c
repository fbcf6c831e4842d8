// A file system that answers what it likes: times, sizes, blocks, link counts, modes, names, offsets, attributes' values and errors at
// random, with a liking for extremes; now and then it takes its time. To be mounted inside a store. A name's first letter says what
// it mostly is: d a folder, l a symbolic link, p a pipe, else a file.
//
//   HostileDisk SEED MOUNTPOINT [FUSE OPTION...]
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fuse.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static uint64_t state;

static uint64_t number(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int one_in(unsigned many) { return number() % many == 0; }

static uint64_t extreme(void) {
    static const uint64_t values[] = {
        0, 1, 511, 4096, INT32_MAX, (uint64_t)INT32_MAX + 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, INT64_MAX / 512, INT64_MAX / 512 + 1,
        UINT64_MAX / 512, UINT64_MAX / 512 + 1, INT64_MAX - 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX,
        253402300800, (uint64_t)-62135596801, 9223372036, 9223372037, (uint64_t)-9223372037, (uint64_t)-9223372038,
    };
    switch (number() % 4) {
    case 0: return number() % 5000;
    case 1: return number() >> number() % 64;
    case 2: return -(number() >> number() % 64);
    default: return values[number() % (sizeof values / sizeof *values)];
    }
}

// 0, or a mistake. The kernel takes none beyond 511.
static int mistake(unsigned one_of) {
    static const int usual[] = { EIO, ENOENT, EACCES, ESTALE, ENOSPC, EINTR, EAGAIN, ENOTCONN, EOVERFLOW, ENODATA, EOPNOTSUPP };
    if (one_in(2000)) usleep(number() % 30000);
    if (!one_in(one_of)) return 0;
    return one_in(3) ? -(int)(1 + number() % 511) : -usual[number() % (sizeof usual / sizeof *usual)];
}

static int attributes(const char *path, struct stat *status, struct fuse_file_info *file) {
    (void)file;
    int isRoot = strcmp(path, "/") == 0, error = mistake(isRoot ? 1000 : 20);
    if (error) return error;
    // What changes its type is bad for the kernel from then on (the root with all in it), and to Quire another number is another
    // file: seldom.
    char kind = !isRoot && one_in(2000) ? "dlpf"[number() % 4] : strrchr(path, '/')[1];
    uint64_t hash = 1469598103934665603u;
    for (const char *c = path; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    memset(status, 0, sizeof *status);
    mode_t type = kind == 'd' || kind == 0 ? S_IFDIR : kind == 'l' ? S_IFLNK : kind == 'p' ? S_IFIFO : S_IFREG;
    status->st_mode = type | (one_in(3) ? number() & 07777 : 0777);
    status->st_ino = isRoot ? 1 : one_in(50) ? extreme() : hash % 7 == 0 ? hash : hash % 1000;
    status->st_nlink = one_in(2) ? 1 : extreme();
    status->st_uid = one_in(2) ? getuid() : (uid_t)extreme();
    status->st_gid = one_in(2) ? getgid() : (gid_t)extreme();
    status->st_size = one_in(2) ? (off_t)(number() % 20000) : (off_t)(extreme() & INT64_MAX);
    status->st_blocks = (blkcnt_t)extreme();
    status->st_blksize = (blksize_t)extreme();
    status->st_rdev = extreme();
    struct timespec *times[] = { &status->st_atim, &status->st_mtim, &status->st_ctim };
    for (int i = 0; i < 3; i++) {
        times[i]->tv_sec = (time_t)extreme();
        times[i]->tv_nsec = one_in(2) ? (long)(number() % 1000000000) : (long)extreme();
    }
    return 0;
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file, enum fuse_readdir_flags flags) {
    (void)path, (void)file, (void)flags;
    int error = mistake(15);
    if (error) return error;
    // Ends by chance, if not at once.
    if (offset && one_in(3)) return 0;
    for (unsigned count = number() % 40; count; count--) {
        char name[300];
        unsigned length = one_in(4) ? 1 + number() % 255 : 2;
        for (unsigned i = 0; i < length; i++) do name[i] = (char)(number() | 1); while (name[i] == '/');
        name[0] = "dlpfgh"[number() % 6];
        if (length == 2) name[1] = (char)('0' + number() % 6);
        name[length] = 0;
        struct stat status = { .st_ino = extreme(), .st_mode = one_in(2) ? S_IFREG : (mode_t)(number() & 0170000) };
        if (fill(buffer, name, &status, one_in(4) ? (off_t)extreme() | 1 : (off_t)(offset + count + 1), 0)) break;
    }
    return 0;
}

static int follow(const char *path, char *target, size_t size) {
    (void)path;
    int error = mistake(8);
    if (error) return error;
    size_t length = one_in(5) ? size - 1 : number() % 20;
    for (size_t i = 0; i < length; i++) target[i] = (char)(number() | 1);
    target[length] = 0;
    return 0;
}

static int open_file(const char *path, struct fuse_file_info *file) {
    (void)path;
    file->direct_io = one_in(2);
    file->keep_cache = one_in(4);
    return mistake(8);
}

static int read_file(const char *path, char *data, size_t size, off_t offset, struct fuse_file_info *file) {
    (void)path, (void)offset, (void)file;
    int error = mistake(10);
    if (error) return error;
    size_t length = one_in(3) ? number() % (size + 1) : size;
    for (size_t i = 0; i < length; i++) data[i] = (char)number();
    return (int)length;
}

static int write_file(const char *path, const char *data, size_t size, off_t offset, struct fuse_file_info *file) {
    (void)path, (void)data, (void)offset, (void)file;
    int error = mistake(10);
    return error ? error : one_in(8) ? (int)(number() % (size + 1)) : (int)size;
}

static int value(const char *path, const char *name, char *data, size_t size) {
    (void)path, (void)name;
    static const char *tags[] = { "t", "a,b", ",,,", "a/b/c,x", "\xff,\xc3\xa9", "t,t,t" };
    int error = one_in(3) ? -ENODATA : mistake(6);
    if (error) return error;
    if (one_in(2)) {
        const char *tag = tags[number() % 6];
        if (size == 0) return one_in(4) ? (int)(number() % 65536) : (int)strlen(tag);
        if (size < strlen(tag)) return -ERANGE;
        memcpy(data, tag, strlen(tag));
        return (int)strlen(tag);
    }
    if (size == 0) return (int)(number() % 65537);
    size_t length = number() % (size + 1);
    for (size_t i = 0; i < length; i++) data[i] = (char)number();
    return (int)length;
}

static int names(const char *path, char *data, size_t size) {
    static const char some[] = "user.xdg.tags\0user.a\0trusted.b\0system.posix_acl_access";
    int error = mistake(6);
    if (error) return error;
    if (one_in(3)) return value(path, "", data, size);
    if (size == 0) return sizeof some;
    if (size < sizeof some) return -ERANGE;
    memcpy(data, some, sizeof some);
    return sizeof some;
}

static int space(const char *path, struct statvfs *status) {
    (void)path;
    *status = (struct statvfs){
        .f_bsize = extreme(), .f_frsize = extreme(), .f_blocks = extreme(), .f_bfree = extreme(), .f_bavail = extreme(), .f_files = extreme(),
        .f_ffree = extreme(), .f_favail = extreme(), .f_namemax = extreme(),
    };
    return mistake(10);
}

static off_t seek(const char *path, off_t offset, int whence, struct fuse_file_info *file) {
    (void)path, (void)offset, (void)whence, (void)file;
    int error = mistake(4);
    return error ? error : (off_t)(extreme() & INT64_MAX);
}

static int create(const char *path, mode_t mode, struct fuse_file_info *file) { (void)mode; return open_file(path, file); }
static int flush(const char *path, struct fuse_file_info *file) { (void)path, (void)file; return mistake(8); }
static int synchronize(const char *path, int data, struct fuse_file_info *file) { (void)path, (void)data, (void)file; return mistake(8); }
static int set_mode(const char *path, mode_t mode, struct fuse_file_info *file) { (void)path, (void)mode, (void)file; return mistake(8); }
static int set_owner(const char *path, uid_t user, gid_t group, struct fuse_file_info *file) {
    (void)path, (void)user, (void)group, (void)file;
    return mistake(8);
}
static int set_size(const char *path, off_t size, struct fuse_file_info *file) { (void)path, (void)size, (void)file; return mistake(8); }
static int set_times(const char *path, const struct timespec times[2], struct fuse_file_info *file) {
    (void)path, (void)times, (void)file;
    return mistake(8);
}
static int set_value(const char *path, const char *name, const char *data, size_t size, int flags) {
    (void)path, (void)name, (void)data, (void)size, (void)flags;
    return mistake(8);
}
static int remove_value(const char *path, const char *name) { (void)path, (void)name; return mistake(8); }
static int make(const char *path, mode_t mode) { (void)path, (void)mode; return mistake(8); }
static int drop(const char *path) { (void)path; return mistake(8); }
static int pair(const char *from, const char *to) { (void)from, (void)to; return mistake(8); }
static int move(const char *from, const char *to, unsigned flags) { (void)from, (void)to, (void)flags; return mistake(8); }
static int allocate(const char *path, int mode, off_t offset, off_t length, struct fuse_file_info *file) {
    (void)path, (void)mode, (void)offset, (void)length, (void)file;
    return mistake(4);
}

static void *begin(struct fuse_conn_info *connection, struct fuse_config *configuration) {
    (void)connection;
    configuration->use_ino = configuration->readdir_ino = 1;
    configuration->entry_timeout = configuration->attr_timeout = configuration->negative_timeout = 0;
    return NULL;
}

int main(int count, char **words) {
    if (count < 3) {
        fprintf(stderr, "usage: HostileDisk SEED MOUNTPOINT [FUSE OPTION...]\n");
        return 64;
    }
    state = strtoull(words[1], NULL, 10) * 0x9e3779b97f4a7c15 | 1;
    for (int i = 0; i < 8; i++) number();
    const struct fuse_operations operations = {
        .init = begin, .getattr = attributes, .readdir = list, .readlink = follow, .open = open_file, .create = create, .read = read_file,
        .write = write_file, .flush = flush, .fsync = synchronize, .getxattr = value, .listxattr = names, .setxattr = set_value,
        .removexattr = remove_value, .statfs = space, .lseek = seek, .chmod = set_mode, .chown = set_owner, .truncate = set_size,
        .utimens = set_times, .mkdir = make, .unlink = drop, .rmdir = drop, .symlink = pair, .link = pair, .rename = move,
        .fallocate = allocate,
    };
    // One thread: a seed is one order of answers to one order of questions.
    char *arguments[64] = { words[0], "-f", "-s" };
    int given = 3;
    for (int i = 2; i < count && given < 63; i++) arguments[given++] = words[i];
    return fuse_main(given, arguments, &operations, NULL);
}
