public import CLinux
import Glibc

/// What /proc/PID/stat tells of a process or thread (proc_pid_stat(5)). Some 20 µs: never on the hot path. To read it may take as long as
/// the process likes: see `ProcessStatus`, which is for other users' processes.
public struct ProcessStat: Sendable {
    /// The name of its first thread.
    public let name: String
    /// Of its first thread, or of the thread that was asked for: R runnable, D waiting for a disk, a file system or a lock, and others.
    public let state: Character
    /// Its first thread runs no more, and its parent has not asked about it.
    public let hasEnded: Bool
    /// Its first thread is ending, or has: it runs its program no more.
    public let isExiting: Bool
    public let parent: pid_t
    public let nice: Int
    /// When it was started, in clock ticks since boot: with its number it tells it apart from all others.
    public let start: UInt64

    /// As waitpid(2) tells it, if it has ended and the caller may know.
    public let exitStatus: Int32?

    /// Nil if the process is gone or not to be seen.
    public init?(of process: pid_t) {
        guard let file = try? Descriptor(opening: "/proc/\(process)/stat", flags: O_RDONLY) else { return nil }
        // Numbers, and a name of 63 bytes at most.
        let text = withUnsafeTemporaryAllocation(byteCount: 2_048, alignment: 1) { buffer in
            String(decoding: buffer.prefix(max(0, cl_read(file.number, buffer.baseAddress, buffer.count))), as: UTF8.self)
        }
        // The name may hold parentheses.
        guard let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: close)...].split { $0 == " " || $0 == "\n" }
        guard fields.count > 19, let parent = pid_t(fields[1]), let nice = Int(fields[16]), let start = UInt64(fields[19])
        else { return nil }
        name = String(text[text.index(after: open)..<close])
        state = fields[0].first ?? "?"
        hasEnded = state == "Z" || state == "X"
        isExiting = hasEnded || UInt32(fields[6]).map { $0 & UInt32(truncatingIfNeeded: CL_PF_EXITING) != 0 } ?? false
        self.parent = parent
        self.nice = nice
        self.start = start
        exitStatus = hasEnded && fields.count > 49 ? Int32(fields[49]) : nil
    }
}
