public import SystemPackage

#if canImport(Glibc)
    import Glibc
#endif

/// What a program did.
public struct ProgramResult: Sendable {
    /// The exit status; 128 and the signal's number if a signal ended it, as shells have it.
    public let status: Int32
    public let output: String
    public let errors: String
    /// Whether it was killed at its time limit.
    public let timedOut: Bool
}

/// Runs a program and waits for it, at most `limit`; then it and the processes of its group are killed.
///
/// - Parameters:
///   - program: a path, or a name looked up in PATH.
///   - input: what it reads on standard input.
///   - environment: added to, and in place of, what this process has.
///   - user: runs it as this user and group, without supplementary groups; works as root. Uses setpriv(1).
/// Throws posix_spawn's errno. Blocks the calling thread; output is kept in unnamed temporary files, so that a program that
/// leaves a daemon behind with its output open does not hold the caller up.
public func runProgram(
    _ program: String, _ arguments: [String] = [], input: String = "", environment: [String: String] = [:],
    limit: Duration = .seconds(180), user: UInt32? = nil
) throws(Errno) -> ProgramResult {
    var words = [program] + arguments
    if let user { words = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--"] + words }
    let files = try [input, "", ""].map { (text) throws(Errno) in try unnamedFile(text) }
    defer { for fd in files { close(fd) } }

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, fd) in files.enumerated() { posix_spawn_file_actions_adddup2(&actions, fd, Int32(number)) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The threads that tests run on have signals blocked, which programs would inherit.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(
        &attributes, Int16(POSIX_SPAWN_SETPGROUP | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)))

    var process: pid_t = 0
    let argv = words.map { strdup($0) } + [nil]
    let envp = inheritedEnvironment(replacing: environment).map { strdup($0) } + [nil]
    defer { for string in argv + envp { free(string) } }
    let failure = posix_spawnp(&process, words[0], &actions, &attributes, argv, envp)
    if failure != 0 { throw Errno(rawValue: failure) }

    var status: Int32 = 0
    var timedOut = false
    let end = ContinuousClock.now + limit
    while waitpid(process, &status, WNOHANG) == 0 {
        if ContinuousClock.now >= end {
            timedOut = true
            kill(-process, SIGKILL)
            waitpid(process, &status, 0)
            break
        }
        usleep(2000)
    }
    return ProgramResult(
        status: status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f, output: contents(files[1]),
        errors: contents(files[2]), timedOut: timedOut)
}

/// The path of a program of this package, next to the running test bundle.
public func builtProduct(_ name: String) -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = readlink("/proc/self/exe", &buffer, buffer.count)
    let own = String(decoding: buffer[..<max(length, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // The test runner may be a program of the toolchain: then the bundle is its argument.
    let bundle = own.hasSuffix(".xctest") ? own : CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? own
    return "\(bundle[..<(bundle.lastIndex(of: "/") ?? bundle.startIndex)])/\(name)"
}

private func unnamedFile(_ text: String) throws(Errno) -> Int32 {
    var template = Array("/tmp/quire-test.XXXXXX".utf8CString)
    let fd = mkstemp(&template)
    guard fd >= 0 else { throw Errno(rawValue: errno) }
    unlink(template)
    _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(fd, $0.baseAddress, $0.count) }
        if count < 0 { throw Errno(rawValue: errno) }
        rest = rest.dropFirst(count)
    }
    lseek(fd, 0, SEEK_SET)
    return fd
}
private func contents(_ fd: Int32) -> String {
    (try? readFile("/proc/self/fd/\(fd)")) ?? ""
}
private func inheritedEnvironment(replacing changes: [String: String]) -> [String] {
    let own = (try? readFile("/proc/self/environ")) ?? ""
    let kept = own.split(separator: "\0").filter { entry in !changes.keys.contains { entry.hasPrefix("\($0)=") } }
    return kept.map(String.init) + changes.map { "\($0)=\($1)" }
}
