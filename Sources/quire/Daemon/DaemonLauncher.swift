import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Starts the daemon of a mount in the background and waits until it serves.
enum DaemonLauncher {
    /// How long a daemon may take until its mount answers, as systemd gives a service (DefaultTimeoutStartSec): opening a large index takes
    /// longest, and at boot the processors are others'.
    private static let timeout = Duration.seconds(90)
    private static let graceTime = Duration.seconds(2)
    private static let readyNumber: Int32 = 3

    /// Runs this program again with `arguments` as a daemon: own session, no terminal, messages to `log`. Returns its
    /// process id once it has reported that it serves. Throws what it reported otherwise.
    ///
    /// - Parameter onStart: called with the process id before the wait.
    static func start(
        _ arguments: [[UInt8]], log path: String, onStart: (pid_t) -> Void = { _ in }
    ) throws(CommandFailure) -> pid_t {
        let log = try openLog(path)
        let pid: pid_t
        let reading: Descriptor
        do {
            let ends = try ChildProcess.pipe()
            reading = ends.reading
            pid = try ChildProcess.spawn(
                "/proc/self/exe", named: "quire", arguments + ["--ready-fd", "\(readyNumber)"].map { Array($0.utf8) },
                environment: ChildProcess.inherited,
                connecting: [(log, STDOUT_FILENO), (log, STDERR_FILENO), (ends.writing, readyNumber)], newSession: true)
        } catch {
            throw CommandFailure("the daemon cannot be started: \(error)")
        }
        onStart(pid)
        guard let message = message(from: reading) else {
            let daemon = ProcessEnd(of: pid)
            kill(pid, SIGTERM)
            // It takes signals only once it serves.
            if daemon?.happens(within: Self.graceTime) != true { kill(pid, SIGKILL) }
            throw CommandFailure(
                "the daemon did not serve within \(timeout.components.seconds) s and was ended; see \(path)")
        }
        if message == ReadyMessage.ready { return pid }
        let status = try? ChildProcess.wait(for: pid)
        guard message.isEmpty else { throw CommandFailure(message) }
        let end = status.map { DeadDaemon.words($0 > 128 ? $0 - 128 : $0 << 8) } ?? "nobody knows of what"
        throw CommandFailure("the daemon ended before it served: \(end); see \(path)")
    }

    private static func openLog(_ path: String) throws(CommandFailure) -> Descriptor {
        var status = stat()
        if stat(path, &status) == 0, status.st_size > DaemonLog.longest { rename(path, path + ".old") }
        do {
            return try Descriptor(opening: path, flags: O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
        } catch {
            throw CommandFailure("\(path): \(error); the state folder must be writable")
        }
    }

    /// What the daemon reported, without the newline; empty if it ended without a word, nil if there is nothing in time.
    private static func message(from pipe: Descriptor) -> String? {
        let deadline = ContinuousClock.now + timeout
        var message: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let left = deadline - .now
            guard left > .zero else { return nil }
            var request = pollfd(fd: pipe.number, events: Int16(truncatingIfNeeded: POLLIN), revents: 0)
            guard poll(&request, 1, Int32(clamping: left.components.seconds * 1000 + 999)) > 0 else { continue }
            let count = cl_read(pipe.number, &chunk, chunk.count)
            if count > 0 { message += chunk[..<count] }
            if count <= 0 || message.last == UInt8(ascii: "\n") {
                if message.last == UInt8(ascii: "\n") { message.removeLast() }
                return String(decoding: message, as: UTF8.self)
            }
        }
    }
}
