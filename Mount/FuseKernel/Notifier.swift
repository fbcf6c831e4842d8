internal import CFuse
internal import Glibc
internal import StorePrimitives
internal import Synchronization

/// Tells the kernel what changed behind its back, from a thread of its own: an invalidation of a name waits for the folder's
/// lock in the kernel, which an operation that waits for the daemon may hold.
public final class Notifier: @unchecked Sendable {
    private enum Notice {
        case entry(NodeID, [UInt8])
        case contents(NodeID)
    }
    private struct State {
        var queue: [Notice] = []
        var stopped = false
    }
    private let session: OpaquePointer
    private let state = Mutex(State())
    private let wake = Signal()
    /// Nil once it has ended.
    private let thread = Mutex<NamedThread?>(nil)

    init(_ session: OpaquePointer) {
        self.session = session
        thread.withLock { $0 = NamedThread("quire-notify") { [unowned self] in run() } }
    }

    /// The name may stand for something else now, or for nothing.
    public func entryChanged(in folder: NodeID, name: some Sequence<UInt8>) {
        enqueue(.entry(folder, Array(name)))
    }

    /// Attributes, and what the kernel kept of the content or of a folder's listing.
    public func contentsChanged(of node: NodeID) { enqueue(.contents(node)) }

    /// Attributes only. Takes no lock in the kernel: called at once, on any thread.
    public func attributesChangedNow(of node: NodeID) {
        fuse_lowlevel_notify_inval_inode(session, node.rawValue, -1, 0)
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
        case .entry(let folder, let name):
            _ = name.withUnsafeBytes {
                fuse_lowlevel_notify_inval_entry(
                    session, folder.rawValue, $0.baseAddress?.assumingMemoryBound(to: CChar.self), name.count)
            }
        case .contents(let node): fuse_lowlevel_notify_inval_inode(session, node.rawValue, 0, 0)
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
