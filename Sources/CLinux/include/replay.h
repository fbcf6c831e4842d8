// A process of its own that uses the mount, so that the kernel tells watches of what the mount did. No thread of the daemon may:
// once it is killed it would wait for itself.
#pragma once
#include <stddef.h>
#include <sys/types.h>

// Is that process, until the channel (`cl_message_channel`) is closed: does not return. Closes all else that is open.
_Noreturn void cl_serve_replay(int channel);

// What it does with a path below a mount's root. It follows no symbolic link and enters no other file system: the mount's users
// may change what stands there at any moment.
enum {
    CL_REPLAY_LOSE_NAME = 'l',     // looks it up, once more, and a second path: CL_REPLAY_DIFFERS if the kernel still counts the file's links
    CL_REPLAY_WRITE = 'w',         // what watches hear of as of a write, by the bits below
    CL_REPLAY_ATTRIBUTES = 'a',    // sets its times
    CL_REPLAY_OPEN = 'o',          // opens it for reading, if it is a regular file
    CL_REPLAY_MAKE = 'n',          // makes what has the type given as st_mode >> 12
    CL_REPLAY_REMOVE = 'u',        // removes what has that type
    CL_REPLAY_MOVE = 'm',          // renames it to a second path
    CL_REPLAY_REVALIDATE = 'f',    // has the kernel ask for it, whatever it knows
    CL_REPLAY_COMPARE = 'c',       // checks whether the kernel has something else cached there than the inode with a number, 0: nothing
};
enum {
    CL_REPLAY_MODIFIED = 1,        // sets the time of modification to now
    CL_REPLAY_CLOSED = 2,          // has it open for writing, if it is a regular file
};
enum {
    CL_REPLAY_DIFFERS = 2,         // the answer for the first of the paths that differs, and one more for each after it
    CL_REPLAY_MOST = 8192,         // bytes of paths and numbers to compare
};

// Asks for it; 0 or a negative errno. `request` is one of the letters above, the type or the bits, the mount's number (`mounts.h`)
// in four bytes of the machine's order, the mount point, a NUL, the path, and for two of them a NUL and the second path. To compare, a NUL and the
// number in decimal, and as many more paths and numbers, each after a NUL, as fit into CL_REPLAY_MOST bytes. Nothing is done if
// the mount point's path leads to another mount.
int cl_replay(int channel, const void *request, size_t length);
// Waits for the answer: 1 if it succeeded, 0 if not, to compare CL_REPLAY_DIFFERS and more for the first, second and so on that differs,
// and 0 if nothing is known; -ETIMEDOUT if it is not there yet, another negative errno if none comes.
int cl_replayed(int channel, int milliseconds);
// Whether a child has ended. It keeps its number until it is waited for.
int cl_has_ended(pid_t child);
