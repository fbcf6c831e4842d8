// Reads a document in each way that programs have.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum read_outcome { whole, torn, failed };

typedef enum read_outcome (*read_function)(const char *path, unsigned *seed, uint64_t *number);

// The function of this name, null if there is none: read, pread, mmap, sendfile, copy, reopen.
read_function reader_named(const char *name);

// What the last reading of this process got, if it was torn.
void describe_torn(char *text, size_t size);
