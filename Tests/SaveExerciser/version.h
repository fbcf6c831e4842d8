// One version of a document, which tells of itself whether it is whole.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { smallest_version = 4096, largest_version = 1 << 20 };

// Fills `length` bytes, a multiple of 8, with version `number`: a header that says number and length, then words made of the
// number and their own place.
void fill_version(void *buffer, uint64_t number, size_t length);

// Whether these bytes are exactly one whole version; its number goes to `number`.
int is_whole_version(const void *buffer, size_t length, uint64_t *number);

// What these bytes are, which are not one whole version.
void describe_bytes(char *text, size_t capacity, const void *buffer, size_t length);

// A length between `smallest_version` and `largest`, short ones being more frequent.
size_t random_length(unsigned *seed, size_t largest);

// Writes all bytes; 0, or the errno.
int write_all(int file, const void *buffer, size_t length);

// Reads to the end of the file, into at most `capacity` bytes; the number of bytes, or -1.
ssize_t read_all(int file, void *buffer, size_t capacity, size_t piece);

// Exits with a message that ends in errno's.
void die(const char *what) __attribute__((noreturn));

// Memory that forked processes share, zeroed.
void *shared_memory(size_t length);

double seconds_now(void);
