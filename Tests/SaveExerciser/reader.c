#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "version.h"

// Larger than any version, so that what is too long shows.
enum { capacity = largest_version + (64 << 10) };
static uint64_t buffer[capacity / 8];
static size_t judged;

static enum read_outcome judge(ssize_t length, uint64_t *number) {
    if (length < 0) return failed;
    judged = length;
    return is_whole_version(buffer, length, number) ? whole : torn;
}

void describe_torn(char *text, size_t size) { describe_bytes(text, size, buffer, judged); }

static enum read_outcome by_read(const char *path, unsigned *seed, uint64_t *number) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return failed;
    ssize_t length = read_all(file, buffer, capacity, 4096 << rand_r(seed) % 6);
    close(file);
    return judge(length, number);
}

// The second half before the first.
static enum read_outcome by_pread(const char *path, unsigned *seed, uint64_t *number) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return failed;
    struct stat status;
    ssize_t length = -1;
    if (fstat(file, &status) == 0) {
        size_t half = status.st_size / 2;
        char *bytes = (char *)buffer;
        if (rand_r(seed) % 4 == 0) usleep(rand_r(seed) % 2000);
        ssize_t second = pread(file, bytes + half, capacity - half, half), first = pread(file, bytes, half, 0);
        if (first >= 0 && second >= 0) length = first + second;
    }
    close(file);
    return judge(length, number);
}

static enum read_outcome by_mapping(const char *path, unsigned *seed, uint64_t *number) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return failed;
    struct stat status;
    enum read_outcome outcome = failed;
    if (fstat(file, &status) == 0) {
        if (status.st_size == 0) outcome = torn;
        else {
            int flags = rand_r(seed) % 2 ? MAP_SHARED : MAP_PRIVATE;
            void *mapped = mmap(NULL, status.st_size, PROT_READ, flags, file, 0);
            if (mapped != MAP_FAILED) {
                // A file that was cut off under the mapping would be a SIGBUS here: copied by a call, it is an error.
                int pipe_ends[2];
                size_t length = 0;
                if (pipe(pipe_ends) == 0) {
                    while (length < (size_t)status.st_size) {
                        size_t wanted = (size_t)status.st_size - length;
                        // A user with many pipes gets small ones.
                        ssize_t count = write(pipe_ends[1], (char *)mapped + length, wanted < PIPE_BUF ? wanted : PIPE_BUF);
                        if (count <= 0 || read(pipe_ends[0], (char *)buffer + length, count) != count) break;
                        length += count;
                    }
                    close(pipe_ends[0]);
                    close(pipe_ends[1]);
                    outcome = judge(length, number);
                }
                munmap(mapped, status.st_size);
            }
        }
    }
    close(file);
    return outcome;
}

static enum read_outcome by_sendfile(const char *path, unsigned *seed, uint64_t *number) {
    (void)seed;
    static int memory = -1;
    if (memory < 0) memory = memfd_create("copy", MFD_CLOEXEC);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || ftruncate(memory, 0) != 0 || lseek(memory, 0, SEEK_SET) != 0) return failed;
    ssize_t count;
    while ((count = sendfile(memory, file, NULL, 256 << 10)) > 0) continue;
    close(file);
    return judge(count < 0 ? -1 : pread(memory, buffer, capacity, 0), number);
}

static enum read_outcome by_copy(const char *path, unsigned *seed, uint64_t *number) {
    (void)seed;
    static int copy = -1;
    if (copy < 0) {
        char name[4096];
        snprintf(name, sizeof name, "%s.copy.%d", path, getpid());
        copy = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        unlink(name);
    }
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (copy < 0 || file < 0 || ftruncate(copy, 0) != 0 || lseek(copy, 0, SEEK_SET) != 0) return failed;
    ssize_t count;
    while ((count = copy_file_range(file, NULL, copy, NULL, 256 << 10, 0)) > 0) continue;
    close(file);
    return judge(count < 0 ? -1 : pread(copy, buffer, capacity, 0), number);
}

// What is open stays the version it was, through /proc/self/fd too, whatever another open finds.
static enum read_outcome by_reopening(const char *path, unsigned *seed, uint64_t *number) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return failed;
    char half[32], name[32];
    ssize_t begun = read(file, half, sizeof half);
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    uint64_t first, second, again;
    enum read_outcome outcome = by_read(path, seed, &second);
    if (outcome == whole) outcome = by_read(name, seed, &again);
    if (outcome == whole && rand_r(seed) % 4 == 0) usleep(rand_r(seed) % 5000);
    if (outcome == whole) {
        memcpy(buffer, half, sizeof half);
        ssize_t rest = begun < 0 ? -1 : read_all(file, (char *)buffer + begun, capacity - begun, 16384);
        outcome = judge(rest < 0 ? -1 : begun + rest, &first);
        if (outcome == whole && first != again) outcome = torn;
    }
    close(file);
    *number = second;
    return outcome;
}

read_function reader_named(const char *name) {
    static const struct {
        const char *name;
        read_function function;
    } readers[] = {{"read", by_read},         {"pread", by_pread}, {"mmap", by_mapping},
                   {"sendfile", by_sendfile}, {"copy", by_copy},   {"reopen", by_reopening}};
    for (size_t index = 0; index < sizeof readers / sizeof readers[0]; index++)
        if (strcmp(readers[index].name, name) == 0) return readers[index].function;
    return NULL;
}
