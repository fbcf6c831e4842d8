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

/// The saves of the mount: finds the document that a request is about (`SavedDocument`), tells its machine (`DocumentSaves`), and holds
/// what all documents share.
///
/// Documents without a save pay one check of `Node.saved`, and those opens that truncate a check of the document.
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
    let counters = Locked(SaveCounters())
    /// Leaf. The documents that have a machine.
    private let active = Locked<[ObjectIdentifier: SavedDocument]>([:])
    let staleRetries = StaleRetries()
    /// The same for rename(2) of a name that a claim is about to have for itself.
    let renameRetries = StaleRetries()
    let changedFolders = ChangedFolders()
    /// Leaf. Working copies that were not published and are open yet.
    let discarded = Locked<[ObjectIdentifier: WorkingVersion]>([:])
    /// A rename or removal has ended that did not wait for saves (`Node.freeNameChanges`).
    let freeNameChangesEnded = Condition()
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
    var activeDocuments: [SavedDocument] { active.withLock { Array($0.values) } }

    var hasActiveDocuments: Bool { clock.isNeeded.load(ordering: .sequentiallyConsistent) > 0 }

    /// The document that the node is a version of, made if there is none yet.
    ///
    /// - Parameter lockKey: see `SavedDocument.lockKey`; nil: the node's own.
    func document(of node: Node, lockedAs lockKey: UInt64? = nil) -> SavedDocument {
        node.saved.load() ?? node.saved.storeIfNil(SavedDocument(of: node, lockedAs: lockKey, service: self))
    }

    /// The document has a machine from now on. With its state held.
    func activated(_ document: SavedDocument) {
        active.withLock { $0[ObjectIdentifier(document)] = document }
        clock.isNeeded.add(1, ordering: .sequentiallyConsistent)
        clock.wake()
    }

    /// The document has none any more. With its state held.
    func settled(_ document: SavedDocument) {
        active.withLock { $0[ObjectIdentifier(document)] = nil }
        clock.isNeeded.subtract(1, ordering: .relaxed)
    }

    static var now: UInt64 { UInt64(clamping: cl_monotonic_ns()) }

    // MARK: - Waits

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

    /// Waits for a rename or removal of the document that began before its save, as long as a busy disk may take. With `naming` held, for
    /// which these do not wait.
    func awaitFreeNameChanges(of published: Node) throws(PublishFailure) {
        let haveEnded = freeNameChangesEnded.wait(seconds: Self.longestNameChange) {
            published.freeNameChanges.load(ordering: .sequentiallyConsistent) == 0
        }
        guard haveEnded else { throw .failed(.resourceBusy) }
    }

    private static let longestNameChange = 20.0
    /// 20 ms in all, as long as locks wait for it. Longer, and somebody else holds the file: it counts as open then.
    private static let releasePolls = 400
    /// A quarter of the threads that serve the mount. Further lookups are answered at once.
    private static let maximumWaiting = 6
    private static let releasePause: UInt32 = 50
}
