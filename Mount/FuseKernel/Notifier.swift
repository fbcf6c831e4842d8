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
    private var thread: NamedThread!

    init(_ session: OpaquePointer) {
        self.session = session
        thread = NamedThread("quire-notify") { [unowned self] in run() }
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
        state.withLock { $0.queue.append(notice) }
        wake.signal()
    }

    private func run() {
        while true {
            wake.wait()
            let (batch, stopped) = state.withLock { state in
                defer { state.queue.removeAll() }
                return (state.queue, state.stopped)
            }
            for notice in batch { send(notice) }
            if stopped { return }
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

    func stop() {
        state.withLock { $0.stopped = true }
        wake.signal()
        thread.join()
    }
}
