#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Below the root of the mount (which is the empty path), and through nothing that somebody could have put on the way there.
static int open_below(int root, const char *path, int flags) {
    const struct open_how how = {
        .flags = (unsigned)flags | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    return (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof how);
}

static bool set_times(int file, bool modified_alone) {
    // The time of modification alone raises IN_MODIFY, both IN_ATTRIB.
    const struct timespec times[] = { { .tv_nsec = modified_alone ? UTIME_OMIT : UTIME_NOW }, { .tv_nsec = UTIME_NOW } };
    return utimensat(file, "", times, AT_EMPTY_PATH) == 0;
}

static void look_up(int root, const char *path) {
    int file = open_below(root, path, O_PATH);
    if (file >= 0) close(file);
}

// The last use of the name goes with `file`: then the kernel tells the watches of a file without links of its end. It forgets that the file
// was at `place` if it still believes so.
static char lose_name(int root, const char *path, const char *place) {
    struct statx status = { 0 };
    int file = open_below(root, path, O_PATH);
    if (file < 0) return 0;
    look_up(root, path);
    if (*place) look_up(root, place);
    // AT_STATX_DONT_SYNC: the kernel's own link count, without a request to the daemon.
    statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_NLINK, &status);
    close(file);
    return status.stx_nlink == 0 ? 1 : CL_REPLAY_DIFFERS;
}

static bool write_file(int root, const char *path, unsigned char how) {
    struct stat status;
    int file = open_below(root, path, O_PATH);
    if (file < 0) return false;
    bool done = false, opens = how & CL_REPLAY_CLOSED && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    if (opens) {
        int writer = open_below(root, path, O_WRONLY | O_NONBLOCK);
        if (writer >= 0) {
            if (how & CL_REPLAY_MODIFIED) set_times(file, true);
            done = close(writer) == 0;
        }
    }
    if (!done && how & CL_REPLAY_MODIFIED) done = set_times(file, true);
    close(file);
    return done;
}

// Opening has the kernel drop what it keeps of a file's content, and write out what was stored through mappings, if the daemon
// answers so.
static bool open_again(int root, const char *path) {
    struct stat status;
    int file = open_below(root, path, O_PATH);
    if (file < 0) return false;
    bool is_file = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    close(file);
    // Another file may be there by now.
    if (!is_file || (file = open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY)) < 0) return false;
    return close(file) == 0;
}

static bool change_attributes(int root, const char *path) {
    int file = open_below(root, path, O_PATH);
    if (file < 0) return false;
    bool done = set_times(file, false);
    close(file);
    return done;
}

// Cuts the last name off a path, and opens the folder that it is in.
static int open_folder(int root, char *path, const char **name) {
    char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (slash) *slash = 0;
    return open_below(root, slash ? path : "", O_PATH | O_DIRECTORY);
}

// Has the daemon asked for the attributes of what the kernel has under a name, whereby it learns which inode that is.
static void show(int folder, const char *name) {
    struct statx status;
    int file = open_below(folder, name, O_PATH);
    if (file < 0) return;
    statx(file, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_TYPE, &status);
    close(file);
}

static bool make(int folder, const char *name, mode_t type) {
    if (type == S_IFDIR) return mkdirat(folder, name, 0700) == 0;
    if (type == S_IFLNK) return symlinkat("-", folder, name) == 0;
    return mknodat(folder, name, type | 0600, 0) == 0;
}

