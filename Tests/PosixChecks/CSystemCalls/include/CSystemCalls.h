// Raw Linux system calls for the checks: no libc behaviour (retries, thread-wide identities, cached ids) in between.
// Nothing of libc is included here, so that a Swift file that imports this module can give its own functions the calls' names.
// Every function returns what the system call returns, or -errno.
#pragma once
#include <stdint.h>

// One system call by number, all arguments as words.
long sc_call(long number, long a, long b, long c, long d, long e, long f);

// What statx(2) tells, in plain integers.
struct sc_status {
    uint64_t device, inode, size, blocks, special;  // blocks of 512 bytes; special: the device a device node stands for
    uint32_t mode, links, uid, gid, block_size;
    int64_t access_ns, modify_ns, change_ns, birth_ns;  // since 1970
};
int sc_stat(int folder, const char *path, int flags, struct sc_status *out);

// Opens a file that is open by its handle (name_to_handle_at(2), open_by_handle_at(2)).
int sc_open_by_handle(int fd, int flags);

struct sc_file_system {
    uint64_t type, block_size, blocks, free_blocks, available_blocks, files, free_files, name_length, flags;
};
int sc_statfs(const char *path, struct sc_file_system *out);
int sc_fstatfs(int fd, struct sc_file_system *out);

// fcntl(2) record locks. On F_GETLK the conflicting lock's type and process are stored.
int sc_lock(int fd, int command, int16_t *type, int64_t start, int64_t length, int32_t *process);

// fork(2); only for a process of one thread.
int sc_fork(void);
// "ENOENT", or the number for an errno without a name.
const char *sc_errno_name(int number);
// Counts deliveries of `signal` from now on, without SA_RESTART; sc_caught tells how many so far.
int sc_catch(int signal);
int sc_caught(int signal);
int sc_set_handler(int signal, int ignored);  // SIG_IGN if ignored, else SIG_DFL
// Has the kernel send SIGALRM every so many milliseconds; 0 cancels.
int sc_alarm(int milliseconds);
int sc_prlimit(int resource, uint64_t soft, uint64_t hard);
uint64_t sc_makedev(unsigned major, unsigned minor);
int sc_bind_unix(int socket, const char *path);
int sc_connect_unix(int socket, const char *path);
// getenv(3)'s whole table, for execve.
char *const *sc_environment(void);

// Linux's own constants under their own names.
#define CONSTANT(name) extern const int sc_##name __attribute__((swift_name(#name)));
#include "constants.def"
#undef CONSTANT
#define CONSTANT(name) extern const long sc_##name __attribute__((swift_name(#name)));
#include "calls.def"
#undef CONSTANT

// Runs `body` in a forked child that is killed as it enters its system call number `call` (from 0; calls for its own memory, as by
// malloc(3), are not counted): that call and all after it never happen. 1: it was killed so; 0: it ended before; -errno: it could not be
// run, or ended badly (-ECHILD). The child has only the calling thread: a body that needs what another thread may have locked at the fork
// does not end, and is killed after 10 s (-ETIMEDOUT).
int sc_run_until_call(long call, void (*body)(void *), void *context);
