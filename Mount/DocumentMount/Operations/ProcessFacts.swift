import CLinux
import Glibc
import StorePrimitives

/// What /proc tells of a process or thread. Never on the hot path.
enum ProcessFacts {
    /// Whether a thread is in an open(2) just now (proc(5), syscall). False if that is not to be seen: it takes the right to trace it.
    static func isOpening(_ thread: pid_t) -> Bool { call(of: thread).map { cl_opens_file($0) != 0 } ?? false }

    /// Whether it is in a read(2), likewise.
    static func isReading(_ thread: pid_t) -> Bool { call(of: thread).map { cl_reads_file($0) != 0 } ?? false }

    private static func call(of thread: pid_t) -> Int? {
        guard thread > 0 else { return nil }
        return read("/proc/\(thread)/syscall")?.split(separator: " ").first.flatMap { Int($0) }
    }

    /// Whether it has a processor, or waits for one, for a page that is being read, or for a FUSE request (proc(5), wchan): not if it
    /// sleeps, or waits for a lock. What a thread waits for is not to be seen without the right to trace it; then for neither.
    static func isUnderWay(_ thread: pid_t) -> Bool {
        guard let status = ProcessStatus(of: thread) else { return false }
        switch status.state {
        case "R": return true
        // The answer to a FUSE request is waited for interruptibly at first (fs/fuse/dev.c, request_wait_answer).
        case "D", "S": return read("/proc/\(thread)/wchan").map { $0.hasPrefix("folio_wait") || $0 == "request_wait_answer" } ?? false
        default: return false
        }
    }

    /// Whether a signal is on its way that ends the thread: the kernel sends SIGKILL then, whichever it was (proc(5), SigPnd).
    static func isBeingKilled(_ thread: pid_t) -> Bool {
        guard thread > 0, let text = read("/proc/\(thread)/status") else { return true }
        return text.split(separator: "\n").contains { line in
            guard line.hasPrefix("SigPnd:") || line.hasPrefix("ShdPnd:"),
                let pending = UInt64(line.dropFirst(7).drop { $0 == " " || $0 == "\t" }, radix: 16)
            else { return false }
            return pending & 1 << (UInt64(truncatingIfNeeded: SIGKILL) - 1) != 0
        }
    }

    /// The process's name as ps shows it; nil if it is gone.
    static func name(of process: pid_t) -> String? {
        read("/proc/\(process)/comm").map { String($0.dropLast($0.hasSuffix("\n") ? 1 : 0)) }
    }

    /// The whole file: a process may have 65,536 groups. Nil if it is empty or an error came in between.
    private static func read(_ path: String) -> String? {
        guard let text = try? WholeFile.read(path), !text.isEmpty else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}
