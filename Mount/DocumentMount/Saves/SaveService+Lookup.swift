import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage
import Synchronization

/// LOOKUP: which version a name stands for, by who asks.
extension SaveService {
    /// The version for this caller of a document whose file `node` was just seen under its name, with one lookup counted. The
    /// result has that lookup; nil: there is another file under the name by now. `isSettled`: the kernel may remember the answer.
    func version(
        of node: Node, _ versions: DocumentVersions, for caller: Caller?
    ) -> (node: Node, isSettled: Bool)? {
        guard versions.isActive.load(ordering: .acquiring) else {
            guard versions.isSuperseded(node) else { return (node, true) }
            table.forget(node, count: 1)
            return nil
        }
        guard let caller else { return (node, false) }
        if let target = arriving(caller, versions) {
            table.forget(node, count: 1)
            return (target, false)
        }
        awaitDoubtfulEnds(versions)
        let found = lineage(caller, versions)
        if found == nil, !versions.isSuperseded(node) { return (node, false) }
        // Each of the two has a lookup counted.
        table.forget(node, count: 1)
        return found.map { ($0, false) }
    }

    /// A thread that retries its open finds another file at the place than the one it came with: its open, which cannot be retried
    /// once more, begins its save here. False if that file has lost the name, too.
    func expect(_ open: StaleRetries.Open, of node: Node, at place: Node.Link, _ caller: Caller) -> Bool {
        let versions = node.versions.load()
        guard versions.map({ arrivalTarget(caller, $0) == nil }) ?? true else { return true }
        giveUpArrival(open, caller, unlessIn: versions)
        _ = staleRetries.take(caller.thread)
        defer { staleRetries.note(caller.thread, at: place, flags: open.flags, in: node.versions.load()) }
        do throws(Errno) {
            // Live: nothing is opened yet.
            abandoned(try self.open(node, flags: open.flags, caller, creates: true))
            return true
        } catch {
            return error != .staleNFSFileHandle || node.versions.load().map { arrivalTarget(caller, $0) != nil } ?? false
        }
    }

    /// A thread that retries its open finds a name gone: its open will not come again, but perhaps as a CREATE.
    func nameGone(_ name: UnsafePointer<CChar>, in parent: Node, for caller: Caller) {
        guard let open = staleRetries.gone(caller.thread, name, in: parent) else { return }
        giveUpArrival(open, caller, unlessIn: nil)
    }

    private func arrivalTarget(_ caller: Caller, _ versions: DocumentVersions) -> VersionID? {
        ifActive(versions) { _, machine in machine.arrivalTarget(of: ThreadID(caller.thread)) } ?? nil
    }

    private func giveUpArrival(_ open: StaleRetries.Open, _ caller: Caller, unlessIn versions: DocumentVersions?) {
        guard let expected = open.versions, expected !== versions else { return }
        let step = ifActive(expected) { _, machine in machine.abandon(ThreadID(caller.thread)) } ?? .none
        try? carryOut(step, expected)
    }

    /// A version without a name is asked for that nobody has open: the kernel has an entry that leads to it, and is to forget that.
    func foundWithoutName(_ node: Node) {
        guard let versions = node.versions.load(), node.state.withLock({ $0.isSuperseded && $0.handles.isEmpty }) else { return }
        forgetName(of: versions)
    }

    /// The version that the thread's retry is meant for, with a lookup counted.
    private func arriving(_ caller: Caller, _ versions: DocumentVersions) -> Node? {
        let thread = ThreadID(caller.thread)
        return ifActive(versions) { state, machine in held(machine.arrivalTarget(of: thread), state) } ?? nil
    }

    private func lineage(_ caller: Caller, _ versions: DocumentVersions) -> Node? {
        let asker = asker(caller, versions)
        return ifActive(versions) { state, machine in held(machine.lookup(asker), state) } ?? nil
    }

    /// The caller, with its process where that makes a difference: to find it costs a read of /proc at times.
    private func asker(_ caller: Caller, _ versions: DocumentVersions) -> SaveCaller {
        let hasSaves = ifActive(versions) { _, machine in machine.hasSaves } ?? false
        return hasSaves ? saver(caller, for: versions) : SaveCaller(thread: ThreadID(caller.thread), process: nil)
    }

    /// With the document's state held.
    private func held(_ version: VersionID?, _ state: borrowing DocumentVersions.State) -> Node? {
        let node = version.flatMap { state.node(of: $0) }
        if let node { table.hold(node) }
        return node
    }

