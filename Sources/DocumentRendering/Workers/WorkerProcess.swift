import CLinux
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage
import WorkerProtocol

/// A worker in its sandbox: answers one request at a time. To be used by the thread that started it, with which it ends; `kill` is
/// for any thread.
final class WorkerProcess: Sendable {
    enum Answer {
        case reply(WorkReply)
        /// It ended: by a signal, a limit, or because it never began. With what it said last, for a person.
        case died(String)
        case outOfTime
    }

    /// Whose documents it reads; nil if they are of several.
    let owner: uid_t?
    private let channel: Descriptor
    private let errors: Descriptor
    /// 0 once it was waited for.
    private let pid: Mutex<pid_t>

    /// Starts it. Throws .noSuchFileOrDirectory where bubblewrap is not installed, else posix_spawn's errno.
    init(_ sandbox: Sandbox, for owner: uid_t?) throws(Errno) {
        guard Sandbox.isInstalled else { throw .noSuchFileOrDirectory }
        var ends: (Int32, Int32) = (-1, -1)
        _ = try check(withUnsafeMutablePointer(to: &ends) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) { cl_message_channel($0) }
        })
        channel = Descriptor(owning: ends.0)
        let far = Descriptor(owning: ends.1)
        let (reading, writing) = try ChildProcess.pipe()
        errors = reading
        // What nobody reads is dropped, and holds nobody up.
        _ = fcntl(writing.number, F_SETFL, O_NONBLOCK)
        _ = fcntl(reading.number, F_SETFL, O_NONBLOCK)
        let command = sandbox.command
        let child = try ChildProcess.spawn(
            command[0], command.dropFirst().map { Array($0.utf8) }, environment: ChildProcess.inherited,
            connecting: [(writing, STDOUT_FILENO), (writing, STDERR_FILENO), (far, WorkLimits.channel)], newSession: true)
        pid = Mutex(child)
        self.owner = owner
    }

    deinit { end() }

    /// Has it carry out a request. - Parameter seconds: how long it may take in all.
    func ask(_ request: WorkRequest, output: Descriptor, inputs: [Descriptor], seconds: Int) -> Answer {
        let message = request.message
        guard message.count <= WorkLimits.message else { return .died("the command line is too long") }
        let numbers = [output.number] + inputs.map(\.number)
        guard cl_send_message(channel.number, message, message.count, numbers, Int32(clamping: numbers.count)) == 0 else { return .died(lastWords) }
        var bytes = [UInt8](repeating: 0, count: WorkLimits.message)
        var (none, count) = (Int32(-1), Int32(0))
        let length = cl_receive_message(channel.number, &bytes, bytes.count, &none, &count, Int32(clamping: seconds * 1_000))
        if length == -ETIMEDOUT { return .outOfTime }
        guard length > 0, let reply = WorkReply(message: Array(bytes.prefix(Int(length)))) else { return .died(lastWords) }
        return .reply(reply)
    }

    /// Ends it, and with it all that was started in its sandbox, at once.
    func kill() {
        pid.withLock { pid in
            if pid > 0 { Glibc.kill(pid, SIGKILL) }
        }
    }

    private func end() {
        kill()
        pid.withLock { pid in
            if pid > 0 { _ = try? ChildProcess.wait(for: pid) }
            pid = 0
        }
    }

    private var lastWords: String {
        var bytes = [UInt8](repeating: 0, count: 2_000)
        let count = read(errors.number, &bytes, bytes.count)
        guard count > 0 else { return "the worker was ended while it drew it" }
        let lines = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n")
        return lines.last.map { "the worker ended: \(Fact.plain(String($0)))" } ?? "the worker ended"
    }
}
