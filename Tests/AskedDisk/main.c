// A disk that notes the users of requests: a folder once more, with a record of each request for a change or for attributes, one a line:
// user, request, path. One user has no inode left of a quota: what would make one for it is refused with EDQUOT. Otherwise it asks nobody
// for a permission, as a server does that trusts its client.
//
//   AskedDisk FOLDER RECORD USER-WITHOUT-ROOM MOUNTPOINT [FUSE OPTION...]
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

// A file or folder that the kernel knows.
struct node {
    int file;
    dev_t device;
    ino_t number;
    uint64_t lookups;
    struct node *next;
};
static struct node root, *others;
static int record;
static uid_t full;
static char folder[PATH_MAX];

static struct node *node_of(fuse_ino_t number) { return number == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)number; }

struct link { char path[32]; };
static struct link link_to(fuse_ino_t number) {
    struct link link;
    snprintf(link.path, sizeof link.path, "/proc/self/fd/%d", node_of(number)->file);
    return link;
}

static void note(fuse_req_t request, const char *what, fuse_ino_t parent, const char *name) {
    char path[PATH_MAX + 1] = "", line[2 * PATH_MAX];
    ssize_t length = readlink(link_to(parent).path, path, PATH_MAX);
    size_t start = strlen(folder);
    if (length < (ssize_t)start) start = 0;
    size_t size = (size_t)snprintf(line, sizeof line, "%u %s %s%s%s\n", fuse_req_ctx(request)->uid, what, path + start, name ? "/" : "", name ? name : "");
    if (write(record, line, size) != (ssize_t)size) abort();
}

static void answer(fuse_req_t request, int result) { fuse_reply_err(request, result < 0 ? errno : 0); }

