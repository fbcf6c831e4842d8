import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import Synchronization

/// One OPEN or CREATE, until its RELEASE.
final class FileHandle: Sendable {
    /// What an open was decided to be.
    struct Decision: Sendable {
        /// What the document's saves call it.
        var save = SaveHandle(0)
        /// Why it writes in place; nil if it does not: it only reads, or works on a working copy.
        var reason: LiveReason?
        /// Its descriptor is no means to read or write its node's file: it is another version's, or nothing is read or written by it.
        var isElsewhere = false
        /// The part of its caller's share that its content takes.
        var share: TakenShare?
        /// The working copy it was opened on.
        var version: WorkingVersion?
        /// It writes that by another version's node.
        var hosted: HostedWriting?
        /// A relay has opened it to write.
        var isRelays = false
        /// The same, without O_TRUNC.
        var isRelayed: Bool { isRelays && reason == .notTruncating }
    }

    /// A save that began on an open handle, or on another one of its process.
    private final class LaterSave: Sendable {
        let version: WorkingVersion
        let hosted: HostedWriting?

        init(_ version: WorkingVersion, _ hosted: HostedWriting?) { (self.version, self.hosted) = (version, hosted) }
    }

    let node: Node
    let flags: Int32
    let caller: Caller
    /// When it was opened, in nanoseconds on the monotonic clock.
    let moment = cl_monotonic_ns()
    /// The file when it was opened, to tell at the end whether anything was written: under passthrough the daemon sees no writes.
    let before: cl_status?
    /// The document as it was when its writing was last told of by a close. Leaf.
    let told = Mutex<Node.Seen?>(nil)
    /// It counts among the opens of its node's backing.
    let hasBacking: Bool
    /// The file as it was opened, if the kernel drops the pages it has of it with this open.
    private let refreshed: Node.Seen?
    private let isRefreshing: Atomic<Bool>
    let isNew: Bool
    /// Every read and write comes to the daemon, and none goes by the kernel's pages: it can be led to another file.
    let isDirect: Bool
    /// It reads by the kernel's pages of its node.
    let isCached: Bool
    let decision: Decision
    private let later = AtomicLazyReference<LaterSave>()
    /// The working copy of a save that began after it was opened (`SaveService.beginOnHandle`).
    var laterVersion: WorkingVersion? { later.load()?.version }
    /// Opened by a relay without O_TRUNC, for one of its clients, and not written by yet (`OpenRequest.isUnused`).
    let isUnused: Atomic<Bool>
    /// It counts for its caller.
    let isCounted = Atomic<Bool>(false)
    /// A FLUSH has come since the daemon last saw it used.
    let isFlushed = Atomic<Bool>(false)

    private let opened: Descriptor
    /// Another file to read and write from now on, and its node: the document's own, when a save was published in place.
    private let other = Mutex<(file: Descriptor, node: Node)?>(nil)
    /// Its RELEASE has come. Changes with `other` held.
    private let isEnded = Atomic<Bool>(false)
    private let isRedirected = Atomic<Bool>(false)

    init(
        node: Node, descriptor: Descriptor, flags: Int32, caller: Caller, before: cl_status?, mode: OpenMode,
        refreshed: Node.Seen?, isNew: Bool, decision: Decision
    ) {
        self.node = node
        opened = descriptor
        self.flags = flags
        self.caller = caller
        self.before = before
        hasBacking = mode.backing != nil
        if case .direct = mode { isDirect = true } else { isDirect = false }
        if case .cached = mode { isCached = true } else { isCached = false }
        self.refreshed = refreshed
        isRefreshing = Atomic(refreshed != nil)
        self.isNew = isNew
        self.decision = decision
        // With a backing a mapping is of that file, and nothing tells of what is stored by it.
        isUnused = Atomic(decision.isRelayed && isDirect && mode.backing == nil)
    }

    /// The working copy that it was opened on, or that it writes since a save began on it.
    var version: WorkingVersion? { decision.version ?? laterVersion }

    /// Its descriptor is no means to read or write its node's file.
    var isElsewhere: Bool { decision.isElsewhere || laterVersion.map { $0.node !== node } ?? false }

    /// A save begins on it.
    func saves(to version: WorkingVersion, _ hosted: HostedWriting? = nil) { _ = later.storeIfNil(LaterSave(version, hosted)) }

    var descriptor: Descriptor {
        guard isRedirected.load(ordering: .acquiring) else { return opened }
        return other.withLock { $0?.file } ?? opened
    }

    /// The node's own file, wherever reads and writes go by now. Nil for a handle that was opened on another version's.
    var ownFile: Descriptor? { decision.isElsewhere ? nil : opened }

    /// The file as it was opened, to whoever asks first. One atomic load if there is nothing to take.
    func takeRefreshed() -> Node.Seen? {
        guard isRefreshing.load(ordering: .relaxed), isRefreshing.exchange(false, ordering: .relaxed) else { return nil }
        return refreshed
    }

    /// Reads and writes go to the file of another node from now on, which is told while that lasts.
    func redirect(to descriptor: Descriptor, of node: Node) {
        // Before: whoever ends the redirection takes it off again.
        node.state.withLock {
            $0.unheardWriters += 1
            $0.pages = nil
        }
        let left = other.withLock { other -> Node? in
            if isEnded.load(ordering: .relaxed) { return node }
            defer { other = (descriptor, node) }
            isRedirected.store(true, ordering: .releasing)
            return other?.node
        }
        left.map(Self.leave)
    }

    /// What was written to the file of another node is not in the kernel's pages of that one.
    private static func leave(_ node: Node) {
        node.state.withLock {
            $0.unheardWriters -= 1
            $0.pages = nil
        }
    }

    /// The node whose file it reads and writes; nil if that is its own.
    var redirectedTo: Node? { isRedirected.load(ordering: .acquiring) ? other.withLock { $0?.node } : nil }

    /// The node whose file it reads and writes.
    var served: Node { redirectedTo ?? version?.node ?? node }

    /// At its RELEASE.
    func endRedirection() {
        let left = other.withLock { other in
            isEnded.store(true, ordering: .relaxed)
            return other?.node
        }
        left.map(Self.leave)
    }

    /// The file may change with no request on its node: a store through a mapping is not heard of, and by a grant it has another inode.
    var mayBeMappedForWriting: Bool { flags & O_ACCMODE == O_RDWR || isWritable && caller.view != 0 }

    /// Opened for writing while it had set-ID bits: who writes decides whether they stay, so every write comes to the daemon.
    var hadSetIDBits: Bool { isWritable && (before?.st.st_mode ?? 0) & (S_ISUID | S_ISGID) != 0 }

    var isWritable: Bool { flags & O_ACCMODE != O_RDONLY }

    private static let numbers = Atomic<UInt64>(1)

    /// A name for a handle that is about to be made.
    static var nextSaveHandle: SaveHandle { SaveHandle(numbers.wrappingAdd(1, ordering: .relaxed).newValue) }

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
