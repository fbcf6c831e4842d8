#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8  // Linux 6.3
#endif

int cl_message_channel(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0;
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(CL_MESSAGE_DESCRIPTORS * sizeof(int))];
};

int cl_send_message(int channel, const void *bytes, size_t length, const int *descriptors, int count) {
    if (count < 0 || count > CL_MESSAGE_DESCRIPTORS) return -EINVAL;
    struct iovec content = { .iov_base = (void *)bytes, .iov_len = length };
    struct msghdr message = { .msg_iov = &content, .msg_iovlen = 1 };
    union control control;
    if (count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), descriptors, count * sizeof(int));
    }
    ssize_t sent;
    while ((sent = sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && errno == EINTR) {}
    return sent < 0 ? -errno : 0;
}

int cl_receive_message(int channel, void *bytes, size_t capacity, int *descriptors, int *count, int milliseconds) {
    int room = *count;
    *count = 0;
    struct pollfd next = { .fd = channel, .events = POLLIN };
    int ready;
    while ((ready = poll(&next, 1, milliseconds)) < 0 && errno == EINTR) {}
    if (ready <= 0) return ready < 0 ? -errno : -ETIMEDOUT;
    struct iovec content = { .iov_base = bytes, .iov_len = capacity };
    union control control;
    struct msghdr message = { .msg_iov = &content, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control };
    ssize_t length;
    while ((length = recvmsg(channel, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT)) < 0 && errno == EINTR) {}
    if (length < 0) return -errno;
    for (struct cmsghdr *rights = CMSG_FIRSTHDR(&message); rights; rights = CMSG_NXTHDR(&message, rights)) {
        if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
        int received = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (int index = 0; index < received; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(rights) + index * sizeof(int), sizeof(int));
            if (*count < room) descriptors[(*count)++] = descriptor;
            else close(descriptor);
        }
    }
    if (message.msg_flags & MSG_TRUNC) {
        while (*count > 0) close(descriptors[--*count]);
        return -EMSGSIZE;
    }
    return (int)length;
}

int cl_accept(int listener) {
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return connection < 0 ? -errno : connection;
}

int cl_memory_file(const char *name) {
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL) file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return file < 0 ? -errno : file;
}

void cl_drop_memory_file(int file) {
    // In this order: it can be made larger until it is sealed.
    fcntl(file, F_ADD_SEALS, F_SEAL_GROW);
    if (ftruncate(file, 0) < 0) return;
}

void cl_become_idle(void) {
    struct sched_param none = { .sched_priority = 0 };
    setpriority(PRIO_PROCESS, 0, 19);
    sched_setscheduler(0, SCHED_IDLE, &none);
    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 7));
}

void cl_give_up_privileges(void) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