    /// The version whose size truncate(2) changes: the one that a LOOKUP finds for the caller. The request may have come by a name that the
    /// kernel has yet to forget, or through /proc/self/fd; EACCES if the kernel's judgement of that does not hold for the other version.
    func resized(_ node: Node, by caller: Caller) throws(Errno) -> Node {
        guard let versions = node.versions.load() else { return node }
        guard versions.isActive.load(ordering: .acquiring) || versions.isSuperseded(node) else { return node }
        let asker = asker(caller, versions)
        let found = ifActive(versions) { state, machine in state.node(of: machine.lookup(asker)) }
            ?? versions.state.withLock { $0.published }
        guard let found, found !== node else { return node }
        guard mayBeRedirected(caller, from: node, to: found, use: W_OK) else { throw .permissionDenied }
        return found
    }

    /// A document has one name more, with which its working copies are shown too.
    func linked(_ node: Node) {
        guard let versions = node.versions.load(), let notifier = session.current?.notifier else { return }
        let working = ifActive(versions) { state, _ in state.working.values.map { table.id(of: $0.node) } } ?? []
        for id in working { notifier.attributesChangedNow(of: id) }
    }

    // MARK: - Listings

    /// A save begins: entries of the document that are on their way to the kernel in a listing say that they hold for long. To be
    /// called with the document active, from when on entries are answered that do not.
    func noteListing(of folder: Node, _ versions: DocumentVersions) {
        let isListed = versions.isListed.exchange(false, ordering: .sequentiallyConsistent)
        if isListed, folder.listings.load(ordering: .sequentiallyConsistent) > 0 { versions.noteLastingEntry() }
    }

    /// Whether a file that was looked up for a listing may go to the kernel with it. A document that is being saved, or was lately, is
    /// listed by its name alone: its next save has nothing that the kernel would have to forget.
    func mayBeListed(_ node: Node) -> Bool {
        guard let versions = node.versions.load() else { return true }
        guard cl_monotonic_ns() - versions.replaced.load(ordering: .relaxed) > Self.unlistedTime else { return false }
        versions.isListed.store(true, ordering: .sequentiallyConsistent)
        return !versions.isActive.load(ordering: .sequentiallyConsistent)
    }

    /// Programs that save often do so within this time. A listing costs one LOOKUP more for each document saved in it.
    private static let unlistedTime: Int64 = 10_000_000_000

    /// A document was renamed, which the kernel has yet to hear. The name that it moves may have been found before the document's
    /// save began, and so hold for long and stand for what the save replaces, or has replaced: while it renames, nobody could
    /// have it look again.
    func renamed(_ node: Node) {
        guard let versions = node.versions.load() else { return }
        let isActive = versions.isActive.load(ordering: .acquiring)
        if isActive { versions.noteLastingEntry() }
        if isActive || versions.wasJustReplaced { forgetName(of: versions) }
    }

    /// A version was published: has the kernel forget an entry that leads to the one before and holds for long. It does so with the
    /// folder locked, when it has taken in the listings that are under way: those that were answered before the save. None of our
    /// locks is held.
    func forgetLastingEntries(_ versions: DocumentVersions, waits: Bool) {
        guard versions.hasLastingEntries, let notifier = session.current?.notifier else { return }
        _ = notifier.waiting(atMost: waits ? Self.longestWait : nil) { forgetName(of: versions, done: $0) }
    }

    /// Has the kernel look the document's name up when it is used next. It may be told only after a rename that holds the folder's lock,
    /// which moves its entry: the document's new name is told of then.
    func forgetName(of versions: DocumentVersions, done: Notifier.Done? = nil) {
        guard let notifier = session.current?.notifier, let link = publishedLink(of: versions) else { done?(); return }
        let lasting = versions.lastingEntries.load(ordering: .sequentiallyConsistent)
        notifier.nameChanged(link.name, in: link.parent, table) { [self] in
            guard let now = publishedLink(of: versions), now != link else {
                versions.forgottenEntries.max(lasting, ordering: .relaxed)
                done?()
                return
            }
            forgetName(of: versions, done: done)
        }
    }

    /// The published version's name, if the kernel may know another version by it.
    private func publishedLink(of versions: DocumentVersions) -> Node.Link? {
        versions.state.withLock { $0.published }?.currentLink
    }

    /// The kernel waits for the folder's lock, whose holder waits for one of our threads: there are more of these, but not
    /// without end.
    private static let longestWait = 0.1
}
