#include "ring.h"
#include <errno.h>
#include <liburing.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct cl_ring {
    struct io_uring ring;
};

int cl_ring_open(unsigned entries, cl_ring **ring) {
    cl_ring *made = calloc(1, sizeof *made);
    if (!made) return -ENOMEM;
    // Completions are worked on when the thread waits for them, by itself: no interrupts, no locks.
    struct io_uring_params parameters = {
        .flags = IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    int result = io_uring_queue_init_params(entries, &made->ring, &parameters);
    if (result < 0) {
        free(made);
        return result;
    }
    *ring = made;
    return 0;
}
void cl_ring_close(cl_ring *ring) {
    io_uring_queue_exit(&ring->ring);
    free(ring);
}

static struct io_uring_sqe *next_entry(cl_ring *ring) {
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring->ring);
    if (!entry && io_uring_submit(&ring->ring) >= 0) entry = io_uring_get_sqe(&ring->ring);
    if (entry) memset(entry, 0, 128);
    return entry;
}
int cl_ring_command(
    cl_ring *ring, int fd, uint32_t command, const void *data, size_t size, const struct iovec *buffers, unsigned buffer_count,
    uint64_t tag) {
    struct io_uring_sqe *entry = next_entry(ring);
    if (!entry || size > 80) return -EBUSY;
    entry->opcode = IORING_OP_URING_CMD;
    entry->fd = fd;
    entry->off = command;  // cmd_op shares its place
    entry->addr = (uint64_t)(uintptr_t)buffers;
    entry->len = buffer_count;
    entry->user_data = tag;
    memcpy((char *)entry + 48, data, size);  // `cmd`, which a submission of 128 bytes ends with
    return 0;
}
int cl_ring_submit_and_wait(cl_ring *ring) { return io_uring_submit_and_wait(&ring->ring, 1); }
int cl_ring_next(cl_ring *ring, uint64_t *tag, int *result) {
    struct io_uring_cqe *completion;
    if (io_uring_peek_cqe(&ring->ring, &completion) != 0) return 0;
    *tag = completion->user_data;
    *result = completion->res;
    io_uring_cqe_seen(&ring->ring, completion);
    return 1;
}

static __thread void *context;
void cl_set_thread_context(void *value) { context = value; }
void *cl_thread_context(void) { return context; }

int cl_bind_to_processor(int processor) {
    cpu_set_t *set = CPU_ALLOC((size_t)processor + 1);
    if (!set) return -ENOMEM;
    size_t size = CPU_ALLOC_SIZE((size_t)processor + 1);
    CPU_ZERO_S(size, set);
    CPU_SET_S((size_t)processor, size, set);
    int result = sched_setaffinity(0, size, set) < 0 ? -errno : 0;
    CPU_FREE(set);
    return result;
}
