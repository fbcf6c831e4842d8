import Glibc

/// Tries what a worker may not do, from within: `quire doctor` and the tests ask for it.
enum Probe {
    /// What can be done that should not.
    /// - Parameters:
    ///   - path: a file that the worker was not given.
    ///   - input: one that it was, open for reading only.
    static func possible(_ path: String, _ input: Int32) -> [String] {
        let attempts: [(String, () -> Bool)] = [
            ("open a file by its path", { opens(path, O_RDONLY) }),
            ("read the users of the system", { opens("/etc/passwd", O_RDONLY) }),
            ("list the root user's home", { opens("/root", O_RDONLY | O_DIRECTORY) }),
            ("list homes", { opens("/home", O_RDONLY | O_DIRECTORY) }),
            ("write to the system", { opens("/usr/quire-probe", O_WRONLY | O_CREAT | O_EXCL) && unlink("/usr/quire-probe") == 0 }),
            ("open the document for writing", { opens("/proc/self/fd/\(input)", O_WRONLY) || opens("/dev/fd/\(input)", O_WRONLY) }),
            ("write to the document", { write(input, "x", 1) == 1 }),
            ("change the document's mode", { fchmod(input, 0o777) == 0 }),
            ("change the document's times", { futimens(input, nil) == 0 }),
            ("lock the document", { flock(input, LOCK_EX | LOCK_NB) == 0 }),
            ("open a socket to the network", { opensSocket(AF_INET) || opensSocket(AF_INET6) }),
            ("open a socket to a daemon", { opensSocket(AF_UNIX) }),
            ("start a program", { starts("/usr/bin/true") }),
            ("see the daemon", { kill(getppid(), 0) == 0 && getppid() > 0 }),
        ]
        return attempts.filter { $0.1() }.map(\.0)
    }

    private static func opens(_ path: String, _ flags: Int32) -> Bool {
        let number = open(path, flags | O_NONBLOCK | O_CLOEXEC, 0o600)
        if number >= 0 { close(number) }
        return number >= 0
    }

    private static func opensSocket(_ family: Int32) -> Bool {
        let number = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        if number >= 0 { close(number) }
        return number >= 0
    }

    private static func starts(_ program: String) -> Bool {
        var pid: pid_t = 0
        let words: [UnsafeMutablePointer<CChar>?] = [strdup(program), nil]
        defer { free(words[0]) }
        guard posix_spawn(&pid, program, nil, nil, words, environ) == 0 else { return false }
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        return true
    }
}