// 0, or the errno.
static int find(fuse_ino_t parent, const char *name, struct fuse_entry_param *entry) {
    memset(entry, 0, sizeof *entry);
    int file = openat(node_of(parent)->file, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return errno;
    if (fstat(file, &entry->attr) < 0) abort();
    struct node *node = others;
    while (node && (node->number != entry->attr.st_ino || node->device != entry->attr.st_dev)) node = node->next;
    if (node) close(file);
    else {
        node = calloc(1, sizeof *node);
        *node = (struct node){ file, entry->attr.st_dev, entry->attr.st_ino, 0, others };
        others = node;
    }
    node->lookups++;
    entry->ino = (uintptr_t)node;
    return 0;
}

static void answer_entry(fuse_req_t request, fuse_ino_t parent, const char *name) {
    struct fuse_entry_param entry;
    int error = find(parent, name, &entry);
    if (error) fuse_reply_err(request, error);
    else fuse_reply_entry(request, &entry);
}

static void look_up(fuse_req_t request, fuse_ino_t parent, const char *name) { answer_entry(request, parent, name); }

static void forget(fuse_req_t request, fuse_ino_t number, uint64_t count) {
    struct node *node = node_of(number);
    if (node != &root && (node->lookups -= count) == 0) {
        struct node **place = &others;
        while (*place != node) place = &(*place)->next;
        *place = node->next;
        close(node->file);
        free(node);
    }
    fuse_reply_none(request);
}

static void attributes(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    (void)file;
    note(request, "getattr", number, NULL);
    struct stat status;
    if (fstat(node_of(number)->file, &status) < 0) fuse_reply_err(request, errno);
    else fuse_reply_attr(request, &status, 0);
}

static struct timespec time_of(int flags, int set, int now, struct timespec time) {
    if (flags & now) return (struct timespec){ 0, UTIME_NOW };
    return flags & set ? time : (struct timespec){ 0, UTIME_OMIT };
}

static void set_attributes(fuse_req_t request, fuse_ino_t number, struct stat *to, int flags, struct fuse_file_info *file) {
    int own = node_of(number)->file;
    struct link link = link_to(number);
    if (flags & FUSE_SET_ATTR_MODE) note(request, "chmod", number, NULL);
    if (flags & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) note(request, "chown", number, NULL);
    if (flags & FUSE_SET_ATTR_SIZE) note(request, "truncate", number, NULL);
    if (flags & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) note(request, "utimens", number, NULL);
    uid_t user = flags & FUSE_SET_ATTR_UID ? to->st_uid : (uid_t)-1;
    gid_t group = flags & FUSE_SET_ATTR_GID ? to->st_gid : (gid_t)-1;
    struct timespec times[2] = {
        time_of(flags, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, to->st_atim),
        time_of(flags, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, to->st_mtim),
    };
    if ((flags & FUSE_SET_ATTR_MODE && chmod(link.path, to->st_mode) < 0)
        || (flags & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID) && fchownat(own, "", user, group, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
        || (flags & FUSE_SET_ATTR_SIZE && (file ? ftruncate((int)file->fh, to->st_size) : truncate(link.path, to->st_size)) < 0)
        || utimensat(own, "", times, AT_EMPTY_PATH) < 0)
        fuse_reply_err(request, errno);
    else attributes(request, number, file);
}

static void follow(fuse_req_t request, fuse_ino_t number) {
    char target[PATH_MAX + 1];
    ssize_t length = readlinkat(node_of(number)->file, "", target, PATH_MAX);
    if (length < 0) fuse_reply_err(request, errno);
    else target[length] = 0, fuse_reply_readlink(request, target);
}

// Whether there is room; answered if not.
static int may_make(fuse_req_t request, const char *what, fuse_ino_t parent, const char *name) {
    note(request, what, parent, name);
    if (fuse_req_ctx(request)->uid != full) return 1;
    fuse_reply_err(request, EDQUOT);
    return 0;
}

static void made(fuse_req_t request, fuse_ino_t parent, const char *name, int result) {
    const struct fuse_ctx *asker = fuse_req_ctx(request);
    if (result < 0 || fchownat(node_of(parent)->file, name, asker->uid, asker->gid, AT_SYMLINK_NOFOLLOW) < 0) fuse_reply_err(request, errno);
    else answer_entry(request, parent, name);
}

static void make_node(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, dev_t device) {
    if (may_make(request, "mknod", parent, name)) made(request, parent, name, mknodat(node_of(parent)->file, name, mode, device));
}
static void make_folder(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode) {
    if (may_make(request, "mkdir", parent, name)) made(request, parent, name, mkdirat(node_of(parent)->file, name, mode));
}
static void make_link(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name) {
    if (may_make(request, "symlink", parent, name)) made(request, parent, name, symlinkat(target, node_of(parent)->file, name));
}

static void remove_file(fuse_req_t request, fuse_ino_t parent, const char *name) {
    note(request, "unlink", parent, name);
    answer(request, unlinkat(node_of(parent)->file, name, 0));
}
static void remove_folder(fuse_req_t request, fuse_ino_t parent, const char *name) {
    note(request, "rmdir", parent, name);
    answer(request, unlinkat(node_of(parent)->file, name, AT_REMOVEDIR));
}
static void move(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *as, unsigned flags) {
    note(request, "rename", parent, name);
    note(request, "rename", to, as);
    answer(request, renameat2(node_of(parent)->file, name, node_of(to)->file, as, flags));
}
static void link_file(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name) {
    note(request, "link", parent, name);
    if (linkat(AT_FDCWD, link_to(number).path, node_of(parent)->file, name, AT_SYMLINK_FOLLOW) < 0) fuse_reply_err(request, errno);
    else answer_entry(request, parent, name);
}

// The daemon's process that replays changes opens for writing, so that watches hear of the end, and writes nothing: as itself. With
// passthrough the kernel opens the store's file along with that.
static int is_replaying(fuse_req_t request) {
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)fuse_req_ctx(request)->pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, name, sizeof name - 1);
    close(file);
    return length > 0 && strcmp(name, "quire-replay\n") == 0;
}

static void open_file(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    int writes = (file->flags & O_ACCMODE) != O_RDONLY;
    note(request, !writes ? "open" : is_replaying(request) ? "open-replaying" : "open-writing", number, NULL);
    int opened = open(link_to(number).path, (file->flags & ~(O_NOFOLLOW | O_APPEND)) | O_CLOEXEC);
    if (opened < 0) fuse_reply_err(request, errno);
    else file->fh = (uint64_t)opened, fuse_reply_open(request, file);
}
static void create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *file) {
    if (!may_make(request, "create", parent, name)) return;
    const struct fuse_ctx *asker = fuse_req_ctx(request);
    int opened = openat(node_of(parent)->file, name, (file->flags & ~(O_NOFOLLOW | O_APPEND)) | O_CREAT | O_CLOEXEC, mode);
    struct fuse_entry_param entry;
    if (opened < 0 || fchown(opened, asker->uid, asker->gid) < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    int error = find(parent, name, &entry);
    if (error) fuse_reply_err(request, error);
    else file->fh = (uint64_t)opened, fuse_reply_create(request, &entry, file);
}
static void read_file(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *file) {
    (void)number;
    char *data = malloc(size);
    ssize_t length = pread((int)file->fh, data, size, offset);
    if (length < 0) fuse_reply_err(request, errno);
    else fuse_reply_buf(request, data, (size_t)length);
    free(data);
}
static void write_file(fuse_req_t request, fuse_ino_t number, const char *data, size_t size, off_t offset, struct fuse_file_info *file) {
    (void)number;
    ssize_t length = pwrite((int)file->fh, data, size, offset);
    if (length < 0) fuse_reply_err(request, errno);
    else fuse_reply_write(request, (size_t)length);
}
static void release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    (void)number;
    close((int)file->fh);
    fuse_reply_err(request, 0);
}
static void synchronize(fuse_req_t request, fuse_ino_t number, int data, struct fuse_file_info *file) {
    (void)number, (void)data;
    answer(request, fsync((int)file->fh));
}

