#include "version.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct header {
    uint64_t magic, number, length, check;
};
static const uint64_t magic = 0x7665727369f3a5c1;

static uint64_t word(uint64_t number, size_t place) { return (number + 1) * 0x9e3779b97f4a7c15 + place; }
static uint64_t check(const struct header *header) { return header->magic ^ header->number * 31 ^ header->length << 17; }

void fill_version(void *buffer, uint64_t number, size_t length) {
    struct header header = {magic, number, length, 0};
    header.check = check(&header);
    memcpy(buffer, &header, sizeof header);
    uint64_t *words = buffer;
    for (size_t place = sizeof header / 8; place < length / 8; place++) words[place] = word(number, place);
}

int is_whole_version(const void *buffer, size_t length, uint64_t *number) {
    struct header header;
    if (length < sizeof header) return 0;
    memcpy(&header, buffer, sizeof header);
    if (header.magic != magic || header.length != length || header.check != check(&header)) return 0;
    const uint64_t *words = buffer;
    for (size_t place = sizeof header / 8; place < length / 8; place++)
        if (words[place] != word(header.number, place)) return 0;
    *number = header.number;
    return 1;
}

void describe_bytes(char *text, size_t capacity, const void *buffer, size_t length) {
    struct header header = {0};
    memcpy(&header, buffer, length < sizeof header ? length : sizeof header);
    if (header.magic != magic || header.check != check(&header)) {
        snprintf(text, capacity, "%zu bytes, no header: %016llx", length, (unsigned long long)header.magic);
        return;
    }
    const uint64_t *words = buffer;
    size_t place = sizeof header / 8, end = length / 8;
    while (place < end && words[place] == word(header.number, place)) place++;
    snprintf(text, capacity, "version %llu of %llu bytes, read %zu, differs at %zu: %016llx", (unsigned long long)header.number,
             (unsigned long long)header.length, length, place * 8, (unsigned long long)(place < end ? words[place] : 0));
}

size_t random_length(unsigned *seed, size_t largest) {
    size_t length = smallest_version << rand_r(seed) % 9;
    if (rand_r(seed) % 2) length = smallest_version;
    length += rand_r(seed) % smallest_version & ~(size_t)7;
    return length < largest ? length : largest;
}

int write_all(int file, const void *buffer, size_t length) {
    const char *next = buffer;
    while (length > 0) {
        ssize_t count = write(file, next, length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 ? errno : EIO;
        next += count;
        length -= count;
    }
    return 0;
}

ssize_t read_all(int file, void *buffer, size_t capacity, size_t piece) {
    size_t length = 0;
    while (length < capacity) {
        size_t wanted = capacity - length < piece ? capacity - length : piece;
        ssize_t count = read(file, (char *)buffer + length, wanted);
        if (count < 0) return -1;
        if (count == 0) break;
        length += count;
    }
    return length;
}

void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(3);
}

void *shared_memory(size_t length) {
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) die("mmap");
    return memory;
}

double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}
