#include "CSystemCalls.h"
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int killed(pid_t child, int result) {
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, __WALL);
    return result;
}

// Whether the call that a stopped child is about to make changes nothing that outlives it. How many of these there are differs from fork to
// fork: malloc(3) goes on with what the parent's threads had left.
static int is_its_own(pid_t child) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY) return 0;
    switch (info.entry.nr) {
    case SYS_brk: case SYS_mmap: case SYS_munmap: case SYS_mremap: case SYS_mprotect: case SYS_madvise: case SYS_futex: case SYS_getrandom:
        return 1;
    default: return 0;
    }
}

int sc_run_until_call(long call, void (*body)(void *), void *context) {
    pid_t child = fork();
    if (child < 0) return -errno;
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(10);
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) _exit(120);
        raise(SIGSTOP);
        body(context);
        raise(SIGCONT);  // the end of what is counted
        _exit(0);
    }
    int status, entering = 1;
    if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)) return -EPERM;
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    for (long seen = 0;;) {
        if (ptrace(PTRACE_SYSCALL, child, 0, 0) < 0 || waitpid(child, &status, __WALL) != child) return killed(child, -ECHILD);
        if (!WIFSTOPPED(status)) return -ECHILD;
        if (WSTOPSIG(status) == SIGCONT) return killed(child, 0);
        if (WSTOPSIG(status) == SIGALRM) return killed(child, -ETIMEDOUT);
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) return killed(child, -ECHILD);
        // Stops at calls come in pairs; SIGSTOP was taken outside of any.
        if (entering && !is_its_own(child) && seen++ == call) return killed(child, 1);
        entering = !entering;
    }
}
