import CLinux
public import Coordination
import Glibc

/// What a process executes, to tell later whether it has exec'd meanwhile.
public struct ProgramImage: Hashable, Sendable {
    /// It has forked from another and executes what that one did.
    let isForkOnly: Bool
    let name: UInt64
    /// Where the program lies in memory. Nil without the right to see that, and when the process has none any more.
    let layout: UInt64?
    /// Its arguments, which everybody may see. Only where `layout` is nil: a program may change them.
    let arguments: UInt64?

    /// Whether `later`, of the same process, shows an exec in between.
    ///
    /// Of a process that is dying, and has no memory any more, remain that it had not exec'd since its fork, and its name:
    /// a program that executes another of the same name is not seen then, one that changes its name counts as another.
    public func isReplaced(by later: ProgramImage) -> Bool {
        if isForkOnly, !later.isForkOnly { return true }
        if let layout, let other = later.layout { return layout != other }
        if let arguments, let other = later.arguments, arguments != other { return true }
        return name != later.name
    }
}

extension ProcessTable {
    /// What a process executes; nil if it is gone or in an exec. Some 11 µs; 15 without ptrace(2) rights on it.
    public func image(of process: SaveProcess) -> ProgramImage? {
        guard let stat = proc.stat(of: process.id), stat.start == process.start else { return nil }
        return ProgramImage(
            isForkOnly: stat.flags & UInt32(truncatingIfNeeded: CL_PF_FORKNOEXEC) != 0, name: stat.name, layout: stat.layout,
            arguments: stat.layout == nil ? arguments(of: process.id) : nil)
    }

    /// Whether a process has exec'd since `image` was taken. False if that cannot be told.
    public func hasExeced(_ process: SaveProcess, since image: ProgramImage?) -> Bool {
        guard let image, let now = self.image(of: process) else { return false }
        return image.isReplaced(by: now)
    }

    private func arguments(of process: pid_t) -> UInt64? {
        withUnsafeTemporaryAllocation(byteCount: 2048, alignment: 1) { buffer in
            let length = proc.read(process, "cmdline", into: buffer)
            return length > 0 ? buffer[..<length].fnv1a() : nil
        }
    }
}
