public import CLinux
import Glibc
public import SystemPackage

/// Other programs, started without a shell.
public enum ChildProcess {
    /// Runs a program to its end, with the C locale, and returns its exit status and what it wrote to standard error. Throws
    /// posix_spawn's errno: .noSuchFileOrDirectory when the program is not in PATH.
    public static func run(_ program: String, _ arguments: [[UInt8]]) throws(Errno) -> (status: Int32, errors: String) {
        let (reading, writing) = try pipe()
        let pid = try spawn(
            program, arguments, environment: inherited + [Array("LC_ALL=C".utf8)], connecting: [(writing, STDERR_FILENO)],
            newSession: false)
        _ = consume writing
        var errors: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while case let count = cl_read(reading.number, &chunk, chunk.count), count > 0 { errors += chunk[..<count] }
        return (try wait(for: pid), String(decoding: errors, as: UTF8.self))
    }

    /// Starts a program with this process's input and output, and all signals unblocked and as they are by default, that is killed
    /// when the calling thread ends. PATH is searched for a name without a slash.
    public static func spawnBound(_ program: String, _ arguments: [[UInt8]], environment: [[UInt8]]) throws(Errno) -> pid_t {
        let (words, settings) = (strings([Array(program.utf8)] + arguments), strings(environment))
        defer { for pointer in words + settings { free(pointer) } }
        return try check(cl_spawn_bound(program, words, settings))
    }

    /// Copies for the calls that take lists of strings.
    private static func strings(_ strings: [[UInt8]]) -> [UnsafeMutablePointer<CChar>?] {
        strings.map { string in (string + [0]).withUnsafeBytes { strdup($0.assumingMemoryBound(to: CChar.self).baseAddress!) } } + [nil]
    }

    /// Starts a program with the given descriptors at the given numbers, standard input from /dev/null, and all signals unblocked
    /// and as they are by default. PATH is searched for a name without a slash. `name` is what ps shows, the program itself if nil.
    public static func spawn(
        _ program: String, named name: String? = nil, _ arguments: [[UInt8]], environment: [[UInt8]],
        connecting: [(Descriptor, Int32)] = [], newSession: Bool
    ) throws(Errno) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        // From numbers beyond those: none is overwritten before its turn.
        let first = (connecting.map { $0.1 }.max() ?? 0) + 1
        var sources: [Descriptor] = []
        defer { withExtendedLifetime(sources) {} }
        for (descriptor, number) in connecting {
            let source = fcntl(descriptor.number, F_DUPFD_CLOEXEC, first)
            guard source >= 0 else { throw Errno(rawValue: errno) }
            sources.append(Descriptor(owning: source))
            posix_spawn_file_actions_adddup2(&actions, source, number)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let startsSession: Int32 = 0x80  // POSIX_SPAWN_SETSID, hidden behind _GNU_SOURCE
        posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (newSession ? startsSession : 0)))

        let (words, settings) = (strings([Array((name ?? program).utf8)] + arguments), strings(environment))
        defer { for pointer in words + settings { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, program, &actions, &attributes, words, settings)
        if result != 0 { throw Errno(rawValue: result) }
        return pid
    }

    /// The environment as this process got it.
    public static var inherited: [[UInt8]] {
        var settings: [[UInt8]] = []
        var next = environ
        while let setting = next.pointee {
            settings.append(Array(UnsafeRawBufferPointer(start: setting, count: strlen(setting))))
            next += 1
        }
        return settings
    }

    /// Waits for a child's end. Returns its exit status, or 128 and the signal's number.
    public static func wait(for pid: pid_t) throws(Errno) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 { if errno != EINTR { throw Errno(rawValue: errno) } }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + status & 0x7f
    }

    /// Both ends are closed on exec.
    public static func pipe() throws(Errno) -> (reading: Descriptor, writing: Descriptor) {
        var ends: [Int32] = [-1, -1]
        _ = try check(cl_pipe(&ends))
        return (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
    }
}