static bool remove_name(int folder, const char *name, mode_t type) {
    if (type != S_IFDIR) return unlinkat(folder, name, 0) == 0;
    show(folder, name);
    return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

// No file has a name on two file systems, so link(2) makes nothing, whatever is mounted there; but first it has the kernel ask for the
// new name, of which it may have an answer already, with the folder locked against all other looks.
static bool look_again(int folder, const char *name) {
    return linkat(AT_FDCWD, "/", folder, name, 0) == 0 || errno == EXDEV || errno == EEXIST || errno == EROFS;
}

// Opens what the kernel has cached under a name. Sends no LOOKUP, and waits for nobody who changes a folder.
static int open_cached(int folder, const char *name, int flags) {
    int file = -EAGAIN;
    // Any change in a folder, by anybody, has the kernel forget its mode. A program that looks the folder up has it ask for that
    // (GETATTR, which takes no lock) before it looks at the name, and so must this.
    for (int look = 0; look < 10 && file == -EAGAIN; look++) {
        struct statx status;
        statx(folder, "", AT_EMPTY_PATH, STATX_MODE | STATX_UID | STATX_GID, &status);
        file = cl_open_cached(folder, name, flags);
    }
    return file;
}

// Whether the kernel shows the inode with a number at a path (0: nothing), or does not know.
static bool shows(int root, char *path, const char *inode) {
    uint64_t expected = strtoull(inode, NULL, 10), found;
    int file = dup(root);
    for (char *name = strtok(path, "/"), *next; name && file >= 0; name = next) {
        next = strtok(NULL, "/");
        int below = open_cached(file, name, next ? O_DIRECTORY : 0);
        close(file);
        file = below;
    }
    if (file < 0) return file != -ENOENT || expected == 0;
    bool is_expected = cl_known_inode(file, &found) < 0 || found == expected;
    close(file);
    return is_expected;
}

static char compare(int root, char *path, const char *end) {
    for (char differs = CL_REPLAY_DIFFERS; path < end; differs++) {
        char *inode = path + strlen(path) + 1;
        if (inode >= end || differs < 0) return 0;
        char *next = inode + strlen(inode) + 1;
        if (!shows(root, path, inode)) return differs;
        path = next;
    }
    return 1;
}

static bool change_name(int root, char operation, mode_t type, char *path, char *new_path) {
    const char *name, *new_name;
    int folder = open_folder(root, path, &name), new_folder = -1;
    bool done = false;
    if (folder < 0) return false;
    switch (operation) {
    case CL_REPLAY_MAKE: done = make(folder, name, type); break;
    case CL_REPLAY_REMOVE: done = remove_name(folder, name, type); break;
    case CL_REPLAY_REVALIDATE: done = look_again(folder, name); break;
    case CL_REPLAY_MOVE:
        if ((new_folder = open_folder(root, new_path, &new_name)) < 0) break;
        show(new_folder, new_name);
        done = renameat(folder, name, new_folder, new_name) == 0;
        close(new_folder);
    }
    close(folder);
    return done;
}

static char replay_below(int root, char operation, unsigned char argument, char *path, char *new_path) {
    switch (operation) {
    case CL_REPLAY_LOSE_NAME: return lose_name(root, path, new_path);
    case CL_REPLAY_WRITE: return write_file(root, path, argument);
    case CL_REPLAY_ATTRIBUTES: return change_attributes(root, path);
    case CL_REPLAY_OPEN: return open_again(root, path);
    default: return change_name(root, operation, (mode_t)argument << 12, path, new_path);
    }
}

// `request` ends with a NUL.
static char replay(char *request, size_t length) {
    uint32_t connection;
    const size_t header = 2 + sizeof connection;
    char *end = request + length, *root_path = request + header;
    char *path = length > header ? memchr(root_path, 0, length - header) : NULL;
    if (!path++) return 0;
    memcpy(&connection, request + 2, sizeof connection);
    char *new_path = memchr(path, 0, (size_t)(end - path));
    new_path = new_path ? new_path + 1 : end;
    // Not kept open: that would keep the mount busy.
    int root = cl_open_canonical(root_path);
    if (root < 0) return 0;
    // Another mount's daemon would do what is asked, as the user whom this process runs as.
    char result = 0;
    if (connection != 0 && cl_unnamed_device(root) == connection) {
        result = request[0] == CL_REPLAY_COMPARE ? compare(root, path, end)
            : replay_below(root, request[0], (unsigned char)request[1], path, new_path);
    }
    close(root);
    return result;
}

void cl_serve_replay(int channel) {
    // What ends the daemon closes the channel; a signal to both must not end this one first.
    const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_IGN);
    // Nothing of the daemon's stays open here, the kernel's device least of all: the mount would outlive the daemon.
    if (dup2(channel, 0) < 0 || close_range(1, ~0U, 0) < 0 || chdir("/") < 0) _exit(1);
    prctl(PR_SET_NAME, "quire-replay");
    static char request[3 * PATH_MAX + 8];
    for (;;) {
        ssize_t length = recv(0, request, sizeof request - 1, 0);
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) _exit(0);
        request[length] = 0;
        char result = replay(request, (size_t)length);
        if (send(0, &result, 1, MSG_NOSIGNAL) != 1) _exit(0);
    }
}

int cl_replay(int channel, const void *request, size_t length) {
    return send(channel, request, length, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int cl_replayed(int channel, int milliseconds) {
    struct pollfd answer = { .fd = channel, .events = POLLIN };
    int ready;
    while ((ready = poll(&answer, 1, milliseconds)) < 0 && errno == EINTR) {}
    if (ready <= 0) return ready < 0 ? -errno : -ETIMEDOUT;
    char result;
    ssize_t count = recv(channel, &result, 1, 0);
    if (count < 0) return -errno;
    return count == 0 ? -EPIPE : result;
}

int cl_has_ended(pid_t child) {
    siginfo_t end = { 0 };
    return waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno == ECHILD : end.si_pid == child;
}
