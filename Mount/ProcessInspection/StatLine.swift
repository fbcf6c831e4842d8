import CLinux
import Glibc

/// What of /proc/PID/stat matters to saves (proc_pid_stat(5)).
struct StatLine {
    /// The bytes of the command's name, hashed.
    let name: UInt64
    let state: UInt8
    let parent: pid_t
    let flags: UInt32
    let threads: Int
    /// In clock ticks since boot.
    let start: UInt64
    /// Where program, stack and heap lie, hashed: each exec puts them elsewhere. Nil where it is not to be seen, for want of
    /// permission or because the memory is gone.
    let layout: UInt64?
    /// As wait(2) tells it, of the whole process. 0 without permission.
    let exitCode: Int32

    var isExiting: Bool { flags & UInt32(truncatingIfNeeded: CL_PF_EXITING) != 0 }
    /// No thread is left that could use anything.
    var isOver: Bool { threads <= 1 && (isExiting || state == UInt8(ascii: "Z") || state == UInt8(ascii: "X")) }
}

extension ProcFolder {
    /// Nil if there is no such process or thread, it is hidden, or in an exec. Some 10 µs where a system call takes 0.2 µs.
    func stat(of thread: pid_t) -> StatLine? {
        if isInExec(thread) { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
            let length = read(thread, "stat", into: buffer)
            guard length > 0 else { return nil }
            return StatLine(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
        }
    }
}

extension StatLine {
    /// `name` of a process that is called so. The kernel knows the first 15 bytes (proc_pid_comm(5)).
    static func hashedName(_ name: String) -> UInt64 {
        var bytes = Array(name.utf8.prefix(15))
        bytes.insert(UInt8(ascii: "("), at: 0)
        bytes.append(UInt8(ascii: ")"))
        return bytes.fnv1a()
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
        // A name may contain anything, ")" too.
        guard let open = bytes.firstIndex(of: UInt8(ascii: "(")), let close = bytes.lastIndex(of: UInt8(ascii: ")")),
            open < close, bytes.count > close + 2
        else { return nil }
        name = bytes[open...close].fnv1a()
        state = bytes[close + 2]
        var text = ProcText(bytes, from: close + 2)
        func next(_ text: inout ProcText, after skipped: Int) -> UInt64 {
            text.skipFields(skipped)
            return text.number()
        }
        parent = pid_t(truncatingIfNeeded: next(&text, after: 1))  // 4
        flags = UInt32(truncatingIfNeeded: next(&text, after: 5))  // 9
        threads = Int(truncatingIfNeeded: next(&text, after: 11))  // 20
        start = next(&text, after: 2)  // 22
        var layout = next(&text, after: 4)  // 26: 0 without memory, 1 without permission
        let isVisible = layout > 1
        for skipped in [1, 1, 17, 1, 1] {  // 27, 28, 45, 46, 47
            layout = (layout &* 0x100_0000_01b3) ^ next(&text, after: skipped)
        }
        self.layout = isVisible ? layout : nil
        exitCode = Int32(truncatingIfNeeded: next(&text, after: 5))  // 52
        guard text.index > 0, start > 0 || parent == 0 else { return nil }
    }
}

extension ProcFolder {
    /// Whether a process is in the middle of an exec. 4 µs.
    ///
    /// In an exec the kernel closes what is to be closed (FD_CLOEXEC) under a lock, `exec_update_lock`, that it also takes to
    /// show `stat`, `maps` and where links lead. Who waits for it while the FLUSH waits for him waits for ever. Not under it are
    /// `status`, `statm`, `comm`, `fdinfo`, the names in `fd` and their number. So this is asked before any look at the others.
    ///
    /// For the thread that a FLUSH comes from the answer stands until the FLUSH is answered. Another process may begin an exec
    /// between the answer and the scan, which then waits until another thread has answered that one's FLUSH. Nobody can wait
    /// in a circle: who is waited for has begun its exec later than who waits.
    func isInExec(_ thread: pid_t) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let length = read(thread, "statm", into: buffer)
            guard length > 0 else { return false }
            // "size resident shared text ...": memory, but no program in it yet. One that exits has no memory.
            var text = ProcText(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            guard text.number() > 0 else { return false }
            text.skipFields(3)
            return text.number() == 0
        }
    }
}
