import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage
import Synchronization

/// What LOOKUP and listings find, or find gone, as far as it concerns saves: retried opens, sizes, new names.
extension SaveService {
    /// A thread that retries its open finds another file at the place than the one it came with: its open, which cannot be retried
    /// once more, begins its save here. False if that file has lost the name, too.
    func expect(_ open: StaleRetries.Open, of node: Node, at place: Node.Link, _ caller: Caller) -> Bool {
        let document = node.saved.load()
        guard document.map({ $0.arrivalTarget(caller) == nil }) ?? true else { return true }
        giveUpArrival(open, caller, unlessIn: document)
        _ = staleRetries.take(caller.thread)
        defer { staleRetries.note(caller.thread, at: place, flags: open.flags, in: node.saved.load()) }
        do throws(Errno) {
            // Live: nothing is opened yet.
            try self.open(node, flags: open.flags, caller, creates: true).abandon()
            return true
        } catch {
            return error != .staleNFSFileHandle || node.saved.load().map { $0.arrivalTarget(caller) != nil } ?? false
        }
    }

    /// A thread that retries its open finds a name gone: its open will not come again, but perhaps as a CREATE.
    func nameGone(_ name: UnsafePointer<CChar>, in parent: Node, for caller: Caller) {
        guard let open = staleRetries.gone(caller.thread, name, in: parent) else { return }
        giveUpArrival(open, caller, unlessIn: nil)
    }

    private func giveUpArrival(_ open: StaleRetries.Open, _ caller: Caller, unlessIn document: SavedDocument?) {
        guard let expected = open.document, expected !== document else { return }
        let step = expected.ifActive { _, machine in machine.abandon(ThreadID(caller.thread)) } ?? .none
        try? expected.carryOut(step)
    }

    /// A version without a name is asked for that nobody has open: the kernel has an entry that leads to it, and is to forget that.
    func foundWithoutName(_ node: Node) {
        guard let document = node.saved.load(), node.state.withLock({ $0.isSuperseded && $0.handles.isEmpty }) else { return }
        document.forgetName()
    }

    /// The version whose size truncate(2) changes: the one that a LOOKUP finds for the caller. The request may have come by a name that the
    /// kernel has yet to forget, or through /proc/self/fd; EACCES if the kernel's judgement of that does not hold for the other version.
    func resized(_ node: Node, by caller: Caller) throws(Errno) -> Node {
        guard let document = node.saved.load() else { return node }
        guard document.isActive.load(ordering: .acquiring) || document.isSuperseded(node) else { return node }
        let asker = document.asker(caller)
        let found = document.ifActive { state, machine in state.node(of: machine.lookup(asker)) }
            ?? document.state.withLock { $0.published }
        guard let found, found !== node else { return node }
        guard mayBeRedirected(caller, from: node, to: found, use: W_OK) else { throw .permissionDenied }
        return found
    }

    /// A document has one name more, with which its working copies are shown too.
    func linked(_ node: Node) {
        guard let document = node.saved.load(), let notifier = session.current?.notifier else { return }
        let working = document.ifActive { state, _ in state.working.values.map { table.id(of: $0.node) } } ?? []
        for id in working { notifier.attributesChangedNow(of: id) }
    }

    // MARK: - Listings

    /// Whether a file that was looked up for a listing may go to the kernel with it. A document that is being saved, or was lately, is
    /// listed by its name alone: its next save has nothing that the kernel would have to forget.
    func mayBeListed(_ node: Node) -> Bool {
        guard let document = node.saved.load() else { return true }
        guard cl_monotonic_ns() - document.replacedAt.load(ordering: .relaxed) > Self.unlistedTime else { return false }
        document.isListed.store(true, ordering: .sequentiallyConsistent)
        return !document.isActive.load(ordering: .sequentiallyConsistent)
    }

    /// Programs that save often do so within this time. A listing costs one LOOKUP more for each document saved in it.
    private static let unlistedTime: Int64 = 10_000_000_000

    /// A document was renamed, which the kernel has yet to hear. The name that it moves may have been found before the document's
    /// save began, and so hold for long and stand for what the save replaces, or has replaced: while it renames, nobody could
    /// have it look again.
    func renamed(_ node: Node) {
        guard let document = node.saved.load() else { return }
        let isActive = document.isActive.load(ordering: .acquiring)
        if isActive { document.noteLastingEntry() }
        if isActive || document.wasJustReplaced { document.forgetName() }
    }
}
