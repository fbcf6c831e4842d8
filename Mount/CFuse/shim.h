// The only includer of libfuse. Feature macros stay out of here: they would break module merging with Glibc.
#pragma once
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fuse3/fuse_lowlevel.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// Parts of the kernel's protocol (linux/fuse.h, 7.40 and later) that the system's header may be too old to have.

#define QUIRE_FUSE_OPCODE_INIT 26
#define QUIRE_FUSE_PARALLEL_DIROPS (1u << 18)
#define QUIRE_FUSE_HANDLE_KILLPRIV_V2 (1u << 28)
#define QUIRE_FUSE_INIT_EXT (1u << 30)
#define QUIRE_FUSE_PASSTHROUGH (1u << 5)         // flags2
#define QUIRE_FUSE_DIRECT_IO_ALLOW_MMAP (1u << 4) // flags2
#define QUIRE_FUSE_NOTIFY_INC_EPOCH 8             // a notification's code, where an answer has its error
#define QUIRE_FUSE_NOTIFY_RESEND 7                // Linux 6.9
#define QUIRE_FOPEN_DIRECT_IO (1u << 0)
#define QUIRE_FOPEN_NOFLUSH (1u << 5)
#define QUIRE_FOPEN_PASSTHROUGH (1u << 7)

struct quire_in_header {
    uint32_t len, opcode;
    uint64_t unique, nodeid;
    uint32_t uid, gid, pid;
    uint16_t total_extlen, padding;
};
struct quire_out_header {
    uint32_t len;
    int32_t error;
    uint64_t unique;
};
struct quire_init_out {
    uint32_t major, minor, max_readahead, flags;
    uint16_t max_background, congestion_threshold;
    uint32_t max_write, time_gran;
    uint16_t max_pages, map_alignment;
    uint32_t flags2, max_stack_depth;
    uint32_t unused[6];
};
struct quire_init_in {
    uint32_t major, minor, max_readahead, flags, flags2;
};
struct quire_attr {
    uint64_t ino, size, blocks, atime, mtime, ctime;
    uint32_t atimensec, mtimensec, ctimensec, mode, nlink, uid, gid, rdev, blksize, flags;
};
struct quire_entry_out {
    uint64_t nodeid, generation, entry_valid, attr_valid;
    uint32_t entry_valid_nsec, attr_valid_nsec;
    struct quire_attr attr;
};
struct quire_statx_in {
    uint32_t getattr_flags, reserved;
    uint64_t fh;
    uint32_t sx_flags, sx_mask;
};
struct quire_sx_time {
    int64_t tv_sec;
    uint32_t tv_nsec;
    int32_t reserved;
};
struct quire_statx {
    uint32_t mask, blksize;
    uint64_t attributes;
    uint32_t nlink, uid, gid;
    uint16_t mode, spare0;
    uint64_t ino, size, blocks, attributes_mask;
    struct quire_sx_time atime, btime, ctime, mtime;
    uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
    uint64_t spare2[14];
};
struct quire_statx_out {
    uint64_t attr_valid;
    uint32_t attr_valid_nsec, flags;
    uint64_t spare[2];
    struct quire_statx stat;
};
struct quire_open_out {
    uint64_t fh;
    uint32_t open_flags;
    int32_t backing_id;
};

struct quire_backing_map {
    int32_t fd;
    uint32_t flags;
    uint64_t padding;
};
// Registers an open file as the backing of FUSE files: the id, or -1 with errno. Needs CAP_SYS_ADMIN and Linux 6.9.
static inline int quire_backing_open(int device, int fd) {
    struct quire_backing_map map = {.fd = fd};
    return ioctl(device, _IOW(229, 1, struct quire_backing_map), &map);
}
static inline int quire_backing_close(int device, int32_t id) {
    uint32_t value = (uint32_t)id;
    return ioctl(device, _IOW(229, 2, uint32_t), &value);
}

