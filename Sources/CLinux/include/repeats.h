// A process of its own that uses the mount, so that the kernel tells watches of what the mount did. No thread of the daemon may:
// once it is killed it would wait for itself.
#pragma once
#include <stddef.h>
#include <sys/types.h>

// The two ends of the channel between it and the daemon, or a negative errno.
int cl_repeat_channel(int ends[2]);
// Is that process, until the channel is closed: does not return. Closes all else that is open.
_Noreturn void cl_serve_repeats(int channel);

// What it does with a path below a mount's root. It follows no symbolic link and enters no other file system: the mount's users
// may change what stands there at any moment.
enum {
    CL_REPEAT_LOOKUP = 'l',    // looks it up, and once more if it is there
    CL_REPEAT_WRITE = 'w',     // sets its time of modification to now, of which watches hear as of a write
};

// Has it done: 1 if it succeeded, 0 if not, a negative errno if there was no answer in time, after which the channel is of no
// use. `request` is one of the letters above, the mount's root, a NUL, and the path.
int cl_repeat(int channel, const void *request, size_t length, int milliseconds);
