#include "saver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "version.h"

static void reach(const struct save *save, enum save_stage stage) {
    if (save->stage) *save->stage = stage;
}

static int store_by_mapping(int file, const char *content, size_t length, unsigned pause, unsigned *seed) {
    if (ftruncate(file, length) != 0) return errno;
    char *mapped = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) return errno;
    memcpy(mapped, content, length / 2);
    if (pause > 0) usleep(rand_r(seed) % pause);
    memcpy(mapped + length / 2, content + length / 2, length - length / 2);
    return munmap(mapped, length) == 0 ? 0 : errno;
}

static int write_pieces(int file, const struct save *save, const char *content, unsigned *seed) {
    size_t piece = save->length / save->pieces + 1;
    for (unsigned number = 0; number < save->pieces; number++) {
        unsigned place = save->way == backwards ? save->pieces - 1 - number : number;
        size_t start = place * piece;
        if (start >= save->length) continue;
        size_t count = save->length - start < piece ? save->length - start : piece;
        if (save->way == backwards) {
            ssize_t written = pwrite(file, content + start, count, start);
            if (written != (ssize_t)count) return written < 0 ? errno : EIO;
        } else {
            int failure = write_all(file, content + start, count);
            if (failure) return failure;
        }
        if (save->after_piece) save->after_piece(number);
        if (save->pause > 0) usleep(rand_r(seed) % save->pause);
    }
    return 0;
}

enum save_start start_wanted(void) {
    const char *name = getenv("START");
    if (name && strcmp(name, "late") == 0) return late;
    return name && strcmp(name, "reopened") == 0 ? reopened : truncating;
}

// The descriptor, or -1.
static int opened_empty(const char *path, int access) {
    enum save_start start = start_wanted();
    if (start == truncating) return open(path, access | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (start == late) {
        int file = open(path, access | O_CREAT | O_CLOEXEC, 0644);
        if (file < 0 || ftruncate(file, 0) == 0) return file;
        close(file);
        return -1;
    }
    int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0) return -1;
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    int file = open(link, access | O_TRUNC | O_CLOEXEC);
    close(place);
    return file;
}

int save_version(const struct save *save, unsigned *seed) {
    char *content = malloc(save->length);
    if (!content) return ENOMEM;
    fill_version(content, save->number, save->length);
    int readable = save->way == by_mapping || save->way == reading_too;
    int file = opened_empty(save->path, readable ? O_RDWR : O_WRONLY);
    if (file < 0) {
        int failure = errno;
        free(content);
        return failure;
    }
    reach(save, saving);
    int failure = save->way == by_mapping ? store_by_mapping(file, content, save->length, save->pause, seed)
                                          : write_pieces(file, save, content, seed);
    free(content);
    if (save->stays_open) return failure;
    reach(save, closing);
    if (close(file) != 0 && failure == 0) failure = errno;
    if (failure == 0) reach(save, saved);
    return failure;
}
