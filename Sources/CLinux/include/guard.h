// What a process needs that is to see its parent die, whatever state the parent dies in.
#pragma once
#include <sys/types.h>

// From now on this process, which the calling thread's parent started, is told when the thread that started it ends: the descriptor
// returned is readable then, also while other threads of the dead process wait in the kernel and keep its descriptors open, which a
// pipe or a pidfd does not tell. SIGTERM, SIGINT and SIGHUP end this process no more. -ESRCH if the parent is not `parent` any more.
int cl_watch_parent(pid_t parent);
// How a process ended, as waitpid(2) tells it, of which a pidfd is readable: known once it has been waited for, from Linux 6.15 on.
// -ENODATA if it is not known.
int cl_exit_status(int pidfd);
// A write to the file, a read from it: no call on it waits any more, in whichever process.
int cl_never_wait(int fd);
