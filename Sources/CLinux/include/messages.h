#pragma once

#include <stddef.h>

// Messages between two processes, with descriptors (unix(7), SCM_RIGHTS). All results are >= 0 or -errno.

#define CL_MESSAGE_DESCRIPTORS 16  // at most, in one message

int cl_message_channel(int ends[2]);  // SOCK_SEQPACKET, both ends closed on exec
// Does not wait: -EAGAIN if the other end takes none.
int cl_send_message(int channel, const void *bytes, size_t length, const int *descriptors, int count);
// The length of the next message: 0 if the other end is closed, -EMSGSIZE if it is longer than `capacity`, -ETIMEDOUT if there is
// none within `milliseconds` (-1: waits). Descriptors that came with it are the caller's, closed on exec; `*count` of them, which
// is the room for them when called: what does not fit is closed.
int cl_receive_message(int channel, void *bytes, size_t capacity, int *descriptors, int *count, int milliseconds);

// The next connection of a listening socket, not blocking and closed on exec (accept4(2)).
int cl_accept(int listener);

// An anonymous file in memory (memfd_create(2)), closed on exec, which nobody can execute.
int cl_memory_file(const char *name);

// Leaves nothing in such a file, and lets nobody who has it open write more to it.
void cl_drop_memory_file(int file);

// This process runs only when no other wants to, and its I/O too (SCHED_IDLE, nice 19, the idle I/O class).
void cl_become_idle(void);

// Neither it nor what it starts gains privileges by exec, and nothing can attach to it (prctl(2)).
void cl_give_up_privileges(void);

