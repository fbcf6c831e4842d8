#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static int fails(const char *call, int file) {
    const char *place = getenv("S");
    char path[4096] = "", link[64], wanted[64] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    const char *list = getenv("QUIRE_FAIL");
    if (length < 0 || !place || !list || strncmp(path, place, strlen(place)) != 0) return 0;
    int named = open(list, O_RDONLY);
    if (named < 0) return 0;
    if (read(named, wanted, sizeof wanted - 1) < 0) wanted[0] = 0;
    close(named);
    if (!strstr(wanted, call)) return 0;
    errno = strstr(wanted, "timeout") ? ETIMEDOUT : EIO;
    return 1;
}
#define REAL(type, name) static type (*real)(); if (!real) real = dlsym(RTLD_NEXT, #name)
ssize_t pwrite(int f, const void *b, size_t n, off_t o) {
    REAL(ssize_t, pwrite);
    return fails("write", f) ? -1 : real(f, b, n, o);
}
ssize_t pwrite64(int f, const void *b, size_t n, off_t o) {
    REAL(ssize_t, pwrite64);
    return fails("write", f) ? -1 : real(f, b, n, o);
}
// From 300,000 bytes on; what is before these is read.
static size_t readable(int f, size_t n, off_t o) {
    off_t good = 300000 - o;
    return n <= 0 || (off_t)n <= good || !fails("read", f) ? n : good > 0 ? (size_t)good : 0;
}
ssize_t pread(int f, void *b, size_t n, off_t o) {
    REAL(ssize_t, pread);
    size_t length = readable(f, n, o);
    return n > 0 && length == 0 ? -1 : real(f, b, length, o);
}
ssize_t pread64(int f, void *b, size_t n, off_t o) {
    REAL(ssize_t, pread64);
    size_t length = readable(f, n, o);
    return n > 0 && length == 0 ? -1 : real(f, b, length, o);
}
int fsync(int f) { REAL(int, fsync); return fails("sync", f) ? -1 : real(f); }
int fdatasync(int f) { REAL(int, fdatasync); return fails("sync", f) ? -1 : real(f); }
int linkat(int a, const char *b, int c, const char *d, int e) {
    REAL(int, linkat);
    return fails("link", c) ? -1 : real(a, b, c, d, e);
}
int renameat2(int a, const char *b, int c, const char *d, unsigned e) {
    REAL(int, renameat2);
    return fails("rename", c) ? -1 : real(a, b, c, d, e);
}
