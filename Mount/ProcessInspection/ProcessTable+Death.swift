import CLinux
public import Coordination
import Glibc

extension ProcessTable {
    /// How the thread ends that a FLUSH comes from. 16 µs; more only for one that is killed and may not be looked at.
    public func death(of thread: pid_t) -> Death {
        guard thread > 0 else { return .unknown }
        if proc.isInExec(thread) { return .none }
        guard let stat = proc.stat(of: thread) else { return .unknown }
        // The exit code of a process may be set already while this thread still closes something of its own will.
        guard stat.isExiting else { return .none }
        let signal = stat.exitCode & 0x7f
        if signal != 0 { return .killed(signal) }
        // A thread that another's exit() takes along is killed, too: then the code of the process tells, if it is shown.
        guard stat.flags & UInt32(truncatingIfNeeded: CL_PF_SIGNALED) != 0, !showsExitCode(thread) else { return .none }
        return pendingDeath(of: thread, hasDumped: stat.flags & UInt32(truncatingIfNeeded: CL_PF_DUMPCORE) != 0)
    }

    /// Whether field 52 of its stat is to be believed. Nothing is opened: of a link that may not be read the kernel says so, of
    /// the program of a process without memory that there is none.
    private func showsExitCode(_ thread: pid_t) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { buffer in
            let result = ProcFolder.withPath(thread, "exe") {
                cl_readlinkat(proc.folder.number, $0, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), 16)
            }
            return result != -Int(EACCES) && result != -Int(EPERM)
        }
    }

    /// The death of a thread that was killed by something, where the exit code is not shown.
    ///
    /// A fatal signal sent to a process stays pending, which everybody may see. A crash leaves none; nor does exit() by another
    /// thread: if that is the first one, it is still there to tell, for it was not killed. What remains counts as killed.
    private func pendingDeath(of thread: pid_t, hasDumped: Bool) -> Death {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let length = proc.read(thread, "status", into: buffer)
            guard length > 0 else { return .killed(nil) }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<length])
            var text = ProcText(bytes)
            var id: pid_t = 0
            if text.find("Tgid:") { id = pid_t(truncatingIfNeeded: text.number()) }
            var signals = PendingSignals()
            text = ProcText(bytes)
            if text.find("SigPnd:") { signals.own = text.number(base: 16) }
            text = ProcText(bytes)
            if text.find("ShdPnd:") { signals.shared = text.number(base: 16) }
            text = ProcText(bytes)
            if text.find("SigBlk:") { signals.blocked = text.number(base: 16) }
            if let signal = signals.fatal { return .killed(signal) }
            if !hasDumped, id != thread, let first = proc.stat(of: id), first.isExiting,
                first.flags & UInt32(truncatingIfNeeded: CL_PF_SIGNALED) == 0
            {
                return .none
            }
            return .killed(nil)
        }
    }
}

/// Of a thread and its process, as in /proc/PID/status: the lowest bit is signal 1.
struct PendingSignals {
    var own: UInt64 = 0
    var shared: UInt64 = 0
    var blocked: UInt64 = 0

    /// The signal that ends the process. It may have waited blocked, while something else did.
    var fatal: Int32? {
        let pending = (own | shared) & ~blocked
        // KILL before others, as the kernel has it.
        return ([SIGKILL] + Death.mildSignals).first { pending >> UInt64(clamping: $0 - 1) & 1 != 0 }
    }
}
