// One thread's io_uring, for commands to a device (IORING_OP_URING_CMD): liburing behind plain declarations.
// Made and used by one thread. Functions answer -errno as all of CLinux.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef struct cl_ring cl_ring;

// A ring that holds up to `entries` submissions. -ENOSYS, -EPERM (kernel.io_uring_disabled) or -EINVAL where the kernel has none of
// the kind: 128-byte submissions, Linux 6.1.
int cl_ring_open(unsigned entries, cl_ring **ring);
void cl_ring_close(cl_ring *ring);

// Queues a command with up to 80 bytes of its own data, for the next submit. `buffers` must live until then. -EBUSY when full.
int cl_ring_command(
    cl_ring *ring, int fd, uint32_t command, const void *data, size_t size, const struct iovec *buffers, unsigned buffer_count,
    uint64_t tag);

// Submits what is queued and waits until something is complete.
int cl_ring_submit_and_wait(cl_ring *ring);
// The next completion: 1 and its tag and result, or 0 if there is none yet.
int cl_ring_next(cl_ring *ring, uint64_t *tag, int *result);

// A pointer of the calling thread's own, null at first.
void cl_set_thread_context(void *context);
void *cl_thread_context(void);

// Binds the calling thread to one processor.
int cl_bind_to_processor(int processor);
