// What tells processes apart and when they were started.
#pragma once
#include <stdint.h>
#include <sys/types.h>

// Whether there is a process (thread group) of this number, a zombie included; 0 for the number of one of its other threads.
// Needs no permission; a quarter of the cost of any look into /proc.
int cl_is_process(pid_t number);
// A descriptor that is readable once no thread of the process is left (pidfd_open(2)): needs no permission.
int cl_pidfd_open(pid_t number);
// How a process ended, by such a descriptor that was opened before: its status as wait(2) tells it, once it has been waited for.
// Needs no permission. -EAGAIN as long as it has not; another -errno before Linux 6.15.
int cl_pidfd_end(int pidfd, int *status);
// Whether two threads have one table of descriptors: 1, 0, or -errno without the right to know (ptrace(2)).
int cl_share_descriptors(pid_t one, pid_t other);
// How many threads the process has whose folder `path` (PID/task) in /proc is, or -errno: no permission is needed.
int64_t cl_count_threads(int proc, const char *path);
// The time since boot in clock ticks, rounded as in field 22 of /proc/PID/stat, in this process's time namespace like it.
uint64_t cl_boot_ticks(void);
uint64_t cl_ticks_per_second(void);
// How many descriptors are open in the table that the folder `path` (PID/fd) in /proc shows: no permission is needed.
// 0 also before Linux 6.2.
int64_t cl_count_descriptors(int proc, const char *path);
// Starts a program, looked for in PATH, with this process's descriptors, all signals unblocked and as they are by default, that is
// killed when the calling thread ends. The child's number, or what kept it from being started.
int cl_spawn_bound(const char *program, char *const arguments[], char *const environment[]);
// Whether a system call of this number, as /proc/PID/syscall shows it, opens a file by name.
int cl_opens_file(long number);
int cl_reads_file(long number);  // read(2) or readv(2)

enum { CL_PF_EXITING = 0x4, CL_PF_FORKNOEXEC = 0x40, CL_PF_DUMPCORE = 0x200, CL_PF_SIGNALED = 0x400 };