static void open_folder(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    int opened = openat(node_of(number)->file, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) fuse_reply_err(request, errno);
    else file->fh = (uint64_t)(uintptr_t)fdopendir(opened), fuse_reply_open(request, file);
}
static void list(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *file) {
    (void)number;
    DIR *entries = (DIR *)(uintptr_t)file->fh;
    char *data = malloc(size);
    size_t used = 0;
    if (offset) seekdir(entries, offset);
    else rewinddir(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        struct stat status = { .st_ino = entry->d_ino, .st_mode = DTTOIF(entry->d_type) };
        size_t needed = fuse_add_direntry(request, data + used, size - used, entry->d_name, &status, entry->d_off);
        if (needed > size - used) break;
        used += needed;
    }
    fuse_reply_buf(request, data, used);
    free(data);
}
static void release_folder(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    (void)number;
    closedir((DIR *)(uintptr_t)file->fh);
    fuse_reply_err(request, 0);
}

static void space(fuse_req_t request, fuse_ino_t number) {
    (void)number;
    struct statvfs status;
    if (fstatvfs(root.file, &status) < 0) fuse_reply_err(request, errno);
    else fuse_reply_statfs(request, &status);
}

static void answer_value(fuse_req_t request, const char *data, size_t size, ssize_t length) {
    if (length < 0) fuse_reply_err(request, errno);
    else if (size == 0) fuse_reply_xattr(request, (size_t)length);
    else fuse_reply_buf(request, data, (size_t)length);
}
static void value(fuse_req_t request, fuse_ino_t number, const char *name, size_t size) {
    char data[XATTR_SIZE_MAX];
    answer_value(request, data, size, getxattr(link_to(number).path, name, data, size));
}
static void names(fuse_req_t request, fuse_ino_t number, size_t size) {
    char data[XATTR_LIST_MAX];
    answer_value(request, data, size, listxattr(link_to(number).path, data, size));
}
static void set_value(fuse_req_t request, fuse_ino_t number, const char *name, const char *data, size_t size, int flags) {
    note(request, "setxattr", number, NULL);
    answer(request, setxattr(link_to(number).path, name, data, size, flags));
}
static void remove_value(fuse_req_t request, fuse_ino_t number, const char *name) {
    note(request, "removexattr", number, NULL);
    answer(request, removexattr(link_to(number).path, name));
}

int main(int count, char **words) {
    if (count < 5) {
        fprintf(stderr, "usage: AskedDisk FOLDER RECORD USER-WITHOUT-ROOM MOUNTPOINT [FUSE OPTION...]\n");
        return 64;
    }
    root.file = open(words[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
    record = open(words[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    full = (uid_t)strtoul(words[3], NULL, 10);
    if (root.file < 0 || record < 0 || !realpath(words[1], folder)) {
        perror(words[root.file < 0 ? 1 : 2]);
        return 1;
    }
    umask(0);
    const struct fuse_lowlevel_ops operations = {
        .lookup = look_up, .forget = forget, .getattr = attributes, .setattr = set_attributes, .readlink = follow, .mknod = make_node,
        .mkdir = make_folder, .symlink = make_link, .unlink = remove_file, .rmdir = remove_folder, .rename = move, .link = link_file,
        .open = open_file, .create = create, .read = read_file, .write = write_file, .release = release, .fsync = synchronize,
        .opendir = open_folder, .readdir = list, .releasedir = release_folder, .statfs = space, .getxattr = value, .listxattr = names,
        .setxattr = set_value, .removexattr = remove_value,
    };
    char *all[64] = { words[0] };
    int given = 1;
    for (int i = 5; i < count && given < 63; i++) all[given++] = words[i];
    struct fuse_args arguments = FUSE_ARGS_INIT(given, all);
    struct fuse_session *session = fuse_session_new(&arguments, &operations, sizeof operations, NULL);
    if (!session || fuse_session_mount(session, words[4]) != 0) return 1;
    // One thread: the record is in the order of the requests.
    int error = fuse_session_loop(session);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    return error != 0;
}
