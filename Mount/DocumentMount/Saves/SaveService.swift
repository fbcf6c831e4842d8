import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import Logging
import ProcessInspection
import StorePrimitives
import Synchronization
import SystemPackage

/// The saves of the mount: has a document's state machine (`DocumentSaves`) told of what the kernel asks, and does what it
/// says. One file of this folder for each part of a save's life.
///
/// Documents without a save pay one check of `Node.versions`, and those opens that truncate a check of the document.
final class SaveService: Sendable {
    let table: NodeTable
    let locator: Locator
    let store: VersionStore
    let journal: ChangeJournal
    let session: SessionReference
    let privileges: Privileges
    let options: MountOptions
    let shares: UserShares
    let log: Logger
    let processes: ProcessTable
    let access: AccessChecker
    /// Leaf. How many opens were transactions, and how many live for which reason.
    let counters = Guarded(SaveCounters())
    /// Leaf. The documents that have a machine.
    private let active = Guarded<[ObjectIdentifier: DocumentVersions]>([:])
    let staleRetries = StaleRetries()
    /// The same for rename(2) of a name that a claim is about to have for itself.
    let renameRetries = StaleRetries()
    let changedFolders = ChangedFolders()
    /// Leaf. Working copies that were not published and are open yet.
    let discarded = Guarded<[ObjectIdentifier: WorkingVersion]>([:])
    /// Threads that wait for saves to end.
    private let waiting = Atomic<Int>(0)
    let clock = SaveClock()
    let copies: CopyQueue
    let freedRoom = FreedRoom()
    let pins: SnapshotPins
    let saveNotifier: SaveNotifier

    init(
        table: NodeTable, locator: Locator, store: VersionStore, journal: ChangeJournal, session: SessionReference,
        privileges: Privileges, access: AccessChecker, options: MountOptions, shares: UserShares, replayer: Replayer, log: Logger
    ) throws(Errno) {
        self.access = access
        self.table = table
        self.locator = locator
        self.store = store
        self.journal = journal
        self.session = session
        self.privileges = privileges
        self.options = options
        self.shares = shares
        copies = CopyQueue(shares: shares)
        self.log = log
        guard let processes = ProcessTable(relays: options.relays) else { throw .noSuchFileOrDirectory }
        self.processes = processes
        saveNotifier = SaveNotifier(table: table, replayer: replayer)
        pins = SnapshotPins(versions: store, log: log)
    }

    func start() {
        clock.start(prepare: { [privileges] in privileges.prepareThread() }) { [unowned self] in tick() }
        copies.start { [privileges] in privileges.prepareThread() }
        saveNotifier.start()
    }

    /// The documents that have a save, or something left of one.
    var activeDocuments: [DocumentVersions] { active.withLock { Array($0.values) } }

    var hasActiveDocuments: Bool { clock.isNeeded.load(ordering: .sequentiallyConsistent) > 0 }

    // MARK: - A document's machine

    /// Calls `body` with the document's machine, made if there is none. `node` is a version that the kernel knows throughout, as it does
    /// the one that a request came with; a published version that was found on the way it may have forgotten. Rank 1e.
    func withMachine<Result>(
        of versions: DocumentVersions, _ node: Node, _ body: (inout DocumentVersions.State, inout DocumentSaves) -> Result
    ) -> Result {
        var result: Result?
        versions.state.withLock { state in
            if state.machine == nil { activate(versions, node, &state) }
            result = state.withMachine(body)
        }
        return result!
    }

    /// Calls `body` if the document has a machine.
    func ifActive<Result>(
        _ versions: DocumentVersions, _ body: (inout DocumentVersions.State, inout DocumentSaves) -> Result
    ) -> Result? {
        guard versions.isActive.load(ordering: .acquiring) else { return nil }
        var result: Result?
        versions.state.withLock { result = $0.withMachine(body) }
        return result
    }

    private func activate(_ versions: DocumentVersions, _ node: Node, _ state: inout DocumentVersions.State) {
        let published = state.published ?? node
        if state.published == nil {
            precondition(!state.isOther(node), "as long as there are other versions the published one is held")
            table.hold(node)
            state.published = node
        }
        // From here on whoever adds a writer to the node comes here first.
        versions.isActive.store(true, ordering: .sequentiallyConsistent)
        let handles = published.state.withLock { $0.handles.filter(\.isWritable) }
        let writers = handles.map { handle in
            LiveWriter(
                handle: handle.decision.save, process: nil, reason: handle.decision.reason ?? .outlivedSave,
                isFlushed: handle.isFlushed.load(ordering: .relaxed), isSettled: handle.isUnused.load(ordering: .sequentiallyConsistent))
        }
        state.handles = Dictionary(handles.map { ($0.decision.save, $0) }) { $1 }
        state.machine = DocumentSaves(published: published.versionID, writers: writers, times: options.streamTimes)
        active.withLock { $0[ObjectIdentifier(versions)] = versions }
        clock.isNeeded.add(1, ordering: .sequentiallyConsistent)
        clock.wake()
    }

