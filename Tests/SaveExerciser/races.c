// What several processes do to one document at the same moment.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "exercises.h"
#include "version.h"

static struct shared {
    _Atomic long left, done, torn, faults, published, seen;
    _Atomic int is_over;
    _Atomic long errors[256];
} *shared;

static void note(int error) { atomic_fetch_add(&shared->errors[error < 256 ? error : 255], 1); }

static void print_errors(void) {
    printf("errors");
    int are_none = 1;
    for (int error = 0; error < 256; error++)
        if (shared->errors[error]) {
            printf(" %ld %s", shared->errors[error], strerror(error));
            are_none = 0;
        }
    puts(are_none ? " 0" : "");
}

static int write_file(const char *path, int flags, const char *bytes, size_t size) {
    int file = open(path, flags, 0644);
    if (file < 0) return -1;
    for (size_t at = 0; at < size; at += 4096)
        if (write(file, bytes + at, size - at < 4096 ? size - at : 4096) < 0) note(errno);
    return close(file);
}

// opens PATH COUNT PROCESSES: COUNT opens for writing of one document, truncating and not, by PROCESSES at the same time.
int concurrent_opens(int count, char **arguments) {
    static const int ways[] = {
        O_WRONLY | O_TRUNC, O_WRONLY | O_TRUNC, O_WRONLY, O_WRONLY | O_APPEND, O_RDWR | O_TRUNC, O_WRONLY | O_CREAT | O_TRUNC,
    };
    if (count != 3) return 2;
    shared = shared_memory(sizeof *shared);
    shared->left = atol(arguments[1]);
    char bytes[64] = {0};
    if (write_file(arguments[0], O_WRONLY | O_CREAT | O_TRUNC, bytes, sizeof bytes) != 0) die(arguments[0]);
    for (int process = 0; process < atoi(arguments[2]); process++) {
        if (fork() != 0) continue;
        unsigned seed = process + 1;
        while (atomic_fetch_sub(&shared->left, 1) > 0)
            if (write_file(arguments[0], ways[rand_r(&seed) % 6], bytes, sizeof bytes) != 0) note(errno);
        _exit(0);
    }
    while (wait(NULL) > 0) {}
    print_errors();
    return 0;
}

// stream PATH BESIDE MEGABYTES OPENERS: a save that goes on for long is put into the document's own inode, and meanwhile OPENERS
// processes open it for writing, truncating and not, and to append. BESIDE is the document's path in the store.
int opened_amid_stream(int count, char **arguments) {
    static const int ways[] = { O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC, O_WRONLY, O_WRONLY | O_CREAT | O_TRUNC, O_WRONLY | O_APPEND };
    if (count != 4) return 2;
    const char *path = arguments[0], *beside = arguments[1];
    size_t size = (size_t)atol(arguments[2]) << 20, piece = 1 << 20;
    char *bytes = calloc(1, piece);
    struct stat before, now;
    shared = shared_memory(sizeof *shared);
    if (write_file(path, O_WRONLY | O_CREAT | O_TRUNC, "old", 3) != 0 || stat(beside, &before) != 0) die(path);
    for (int process = 0; process < atoi(arguments[3]); process++) {
        if (fork() != 0) continue;
        int is_told = 0;
        // Published by little and little: the store's file grows.
        while (!is_told && !shared->is_over) {
            if (stat(beside, &now) != 0) die(beside);
            is_told = now.st_size > before.st_size;
            if (!is_told) usleep(200);
        }
        if (stat(beside, &now) == 0 && now.st_ino == before.st_ino && (size_t)now.st_size < size) shared->seen++;
        for (int round = 0; round < 3; round++)
            if (write_file(path, ways[(process + round) % 5], "new", 3) != 0) note(errno);
        _exit(0);
    }
    int file = open(path, O_WRONLY | O_TRUNC);
    if (file < 0) die(path);
    for (size_t at = 0; at < size; at += piece)
        if (write(file, bytes, piece) != (ssize_t)piece) note(errno);
    double end = seconds_now() + 300;
    // It stays open: nothing but its pause publishes it.
    while (stat(beside, &now) == 0 && now.st_size <= before.st_size && now.st_ino == before.st_ino && seconds_now() < end) usleep(200);
    if (now.st_size <= before.st_size) printf("not published, ");
    shared->is_over = 1;
    while (wait(NULL) > 0) {}
    if (close(file) != 0) note(errno);
    printf("%s, ", shared->seen ? "opened meanwhile" : "opened too late");
    print_errors();
    return 0;
}

static void lose(long *lost, long change, const char *what, const char *expected, const char *found) {
    ++*lost;
    fprintf(stderr, "change %ld of %s: expected %s, found %s\n", change, what, expected, found);
}

