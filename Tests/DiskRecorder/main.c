// A disk that remembers: a file system with one file, `disk`, whose writes and flushes are recorded in their order, so that what
// a power cut would have left can be put together afterwards. For a loop device to stand on.
//
// The record: for each write two 64-bit numbers, offset and length, and the data; for each flush offset -1 and length 0.
// `position`, a second file, reads as the number of records so far.
#define FUSE_USE_VERSION 35
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int image, record;
static uint64_t count;

static void note(uint64_t offset, const void *data, uint64_t length) {
    uint64_t head[2] = { offset, length };
    if (write(record, head, sizeof head) != sizeof head || write(record, data, length) != (ssize_t)length) abort();
    count++;
}

static int attributes(const char *path, struct stat *status, struct fuse_file_info *file) {
    (void)file;
    memset(status, 0, sizeof *status);
    status->st_nlink = 1;
    if (strcmp(path, "/") == 0) status->st_mode = S_IFDIR | 0755;
    else if (strcmp(path, "/disk") == 0) {
        if (fstat(image, status) < 0) return -errno;
        status->st_mode = S_IFREG | 0600;
    } else if (strcmp(path, "/position") == 0) {
        status->st_mode = S_IFREG | 0400;
        status->st_size = 32;
    } else return -ENOENT;
    return 0;
}

static int open_file(const char *path, struct fuse_file_info *file) {
    file->direct_io = strcmp(path, "/position") == 0;
    return 0;
}

static int read_file(const char *path, char *buffer, size_t length, off_t offset, struct fuse_file_info *file) {
    (void)file;
    if (strcmp(path, "/position") == 0) return offset ? 0 : snprintf(buffer, length, "%llu\n", (unsigned long long)count);
    ssize_t done = pread(image, buffer, length, offset);
    return done < 0 ? -errno : (int)done;
}

static int write_file(const char *path, const char *data, size_t length, off_t offset, struct fuse_file_info *file) {
    (void)path, (void)file;
    note((uint64_t)offset, data, length);
    ssize_t done = pwrite(image, data, length, offset);
    return done < 0 ? -errno : (int)done;
}

static int flush_disk(const char *path, int data_only, struct fuse_file_info *file) {
    (void)path, (void)data_only, (void)file;
    note(UINT64_MAX, "", 0);
    return 0;
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: DiskRecorder IMAGE RECORD MOUNTPOINT\n");
        return 64;
    }
    image = open(words[1], O_RDWR);
    record = open(words[2], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (image < 0 || record < 0) {
        perror(words[image < 0 ? 1 : 2]);
        return 1;
    }
    const struct fuse_operations operations = {
        .getattr = attributes, .open = open_file, .read = read_file, .write = write_file, .fsync = flush_disk,
    };
    // One thread: the order is the record's.
    char *arguments[] = { words[0], "-f", "-s", words[3], NULL };
    return fuse_main(4, arguments, &operations, NULL);
}
