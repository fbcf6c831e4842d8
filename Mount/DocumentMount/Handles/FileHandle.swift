import CLinux
import FuseKernel
import Glibc
import StorePrimitives

/// One OPEN or CREATE, until its RELEASE.
final class FileHandle: Sendable {
    let node: Node
    let descriptor: Descriptor
    let flags: Int32
    let caller: Caller
    /// Size and times when a writable handle was opened, to tell at the end whether anything was written: under passthrough
    /// the daemon sees no writes.
    let before: cl_status?
    let usesPassthrough: Bool
    let isNew: Bool

    init(
        node: Node, descriptor: Descriptor, flags: Int32, caller: Caller, before: cl_status?, usesPassthrough: Bool, isNew: Bool
    ) {
        self.node = node
        self.descriptor = descriptor
        self.flags = flags
        self.caller = caller
        self.before = before
        self.usesPassthrough = usesPassthrough
        self.isNew = isNew
    }

    /// Opened for writing while it had set-ID bits: who writes decides whether they stay, so every write comes to the daemon.
    var hadSetIDBits: Bool { isWritable && (before?.st.st_mode ?? 0) & (S_ISUID | S_ISGID) != 0 }

    var isWritable: Bool { flags & O_ACCMODE != O_RDONLY }

    /// The number the kernel keeps: the object's address, with a reference that `consume` gives up.
    func handedToKernel() -> HandleID {
        HandleID(UInt64(UInt(bitPattern: Unmanaged.passRetained(self).toOpaque())))
    }

    /// For ids out of a request: the kernel names no handle after its RELEASE.
    static func of(_ id: HandleID) -> FileHandle {
        Unmanaged<FileHandle>.fromOpaque(UnsafeRawPointer(bitPattern: UInt(id.rawValue))!).takeUnretainedValue()
    }

    static func consume(_ id: HandleID) -> FileHandle {
        Unmanaged<FileHandle>.fromOpaque(UnsafeRawPointer(bitPattern: UInt(id.rawValue))!).takeRetainedValue()
    }
}
