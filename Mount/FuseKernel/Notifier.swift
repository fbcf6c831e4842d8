internal import CFuse
internal import Glibc
internal import StorePrimitives
internal import Synchronization

/// Tells the kernel what changed behind its back, from a thread of its own: an invalidation of a name waits for the folder's
/// lock in the kernel, which an operation that waits for the daemon may hold.
public final class Notifier: @unchecked Sendable {
    private enum Notice {
        case entry(NodeID, [UInt8])
        case entryAwaited(NodeID, [UInt8], Signal)
        case contents(NodeID)
        case contentsAwaited(NodeID, Signal)
    }
    private struct State {
        var queue: [Notice] = []
        var stopped = false
    }
    private let session: OpaquePointer
    private let channel: KernelChannel
    private let state = Mutex(State())
    private let wake = Signal()
    /// Nil once it has ended.
    private let thread = Mutex<NamedThread?>(nil)

    init(_ session: OpaquePointer, _ channel: KernelChannel) {
        self.session = session
        self.channel = channel
        thread.withLock { $0 = NamedThread("quire-notify") { [unowned self] in run() } }
    }

    /// The name may stand for something else now, or for nothing.
    public func entryChanged(in folder: NodeID, name: some Sequence<UInt8>) {
        enqueue(.entry(folder, Array(name)))
    }

    /// The same, waiting until the kernel has done it, for `seconds` at most: it may have to wait for a request that holds the
    /// folder's lock.
    public func entryChanged(in folder: NodeID, name: some Sequence<UInt8>, waitingAtMost seconds: Double) {
        let done = Signal()
        enqueue(.entryAwaited(folder, Array(name), done))
        done.wait(seconds: seconds)
    }

    /// Attributes, and what the kernel kept of the content or of a folder's listing.
    public func contentsChanged(of node: NodeID) { enqueue(.contents(node)) }

    /// Has the kernel write out what apps have stored through mappings, and waits until it has, for `seconds` at most.
    public func bringStoresHome(of node: NodeID, waitingAtMost seconds: Double) {
        let done = Signal()
        enqueue(.contentsAwaited(node, done))
        done.wait(seconds: seconds)
    }

    /// Attributes only. Takes no lock in the kernel: called at once, on any thread.
    public func attributesChangedNow(of node: NodeID) {
        fuse_lowlevel_notify_inval_inode(session, node.rawValue, -1, 0)
    }

    /// Gives the kernel a file's content from its beginning, as if it had read it: called at once, on any thread, inside
    /// requests too. The kernel waits for pages that are being read: only for a file of which no READ can be on its way. Old pages
    /// are replaced, but none beyond the content. False if the kernel did not take it.
    public func storeNow(_ content: UnsafeRawBufferPointer, of node: NodeID) -> Bool {
        quire_store(session, node.rawValue, content.baseAddress, content.count) == 0
    }

    /// Has the kernel ask again for every name it knows, each when it is used next. Takes no lock in the kernel: called at once,
    /// on any thread, inside requests too. False before Linux 6.16, which has no such notice.
    public func everyNameChangedNow() -> Bool {
        var header = quire_out_header()
        header.len = UInt32(clamping: MemoryLayout<quire_out_header>.size)
        header.error = QUIRE_FUSE_NOTIFY_INC_EPOCH
        return write(fuse_session_fd(session), &header, MemoryLayout<quire_out_header>.size) > 0
    }

    private func enqueue(_ notice: Notice) {
        state.withLock { if !$0.stopped { $0.queue.append(notice) } }
        wake.signal()
    }

    private func run() {
        while true {
            wake.wait()
            let batch = state.withLock { state in
                defer { state.queue.removeAll() }
                return state.queue
            }
            for notice in batch where !state.withLock({ $0.stopped }) { send(notice) }
            if state.withLock({ $0.stopped }) { return }
        }
    }

    private func send(_ notice: Notice) {
        // ENOENT answers whatever the kernel does not know: nothing to forget, nothing to report.
        switch notice {
        case .entry(let folder, let name): sendEntry(folder, name)
        case .entryAwaited(let folder, let name, let done):
            sendEntry(folder, name)
            done.signal()
        case .contents(let node): fuse_lowlevel_notify_inval_inode(session, node.rawValue, 0, 0)
        case .contentsAwaited(let node, let done):
            fuse_lowlevel_notify_inval_inode(session, node.rawValue, 0, 0)
            done.signal()
        }
    }

    private func sendEntry(_ folder: NodeID, _ name: [UInt8]) {
        // Requests that came by a ring are handed out to nobody else when this process dies (`AbandonedConnection`), and only root can
        // always end the connection: this thread may then not wait for a folder's lock that an app holds.
        if channel.ringsGranted, geteuid() != 0, everyNameChangedNow() { return }
        _ = name.withUnsafeBytes {
            fuse_lowlevel_notify_inval_entry(
                session, folder.rawValue, $0.baseAddress?.assumingMemoryBound(to: CChar.self), name.count)
        }
    }

    /// Waits for the notice on its way and sends no more. Requests must still be answered, or the connection be gone: the
    /// kernel may hold the notice up until then. Again: does nothing.
    func stop() {
        state.withLock { $0.stopped = true }
        wake.signal()
        thread.withLock { $0.take()?.join() }
    }
}
