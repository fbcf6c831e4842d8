import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage
import Synchronization

/// LOOKUP: which version the document's name stands for, by who asks.
extension SavedDocument {
    /// The version for this caller of a document whose file `node` was just seen under its name, with one lookup counted. The
    /// result has that lookup; nil: there is another file under the name by now. `isSettled`: the kernel may remember the answer.
    func version(of node: Node, for caller: Caller?) -> (node: Node, isSettled: Bool)? {
        guard isActive.load(ordering: .acquiring) else {
            guard isSuperseded(node) else { return (node, true) }
            service.table.forget(node, count: 1)
            return nil
        }
        guard let caller else { return (node, false) }
        if let target = arriving(caller) {
            service.table.forget(node, count: 1)
            return (target, false)
        }
        awaitDoubtfulEnds()
        let found = lineage(caller)
        if found == nil, !isSuperseded(node) { return (node, false) }
        // Each of the two has a lookup counted.
        service.table.forget(node, count: 1)
        return found.map { ($0, false) }
    }

    func arrivalTarget(_ caller: Caller) -> VersionID? {
        ifActive { _, machine in machine.arrivalTarget(of: ThreadID(caller.thread)) } ?? nil
    }

    /// The version that the thread's retry is meant for, with a lookup counted.
    private func arriving(_ caller: Caller) -> Node? {
        let thread = ThreadID(caller.thread)
        return ifActive { state, machine in held(machine.arrivalTarget(of: thread), state) } ?? nil
    }

    private func lineage(_ caller: Caller) -> Node? {
        let asker = asker(caller)
        return ifActive { state, machine in held(machine.lookup(asker), state) } ?? nil
    }

    /// The caller, with its process where that makes a difference: to find it costs a read of /proc at times.
    func asker(_ caller: Caller) -> SaveCaller {
        let hasSaves = ifActive { _, machine in machine.hasSaves } ?? false
        return hasSaves ? saver(caller) : SaveCaller(thread: ThreadID(caller.thread), process: nil)
    }

    /// With the document's state held.
    private func held(_ version: VersionID?, _ state: borrowing State) -> Node? {
        let node = version.flatMap { state.node(of: $0) }
        if let node { service.table.hold(node) }
        return node
    }

    // MARK: - Listings

    /// A save begins: entries of the document that are on their way to the kernel in a listing say that they hold for long. To be
    /// called with the document active, from when on entries are answered that do not.
    func noteListing(of folder: Node) {
        let wasListed = isListed.exchange(false, ordering: .sequentiallyConsistent)
        if wasListed, folder.listings.load(ordering: .sequentiallyConsistent) > 0 { noteLastingEntry() }
    }

    /// A version was published: has the kernel forget an entry that leads to the one before and holds for long. It does so with the
    /// folder locked, when it has taken in the listings that are under way: those that were answered before the save. None of our
    /// locks is held.
    func forgetLastingEntries(waits: Bool) {
        guard hasLastingEntries, let notifier = service.session.current?.notifier else { return }
        _ = notifier.waiting(atMost: waits ? Self.longestWait : nil) { forgetName(done: $0) }
    }

    /// Has the kernel look the document's name up when it is used next. It may be told only after a rename that holds the folder's lock,
    /// which moves its entry: the document's new name is told of then.
    func forgetName(done: Notifier.Done? = nil) {
        guard let notifier = service.session.current?.notifier, let link = publishedLink() else { done?(); return }
        let lasting = lastingEntries.load(ordering: .sequentiallyConsistent)
        notifier.nameChanged(link.name, in: link.parent, service.table) { [self, service] in
            // The mount may end before the kernel is told.
            defer { withExtendedLifetime(service) {} }
            guard let now = publishedLink(), now != link else {
                forgottenEntries.max(lasting, ordering: .relaxed)
                done?()
                return
            }
            forgetName(done: done)
        }
    }

    /// The published version's name, if the kernel may know another version by it.
    private func publishedLink() -> Node.Link? {
        state.withLock { $0.published }?.currentLink
    }

    /// The kernel waits for the folder's lock, whose holder waits for one of our threads: there are more of these, but not
    /// without end.
    private static let longestWait = 0.1
}
