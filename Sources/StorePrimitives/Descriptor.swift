internal import CLinux
import Synchronization
public import SystemPackage

/// An open file descriptor, closed when the last reference goes. Shared between a node, its handles and calls under way, so
/// that closing (a removal from the descriptor cache, say) never meets a call that still uses the number.
public final class Descriptor: Sendable {
    /// Valid while the object lives. Bind the object to a constant first: a temporary is gone, and its number closed, before
    /// the system call is made.
    public let number: Int32
    /// The raw value of `mountKind`, once that was asked for.
    private let knownKind = Atomic<UInt8>(0)

    /// Takes over an open descriptor.
    public init(owning number: Int32) {
        precondition(number >= 0, "not an open descriptor: \(number)")
        self.number = number
    }

    /// Members go after `deinit`.
    deinit { _ = cl_close(number) }

    private final class Companion: Sendable {
        let object: any AnyObject & Sendable

        init(_ object: any AnyObject & Sendable) { self.object = object }
    }
    private let companion = AtomicLazyReference<Companion>()

    /// Keeps an object until the descriptor has been closed. One at most: the first.
    public func keepUntilClosed(_ object: any AnyObject & Sendable) { _ = companion.storeIfNil(Companion(object)) }

    /// The kind of the mount that the file is on. Two system calls the first time, then a load. No server is asked.
    public var mountKind: MountKind {
        if let known = MountKind(rawValue: knownKind.load(ordering: .relaxed)) { return known }
        var id: UInt64 = 0
        let kind = cl_mount_id(number, &id) == 0 ? MountKinds.current.kind(ofMount: id) : .served
        knownKind.store(kind.rawValue, ordering: .relaxed)
        return kind
    }
}

/// Turns `-errno` into a thrown error and anything else into the call's result.
@inlinable
public func check<Integer: SignedInteger>(_ result: Integer) throws(Errno) -> Integer {
    if result < 0 { throw Errno(rawValue: CInt(-result)) }
    return result
}