static inline void quire_fill_entry(struct quire_entry_out *out, const struct fuse_entry_param *e) {
    memset(out, 0, sizeof *out);
    out->nodeid = e->ino;
    out->generation = e->generation;
    out->entry_valid = (uint64_t)e->entry_timeout;
    out->entry_valid_nsec = (uint32_t)((e->entry_timeout - (double)out->entry_valid) * 1e9);
    out->attr_valid = (uint64_t)e->attr_timeout;
    out->attr_valid_nsec = (uint32_t)((e->attr_timeout - (double)out->attr_valid) * 1e9);
    const struct stat *s = &e->attr;
    struct quire_attr *a = &out->attr;
    a->ino = s->st_ino;
    a->size = (uint64_t)s->st_size;
    a->blocks = (uint64_t)s->st_blocks;
    a->atime = (uint64_t)s->st_atim.tv_sec;
    a->mtime = (uint64_t)s->st_mtim.tv_sec;
    a->ctime = (uint64_t)s->st_ctim.tv_sec;
    a->atimensec = (uint32_t)s->st_atim.tv_nsec;
    a->mtimensec = (uint32_t)s->st_mtim.tv_nsec;
    a->ctimensec = (uint32_t)s->st_ctim.tv_nsec;
    a->mode = s->st_mode;
    a->nlink = (uint32_t)s->st_nlink;
    a->uid = s->st_uid;
    a->gid = s->st_gid;
    a->rdev = (uint32_t)s->st_rdev;
    a->blksize = (uint32_t)s->st_blksize;
}

// OPEN and CREATE answered with a backing id, which libfuse 3.14 has no call for; `flags` besides FOPEN_PASSTHROUGH.
static inline int quire_reply_open_passthrough(fuse_req_t req, uint64_t fh, int32_t backing_id, uint32_t flags) {
    struct quire_open_out out = {.fh = fh, .open_flags = QUIRE_FOPEN_PASSTHROUGH | flags, .backing_id = backing_id};
    return fuse_reply_buf(req, (const char *)&out, sizeof out);
}
static inline int quire_reply_create_passthrough(
    fuse_req_t req, const struct fuse_entry_param *e, uint64_t fh, int32_t backing_id, uint32_t flags) {
    struct {
        struct quire_entry_out entry;
        struct quire_open_out open;
    } out;
    quire_fill_entry(&out.entry, e);
    out.open = (struct quire_open_out){.fh = fh, .open_flags = QUIRE_FOPEN_PASSTHROUGH | flags, .backing_id = backing_id};
    return fuse_reply_buf(req, (const char *)&out, sizeof out);
}

// Reads until `size` or the end of the file: how much, or -errno if any of it cannot be read.
static inline ssize_t quire_read_all(int fd, void *place, size_t size, off_t offset) {
    size_t length = 0;
    while (length < size) {
        ssize_t more = pread(fd, (char *)place + length, size - length, offset + (off_t)length);
        if (more == 0) break;
        if (more > 0) length += (size_t)more;
        else if (errno != EINTR) return -errno;
    }
    return (ssize_t)length;
}
// A data reply from a descriptor.
static inline void quire_reply_from_fd(fuse_req_t req, int fd, size_t size, off_t offset) {
    void *place = malloc(size + 1);
    ssize_t length = place ? quire_read_all(fd, place, size, offset) : -ENOMEM;
    if (length < 0) fuse_reply_err(req, (int)-length);
    else fuse_reply_buf(req, (const char *)place, (size_t)length);
    free(place);
}
// Puts a part of a file's content into the kernel's pages.
static inline int quire_store(struct fuse_session *session, fuse_ino_t node, off_t offset, const void *content, size_t size) {
    struct fuse_bufvec data = FUSE_BUFVEC_INIT(size);
    data.buf[0].mem = (void *)content;
    return fuse_lowlevel_notify_store(session, node, offset, &data, FUSE_BUF_NO_SPLICE);
}
