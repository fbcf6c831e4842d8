import CLinux
import StorePrimitives

/// Waits for a process that is no child of this one. A new process with the same number is not taken for it.
struct ProcessEnd {
    private let process: Descriptor

    /// Nil if there is no such process.
    init?(of pid: Int32) {
        let number = cl_pidfd_open(pid)
        guard number >= 0 else { return nil }
        process = Descriptor(owning: number)
    }

    /// Whether the last of its threads ends before `limit`; until then it has files open.
    func happens(within limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        while true {
            let rest = deadline - ContinuousClock.now
            let milliseconds = max(0, Int32(clamping: rest.components.seconds * 1_000 + rest.components.attoseconds / 1_000_000_000_000_000))
            // 0 after a signal too.
            let ready = cl_wait_any([process.number], 1, 0, milliseconds)
            guard ready == 0 else { return ready > 0 }
            guard milliseconds > 0 else { return false }
        }
    }
}