// An access list that names one user, with these permissions.
static size_t access_list(unsigned char *value, unsigned permissions) {
    static const uint16_t tags[] = { 1, 2, 4, 0x10, 0x20 };  // owner, a user, group, mask, others
    memcpy(value, &(uint32_t){ 2 }, 4);
    for (int entry = 0; entry < 5; entry++) {
        uint16_t granted = entry == 0 ? 6 : entry == 4 ? 0 : permissions;
        uint32_t who = entry == 1 ? 61001 : UINT32_MAX;
        memcpy(value + 4 + 8 * entry, &tags[entry], 2);
        memcpy(value + 6 + 8 * entry, &granted, 2);
        memcpy(value + 8 + 8 * entry, &who, 4);
    }
    return 44;
}

// attributes PATH COUNT: while another process saves in a loop, COUNT changes of attributes, each looked for at once.
int concurrent_attributes(int count, char **arguments) {
    if (count != 2) return 2;
    const char *path = arguments[0];
    long changes = atol(arguments[1]), lost = 0;
    char bytes[4096] = {1};
    shared = shared_memory(sizeof *shared);
    if (write_file(path, O_WRONLY | O_CREAT | O_TRUNC, bytes, sizeof bytes) != 0) die(path);
    if (fork() == 0) {
        while (!shared->is_over) {
            if (write_file(path, O_WRONLY | O_TRUNC, bytes, sizeof bytes) != 0) note(errno);
            shared->done++;
        }
        _exit(0);
    }
    for (long change = 0; change < changes || shared->done < 10; change++) {
        char value[32], found[32] = {0};
        unsigned char list[64], found_list[64] = {0};
        struct stat status = {0};
        int length = snprintf(value, sizeof value, "%ld", change), is_even = change % 12 < 6;
        const char *name = change % 6 == 0 ? "user.note" : "user.xdg.tags";
        unsigned mode = is_even ? 0600 : 0640;
        gid_t group = geteuid() == 0 ? 5000u + is_even : getegid();
        uid_t owner = geteuid() == 0 ? 6000u + is_even : geteuid();
        size_t list_length = access_list(list, is_even ? 4 : 6);
        switch (change % 6) {
        case 0: case 1:
            if (setxattr(path, name, value, length, 0) != 0) note(errno);
            if (getxattr(path, name, found, sizeof found - 1) != length || memcmp(found, value, length) != 0)
                lose(&lost, change, name, value, found);
            continue;
        case 2:
            if (chmod(path, mode) != 0) note(errno);
            if (stat(path, &status) == 0 && (status.st_mode & 0777) == mode) continue;
            snprintf(value, sizeof value, "%o", mode);
            snprintf(found, sizeof found, "%o", status.st_mode & 0777);
            lose(&lost, change, "the mode", value, found);
            continue;
        case 3:
            if (chown(path, -1, group) != 0) note(errno);
            if (stat(path, &status) == 0 && status.st_gid == group) continue;
            snprintf(value, sizeof value, "%u", group);
            snprintf(found, sizeof found, "%u", status.st_gid);
            lose(&lost, change, "the group", value, found);
            continue;
        case 4:
            if (chown(path, owner, -1) != 0) note(errno);
            if (stat(path, &status) == 0 && status.st_uid == owner) continue;
            snprintf(value, sizeof value, "%u", owner);
            snprintf(found, sizeof found, "%u", status.st_uid);
            lose(&lost, change, "the owner", value, found);
            continue;
        case 5:
            if (setxattr(path, "system.posix_acl_access", list, list_length, 0) != 0) note(errno);
            ssize_t found_length = getxattr(path, "system.posix_acl_access", found_list, sizeof found_list);
            if (found_length == (ssize_t)list_length && memcmp(found_list, list, list_length) == 0) continue;
            snprintf(value, sizeof value, "%zu bytes for %d", list_length, list[14]);
            snprintf(found, sizeof found, "%zd bytes for %d", found_length, found_list[14]);
            lose(&lost, change, "the access list", value, found);
        }
    }
    shared->is_over = 1;
    while (wait(NULL) > 0) {}
    printf("lost %ld, ", lost);
    print_errors();
    return 0;
}

// times PATH COUNT: COUNT times the document's times are set by another process between a save's last write and the end of its
// close. On a plain folder they stay.
int times_amid_close(int count, char **arguments) {
    if (count != 2) return 2;
    const char *path = arguments[0];
    long rounds = atol(arguments[1]), lost = 0;
    unsigned seed = 1;
    shared = shared_memory(sizeof *shared);
    if (write_file(path, O_WRONLY | O_CREAT | O_TRUNC, "old", 3) != 0) die(path);
    if (fork() == 0) {
        for (long round = 1; round <= rounds; round++) {
            while (shared->seen < round - 1) sched_yield();
            int file = open(path, O_WRONLY | O_TRUNC);
            if (file < 0 || write(file, "new", 3) != 3) note(errno);
            shared->published = round;
            if (close(file) != 0) note(errno);
            shared->done = round;
        }
        _exit(0);
    }
    for (long round = 1; round <= rounds; round++) {
        while (shared->published < round) sched_yield();
        for (volatile int spin = rand_r(&seed) % 20000; spin > 0; spin--) {}
        struct timespec times[2] = { { 1000000000 + round, 5 }, { 1100000000 + round, 7 } };
        struct stat status = {0};
        if (utimensat(AT_FDCWD, path, times, 0) != 0) note(errno);
        while (shared->done < round) sched_yield();
        if (stat(path, &status) != 0) note(errno);
        if (status.st_mtim.tv_sec != times[1].tv_sec || status.st_atim.tv_sec != times[0].tv_sec) {
            char expected[64], found[64];
            snprintf(expected, sizeof expected, "%ld and %ld", times[0].tv_sec, times[1].tv_sec);
            snprintf(found, sizeof found, "%ld and %ld", status.st_atim.tv_sec, status.st_mtim.tv_sec);
            lose(&lost, round, "the times", expected, found);
        }
        shared->seen = round;
    }
    while (wait(NULL) > 0) {}
    printf("lost %ld, ", lost);
    print_errors();
    return 0;
}