    /// Drops the machine when there is nothing in it that the mount does not know itself. With no lock held.
    func settle(_ versions: DocumentVersions) {
        let published = versions.state.withLock { state -> Node? in
            guard let machine = state.machine, machine.isIdle, state.working.isEmpty else { return nil }
            state.machine = nil
            state.handles = [:]
            state.times = nil
            versions.isActive.store(false, ordering: .sequentiallyConsistent)
            active.withLock { $0[ObjectIdentifier(versions)] = nil }
            clock.isNeeded.subtract(1, ordering: .relaxed)
            return state.letsGo()
        }
        if let published { table.forget(published, count: 1) }
    }

    // MARK: - Facts

    static var now: UInt64 { UInt64(clamping: cl_monotonic_ns()) }

    /// Who makes a request, as far as `machine` can need to know.
    func saver(_ caller: Caller, for versions: DocumentVersions) -> SaveCaller {
        let thread = ThreadID(caller.thread)
        guard let process = processes.process(of: caller.thread) else { return SaveCaller(thread: thread, process: nil) }
        let isRelay = processes.isRelay(caller.thread)
        let since = ifActive(versions) { _, machine in machine.momentOfAncestors(of: process) } ?? nil
        let ancestors = since.map { processes.ancestors(of: process, since: $0) } ?? []
        return SaveCaller(thread: thread, process: process, ancestors: ancestors, isRelay: isRelay)
    }

    /// Waits a moment for the RELEASE of handles that were flushed: where a process has closed its last descriptor, RELEASE
    /// follows at once, before anything else that the process does. `node` is a version that the kernel knows: the clock may drop
    /// the machine meanwhile, but not the handles. With no lock held.
    func awaitReleases(_ versions: DocumentVersions, _ node: Node) {
        waitWhile { withMachine(of: versions, node) { _, machine in machine.holders(of: machine.published) != nil } }
    }

    /// The same before a save is published: with it there is a machine. If there is none, another thread has published it, and the version
    /// that was published may be nobody's any more.
    func awaitReleases(_ versions: DocumentVersions) {
        waitWhile { ifActive(versions) { _, machine in machine.holders(of: machine.published) != nil } ?? false }
    }

    /// The same for saves that were closed by whoever is known to have had them, when it was in doubt whether others have, and for
    /// those that RELEASE has ended: what close(2) has answered, or the end of a process has shown, is to be seen by who
    /// looks afterwards.
    func awaitDoubtfulEnds(_ versions: DocumentVersions) {
        unlessManyWait {
            waitWhile {
                let now = Self.now
                return ifActive(versions) { state, machine in
                    state.working.contains { id, version in
                        !version.isEnding.load(ordering: .relaxed) && machine.holders(of: id) != nil
                            && isReleaseExpected(of: version, now)
                    }
                } ?? false
            }
            waitWhile(polls: Self.endingPolls) {
                ifActive(versions) { state, _ in
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

    /// Runs what waits, unless many threads wait already.
    func unlessManyWait(_ wait: () -> Void) {
        defer { waiting.subtract(1, ordering: .relaxed) }
        guard waiting.wrappingAdd(1, ordering: .relaxed).oldValue < Self.maximumWaiting else { return }
        wait()
    }

    /// Polls until nobody is waited for any more, or the time is up.
    func waitWhile(polls: Int = releasePolls, isWaitedFor: () -> Bool) {
        for _ in 0..<polls {
            guard isWaitedFor() else { return }
            usleep(Self.releasePause)
        }
    }

    /// Somebody who has it open goes on having it: readers do not wait for that.
    private static let doubtTimeout: UInt64 = 20_000_000

    /// 20 ms in all, as long as locks wait for it. Longer, and somebody else holds the file: it counts as open then.
    private static let releasePolls = 400
    /// A second: RELEASE has come, and the disk may be busy.
    private static let endingPolls = 20_000
    /// A quarter of the threads that serve the mount. Further lookups are answered at once.
    private static let maximumWaiting = 6
    private static let releasePause: UInt32 = 50
}
