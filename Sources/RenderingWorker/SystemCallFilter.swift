import CSeccomp
import Glibc

/// Which system calls a worker may make (seccomp(2)).
///
/// The decoders' list says what is allowed. What matters is not on it: sockets, starting programs, and whatever changes a file by
/// a descriptor that is open for reading only, which its owner may do (mode, owner, attributes, times, locks).
struct SystemCallFilter {
    private let otherwise: UInt32
    private let rules: [Rule]

    private struct Rule {
        let action: UInt32
        let names: [String]
        var conditions: [scmp_arg_cmp] = []
    }

    /// Nothing else is let through; what is refused does not exist (ENOSYS), so that libraries do without.
    static let decoders = SystemCallFilter(
        otherwise: cs_refuse(ENOSYS),
        rules: [
            Rule(
                action: CS_ALLOW,
                names: [
                    // The files given, the system's libraries, fonts and settings, and the scratch folder.
                    "read", "pread64", "readv", "preadv", "write", "pwrite64", "writev", "lseek", "close", "openat", "open", "fstat",
                    "newfstatat", "stat", "lstat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
                    "getdents64", "getcwd", "dup", "dup3", "pipe2", "fadvise64", "ftruncate", "unlink", "unlinkat", "mkdir", "fstatfs",
                    "statfs", "umask",
                    // Memory and threads.
                    "mmap", "munmap", "mremap", "mprotect", "madvise", "brk", "futex", "set_robust_list", "rseq", "sched_yield",
                    "sched_getaffinity", "set_tid_address", "gettid", "getpid", "membarrier", "exit", "exit_group", "arch_prctl",
                    // Time, signals, limits, and what else libraries ask for.
                    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "getrusage", "times", "prlimit64",
                    "setrlimit", "getrlimit", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "tgkill", "restart_syscall",
                    "getrandom", "uname", "sysinfo", "getuid", "geteuid", "getgid", "getegid", "poll", "ppoll", "eventfd2",
                    // The channel.
                    "sendmsg", "recvmsg",
                ]),
            // Threads, not processes: pthread_create(3) falls back to this, as clone3 does not exist.
            Rule(
                action: CS_ALLOW, names: ["clone"],
                conditions: [masked(0, UInt64(CLONE_THREAD), equals: UInt64(CLONE_THREAD))]),
            Rule(action: CS_ALLOW, names: ["fcntl"], conditions: [equal(1, UInt64(F_GETFD))]),
            Rule(action: CS_ALLOW, names: ["fcntl"], conditions: [equal(1, UInt64(F_SETFD))]),
            Rule(action: CS_ALLOW, names: ["fcntl"], conditions: [equal(1, UInt64(F_GETFL))]),
            Rule(action: CS_ALLOW, names: ["fcntl"], conditions: [equal(1, UInt64(F_DUPFD_CLOEXEC))]),
            // isatty(3)
            Rule(action: CS_ALLOW, names: ["ioctl"], conditions: [equal(1, UInt64(TCGETS))]),
            // Naming threads.
            Rule(action: CS_ALLOW, names: ["prctl"], conditions: [equal(0, UInt64(PR_SET_NAME))]),
        ])

    /// What programs of others may not do; they need too much else for a list of what they may. No sockets but those that lead
    /// nowhere, no further namespaces, nothing that inspects others, and no parts of the kernel that have often been a way out.
    static let programs = SystemCallFilter(
        otherwise: CS_ALLOW,
        rules: [
            Rule(
                action: cs_refuse(ENOSYS),
                names: ["clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "open_by_handle_at"]),
            Rule(
                action: cs_refuse(EPERM),
                names: [
                    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "keyctl", "add_key", "request_key", "bpf",
                    "perf_event_open", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "fsopen", "fsmount", "open_tree",
                    "move_mount", "mount_setattr", "personality", "syslog", "acct", "quotactl", "kexec_load", "init_module",
                    "finit_module", "delete_module", "swapon", "swapoff", "reboot", "sched_setscheduler", "sched_setattr",
                ]),
            Rule(
                action: cs_refuse(EPERM), names: ["clone"],
                conditions: [masked(0, UInt64(CLONE_NEWUSER), equals: UInt64(CLONE_NEWUSER))]),
            Rule(
                action: cs_refuse(EAFNOSUPPORT), names: ["socket"],
                conditions: [scmp_arg_cmp(arg: 0, op: SCMP_CMP_NE, datum_a: UInt64(AF_UNIX), datum_b: 0)]),
            Rule(action: cs_refuse(EPERM), names: ["ioctl"], conditions: [masked(1, 0xffff_ffff, equals: UInt64(TIOCSTI))]),
        ])

    private static func equal(_ argument: UInt32, _ value: UInt64) -> scmp_arg_cmp {
        // The kernel takes these arguments as 32 bits.
        masked(argument, 0xffff_ffff, equals: value)
    }

    private static func masked(_ argument: UInt32, _ mask: UInt64, equals value: UInt64) -> scmp_arg_cmp {
        scmp_arg_cmp(arg: argument, op: SCMP_CMP_MASKED_EQ, datum_a: mask, datum_b: value)
    }

    /// Puts it in force, for good. False if the kernel has none of it.
    func load() -> Bool {
        guard let context = seccomp_init(otherwise) else { return false }
        defer { seccomp_release(context) }
        for rule in rules {
            for name in rule.names {
                let number = seccomp_syscall_resolve_name(name)
                // Not every architecture has all of them.
                guard number != __NR_SCMP_ERROR else { continue }
                let result = seccomp_rule_add_array(context, rule.action, number, UInt32(rule.conditions.count), rule.conditions)
                guard result == 0 || number < 0 else { return false }
            }
        }
        return seccomp_load(context) == 0
    }
}
