import Coordination
import FuseServer
import Glibc

/// The document's state machine, which exists from the beginning of a save until nothing of it is left, and the facts that it is told.
extension SavedDocument {
    /// Calls `body` with the document's machine, made if there is none. `node` is a version that the kernel knows throughout, as it does
    /// the one that a request came with; a published version that was found on the way it may have forgotten. Rank 1e.
    func withMachine<Result>(knownBy node: Node, _ body: (inout State, inout DocumentSaves) -> Result) -> Result {
        var result: Result?
        state.withLock { state in
            if state.machine == nil { activate(node, &state) }
            result = state.withMachine(body)
        }
        return result!
    }

    /// Calls `body` if the document has a machine.
    func ifActive<Result>(_ body: (inout State, inout DocumentSaves) -> Result) -> Result? {
        guard isActive.load(ordering: .acquiring) else { return nil }
        var result: Result?
        state.withLock { result = $0.withMachine(body) }
        return result
    }

    private func activate(_ node: Node, _ state: inout State) {
        let published = state.published ?? node
        if state.published == nil {
            precondition(!state.isOther(node), "as long as there are other versions the published one is held")
            service.table.hold(node)
            state.published = node
        }
        // From here on whoever adds a writer to the node comes here first.
        isActive.store(true, ordering: .sequentiallyConsistent)
        let handles = published.state.withLock { $0.handles.filter(\.isWritable) }
        let writers = handles.map { handle in
            LiveWriter(
                handle: handle.decision.save, process: nil, reason: handle.decision.reason ?? .outlivedSave,
                isFlushed: handle.isFlushed.load(ordering: .relaxed), isSettled: handle.isUnused.load(ordering: .sequentiallyConsistent))
        }
        state.handles = Dictionary(handles.map { ($0.decision.save, $0) }) { $1 }
        state.machine = DocumentSaves(published: published.versionID, writers: writers, times: service.options.streamTimes)
        service.activated(self)
    }

    /// Drops the machine when there is nothing in it that the mount does not know itself. With no lock held.
    func settle() {
        let published = state.withLock { state -> Node? in
            guard let machine = state.machine, machine.isIdle, state.working.isEmpty else { return nil }
            state.machine = nil
            state.handles = [:]
            state.times = nil
            isActive.store(false, ordering: .sequentiallyConsistent)
            service.settled(self)
            return state.letsGo()
        }
        if let published { service.table.forget(published, count: 1) }
    }

    // MARK: - Facts

    /// The process that makes a request, as far as the machine can need to know.
    func saver(_ caller: Caller) -> SaveCaller {
        let thread = ThreadID(caller.thread)
        guard let process = service.processes.process(of: caller.thread) else { return SaveCaller(thread: thread, process: nil) }
        let isRelay = service.processes.isRelay(caller.thread)
        let since = ifActive { _, machine in machine.momentOfAncestors(of: process) } ?? nil
        let ancestors = since.map { service.processes.ancestors(of: process, since: $0) } ?? []
        return SaveCaller(thread: thread, process: process, ancestors: ancestors, isRelay: isRelay)
    }

    /// Waits a moment for the RELEASE of handles that were flushed: where a process has closed its last descriptor, RELEASE
    /// follows at once, before anything else that the process does. `node` is a version that the kernel knows: the clock may drop
    /// the machine meanwhile, but not the handles. With no lock held.
    func awaitReleases(knownBy node: Node) {
        service.waitWhile { withMachine(knownBy: node) { _, machine in machine.holders(of: machine.published) != nil } }
    }

    /// The same before a save is published: with it there is a machine. If there is none, another thread has published it, and the version
    /// that was published may be nobody's any more.
    func awaitReleases() {
        service.waitWhile { ifActive { _, machine in machine.holders(of: machine.published) != nil } ?? false }
    }

    /// The same for saves that were closed by whoever is known to have had them, when it was in doubt whether others have, and for
    /// those that RELEASE has ended: what close(2) has answered, or the end of a process has shown, is to be seen by who
    /// looks afterwards.
    func awaitDoubtfulEnds() {
        service.unlessManyWait {
            service.waitWhile {
                let now = SaveService.now
                return ifActive { state, machine in
                    state.working.contains { id, version in
                        !version.isEnding.load(ordering: .relaxed) && machine.holders(of: id) != nil
                            && isReleaseExpected(of: version, now)
                    }
                } ?? false
            }
            service.waitWhile(polls: Self.endingPolls) {
                ifActive { state, _ in
                    state.working.values.contains { $0.isEnding.load(ordering: .relaxed) }
                } ?? false
            }
        }
    }

    /// Of a version whose descriptors were closed, as far as is known.
    private func isReleaseExpected(of version: WorkingVersion, _ now: UInt64) -> Bool {
        if now &- version.doubtedAt.load(ordering: .relaxed) < Self.doubtTimeout { return true }
        // A mapping goes with its process.
        guard version.mayBeMapped.load(ordering: .relaxed), version.opener?.hasEnded == true,
            !version.isEndExpected.exchange(true, ordering: .relaxed)
        else { return false }
        version.doubtedAt.store(now, ordering: .relaxed)
        return true
    }

    /// Somebody who has it open goes on having it: readers do not wait for that.
    private static let doubtTimeout: UInt64 = 20_000_000
    /// A second: RELEASE has come, and the disk may be busy.
    private static let endingPolls = 20_000
}
