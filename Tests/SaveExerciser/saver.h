// Saves a document as apps do that write over it.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum save_way { in_pieces, backwards, by_mapping, reading_too, save_ways };

// How the old content goes: open(O_TRUNC) by the path; ftruncate(2) on a descriptor that was opened without; open(O_TRUNC) through
// /proc/self/fd, by a descriptor that was opened with O_PATH. The environment's START says which: late, reopened.
enum save_start { truncating, late, reopened };
enum save_start start_wanted(void);

// How far a save has come, as who watches over the process sees it.
enum save_stage { before_save, saving, closing, saved };

struct save {
    const char *path;
    uint64_t number;
    size_t length;
    enum save_way way;
    unsigned pieces;
    // The longest pause between two pieces, in microseconds.
    unsigned pause;
    // Told after each step if not null: the stage, and how many bytes have been written.
    volatile int *stage;
    // Called after each piece if not null.
    void (*after_piece)(unsigned piece);
    // Leaves the file open.
    int stays_open;
};

// open(O_TRUNC), several writes with pauses between them, close. 0, or the errno of the first call that failed.
int save_version(const struct save *save, unsigned *seed);
