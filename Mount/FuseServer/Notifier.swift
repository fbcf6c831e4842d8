internal import CFuse
internal import Glibc
internal import StorePrimitives
internal import Synchronization

/// Tells the kernel what changed behind its back, from a thread of its own: an invalidation of a name waits for the folder's
/// lock in the kernel, which an operation that waits for the daemon may hold. It is left to a process where that can be done
/// (`FileSystemOperations.forget`), since a thread that waits there keeps the device open after the daemon's death.
public final class Notifier: @unchecked Sendable {
    public typealias Done = @Sendable () -> Void

    private struct State {
        var queue = NoticeQueue<Done>()
        /// The kernel is too old to be told of all names at once.
        var tellsEachName = false
        var stopped = false
    }
    private let session: OpaquePointer
    private let fileSystem: any FileSystemOperations
    private let state = Locked(State())
    private let loop = LoopThread()

    init(_ session: OpaquePointer, _ fileSystem: any FileSystemOperations) {
        self.session = session
        self.fileSystem = fileSystem
        loop.start("quire-notify") { [unowned self] in run() }
    }

    /// The name may stand for something else now, or for nothing.
    ///
    /// - Parameters:
    ///   - path: the folder's, below the mount's root; nil if it has none. Called on the notifier's thread.
    ///   - done: called on the notifier's thread when the kernel has been told, which may have had to wait for requests that hold the
    ///     folder's lock; not called if the session ends before.
    public func entryChanged(in folder: NodeID, name: [UInt8], path: @escaping @Sendable () -> [UInt8]?, done: Done? = nil) {
        enqueue(.entry(folder, name), path, done)
    }

    /// Attributes, and what the kernel kept of a folder's listing or of a link.
    public func contentsChanged(of node: NodeID) { enqueue(.contents(node)) }

    /// The same of a regular file's content. What apps have stored through mappings is written out first.
    ///
    /// - Parameters:
    ///   - path: the file's, as for `entryChanged`.
    ///   - seconds: waits until the kernel has done it, for so long at most.
    public func contentsChanged(
        ofFile node: NodeID, path: @escaping @Sendable () -> [UInt8]?, waitingAtMost seconds: Double? = nil
    ) {
        _ = waiting(atMost: seconds) { (done: Done?) in enqueue(.fileContents(node), path, done) }
    }

    /// Enqueues notices by `body` and waits until the one that is given the closure is done.
    ///
    /// - Parameter seconds: waits for so long at most; nil: not at all.
    /// - Returns: whether it is known to be done.
    public func waiting(atMost seconds: Double?, _ body: (Done?) -> Void) -> Bool {
        guard let seconds else {
            body(nil)
            return false
        }
        let signal = Signal()
        body { signal.signal() }
        return signal.wait(seconds: seconds)
    }

    /// Attributes only. Takes no lock in the kernel: called at once, on any thread.
    public func attributesChangedNow(of node: NodeID) {
        fuse_lowlevel_notify_inval_inode(session, node.rawValue, -1, 0)
    }

    /// Gives the kernel a part of a file's content, as if it had read it, and takes the file to be as long as that at least: called at once,
    /// on any thread, inside requests too. The kernel waits for pages that are being read: a thread that holds a lock calls this only for a
    /// file of which no READ can be on its way. Old pages are replaced, but none beyond the content. False if the kernel did not take it.
    ///
    /// - Parameter offset: of a page's beginning, in bytes.
    public func storeNow(_ content: UnsafeRawBufferPointer, at offset: Int64 = 0, of node: NodeID) -> Bool {
        quire_store(session, node.rawValue, off_t(clamping: offset), content.baseAddress, content.count) == 0
    }

    /// Has the kernel ask again for every name it knows, each when it is used next, and take off what is mounted there. Takes no lock in
    /// the kernel. False before Linux 6.16, which has no such notice.
    private func everyNameChanged() -> Bool {
        var header = quire_out_header()
        header.len = UInt32(clamping: MemoryLayout<quire_out_header>.size)
        header.error = QUIRE_FUSE_NOTIFY_INC_EPOCH
        return write(fuse_session_fd(session), &header, MemoryLayout<quire_out_header>.size) > 0
    }

    private func enqueue(_ notice: NoticeQueue<Done>.Notice, _ path: NoticeQueue<Done>.Path? = nil, _ done: Done? = nil) {
        let hasTooMany = state.withLock { state in
            if !state.stopped { state.queue.add(notice, path: path, awaiting: done.map { [$0] } ?? []) }
            return state.queue.hasTooManyEntries && !state.tellsEachName
        }
        if hasTooMany { tellOfAllNames() }
        loop.wake()
    }

    /// One notice in place of many. What it stands for has happened before.
    private func tellOfAllNames() {
        let taken = state.withLock { $0.queue.replacingEntries() }
        guard !taken.isEmpty else { return }
        if everyNameChanged() {
            for done in taken.flatMap(\.awaiting) { done() }
            return
        }
        state.withLock { state in
            state.tellsEachName = true
            for one in taken { state.queue.add(one.notice, path: one.path, awaiting: one.awaiting) }
        }
    }

    private func run() {
        while true {
            loop.sleep()
            let batch = state.withLock { $0.queue.takeAll() }
            for one in batch where !state.withLock({ $0.stopped }) {
                send(one.notice, one.path?())
                for done in one.awaiting { done() }
            }
            if state.withLock({ $0.stopped }) { return }
        }
    }

    private func send(_ notice: NoticeQueue<Done>.Notice, _ path: [UInt8]?) {
        // ENOENT answers whatever the kernel does not know: nothing to forget, nothing to report.
        switch notice {
        case .entry(let folder, let name): forget(name, in: folder, at: path)
        case .contents(let node): fuse_lowlevel_notify_inval_inode(session, node.rawValue, 0, 0)
        case .fileContents(let node):
            attributesChangedNow(of: node)
            // The kernel waits for pages that are being read.
            if !(path.map { fileSystem.dropContent(of: node, at: $0) } ?? false) {
                fuse_lowlevel_notify_inval_inode(session, node.rawValue, 0, 0)
            }
        }
    }

    private func forget(_ name: [UInt8], in folder: NodeID, at path: [UInt8]?) {
        if let path, fileSystem.forget(name, in: folder, at: path) {
            // The kernel's own notice does this too.
            return attributesChangedNow(of: folder)
        }
        _ = name.withUnsafeBytes {
            fuse_lowlevel_notify_inval_entry(
                session, folder.rawValue, $0.baseAddress?.assumingMemoryBound(to: CChar.self), name.count)
        }
    }

    /// Waits for the notice on its way and sends no more. Requests must still be answered, or the connection be gone: the
    /// kernel may hold the notice up until then. Again: does nothing.
    func stop() {
        state.withLock { $0.stopped = true }
        loop.stop()
    }
}