static sigjmp_buf fault;
static void on_fault(int signal) { siglongjmp(fault, signal); }

// Whether what a reader gets is one version: all of one byte.
static int is_whole(const char *path, char *buffer, size_t size, int maps) {
    int file = open(path, O_RDONLY);
    if (file < 0) {
        note(errno);
        return 1;
    }
    volatile size_t length = 0;
    ssize_t part;
    if (!maps) {
        while ((part = read(file, buffer + length, 2 * size - length)) > 0) length += part;
    } else {
        struct stat status;
        if (fstat(file, &status) == 0 && status.st_size > 0 && (size_t)status.st_size <= 2 * size) {
            length = status.st_size;
            char *content = mmap(NULL, length, PROT_READ, MAP_SHARED, file, 0);
            if (sigsetjmp(fault, 1) == 0) memcpy(buffer, content, length);
            else shared->faults++;
            munmap(content, length);
        }
    }
    close(file);
    return length == size && memcmp(buffer, buffer + 1, size - 1) == 0;
}

// renamed PATH COUNT: one process saves by renaming over, another by truncating, COUNT times together; two read all the while.
int renamed_and_truncated(int count, char **arguments) {
    enum { size = 64 << 10 };
    if (count != 2) return 2;
    const char *path = arguments[0];
    char temporary[4096], *bytes = malloc(2 * size);
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    shared = shared_memory(sizeof *shared);
    shared->left = atol(arguments[1]);
    memset(bytes, 'a', size);
    if (write_file(path, O_WRONLY | O_CREAT | O_TRUNC, bytes, size) != 0) die(path);
    for (int renames = 0; renames < 2; renames++) {
        if (fork() != 0) continue;
        for (int save = 0; atomic_fetch_sub(&shared->left, 1) > 0; save++) {
            memset(bytes, 33 + 45 * renames + save % 45, size);
            if (write_file(renames ? temporary : path, O_WRONLY | O_TRUNC | (renames ? O_CREAT : 0), bytes, size) != 0) note(errno);
            if (renames && rename(temporary, path) != 0) note(errno);
        }
        _exit(0);
    }
    for (int maps = 0; maps < 2; maps++) {
        if (fork() != 0) continue;
        signal(SIGBUS, on_fault);
        while (shared->left > 0) if (!is_whole(path, bytes, size, maps)) shared->torn++;
        _exit(0);
    }
    while (wait(NULL) > 0) {}
    printf("torn %ld faults %ld, ", shared->torn, shared->faults);
    print_errors();
    return 0;
}

// seen PATH COUNT STORED: COUNT saves; after each close another process, which was there before, opens the document, and the version is
// in the store, at the path STORED: the daemon may be killed at once.
int seen_when_closed(int count, char **arguments) {
    if (count != 3) return 2;
    const char *path = arguments[0], *stored = arguments[2];
    long saves = atol(arguments[1]), unpublished = 0, number = 0;
    shared = shared_memory(sizeof *shared);
    if (write_file(path, O_WRONLY | O_CREAT | O_TRUNC, (char *)&number, sizeof number) != 0) die(path);
    if (fork() == 0) {
        while (shared->seen < saves) {
            long now = shared->published, found = -1;
            if (now == shared->seen) {
                sched_yield();
                continue;
            }
            int file = open(path, O_RDONLY);
            if (file < 0) note(errno);
            else if (read(file, &found, sizeof found) != sizeof found || found != now) shared->torn++;
            close(file);
            shared->seen = now;
        }
        _exit(0);
    }
    for (number = 1; number <= saves; number++) {
        if (write_file(path, (number % 2 ? O_WRONLY : O_RDWR) | O_TRUNC, (char *)&number, sizeof number) != 0) note(errno);
        long found = -1;
        int file = open(stored, O_RDONLY);
        if (file < 0 || read(file, &found, sizeof found) != sizeof found || found != number) unpublished++;
        close(file);
        shared->published = number;
        while (shared->seen < number) sched_yield();
    }
    while (wait(NULL) > 0) {}
    printf("older %ld, unpublished %ld, ", shared->torn, unpublished);
    print_errors();
    return 0;
}
