import CLinux
public import Coordination
import Glibc
import StorePrimitives

/// A process of which can be told how it ended, also when nothing is left of it in /proc (pidfd_open(2)). Takes a descriptor.
public struct HeldProcess: Sendable {
    let process: SaveProcess
    let descriptor: Descriptor

    /// Whether no thread of it is left. 0.2 µs.
    public var hasEnded: Bool {
        var ready = pollfd(fd: descriptor.number, events: Int16(truncatingIfNeeded: POLLIN), revents: 0)
        return poll(&ready, 1, 0) == 1
    }
}

extension ProcessTable {
    /// A process that waits for the answer to its request, so that its number is its own. Nil if it was killed. 3 µs.
    public func hold(asking process: SaveProcess) -> HeldProcess? {
        let number = cl_pidfd_open(process.id)
        return number >= 0 ? HeldProcess(process: process, descriptor: Descriptor(owning: number)) : nil
    }

    /// How a process ends or has ended; `.none` also while it goes on. Unknown once it was waited for, before Linux 6.15.
    public func end(of held: HeldProcess) -> Death {
        if let death = end(ofReaped: held) { return death }
        // As long as nobody has waited for it, its number is its own.
        let death = death(of: held.process.id)
        if case .killed = death, current(held.process.id).map({ $0 == held.process }) ?? true { return death }
        // It may have been waited for meanwhile.
        return end(ofReaped: held) ?? (cl_is_process(held.process.id) == 0 ? .unknown : death)
    }

    private func end(ofReaped held: HeldProcess) -> Death? {
        var status: Int32 = 0
        guard cl_pidfd_end(held.descriptor.number, &status) == 0 else { return nil }
        return status & 0x7f == 0 ? Death.none : .killed(status & 0x7f)
    }
}
