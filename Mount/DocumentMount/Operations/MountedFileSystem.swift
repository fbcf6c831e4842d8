import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// The files of the store as the kernel sees them: the last of the layers (`FileSystemLayer`). One file of this folder for each
/// operation family.
final class MountedFileSystem: FileSystemOperations {
    let table: NodeTable
    let locator: Locator
    /// The folder that is presented, opened before a mount could cover it.
    let store: SharedStore
    let privileges: Privileges
    let journal: ChangeJournal
    let ownRemovals = OwnRemovals()
    let tags: TagStore
    let mountAttributes: MountAttributes
    let tunnel: FileNameTunnel
    let locks: LockService
    let writers = WriterTable()
    let saves: SaveService
    let replayer: Replayer
    let replay: OutsideReplay
    let forgetter: NameForgetter
    let coordinator: Coordinator
    let snapshots: SnapshotService
    let transactions: ClaimTransactions
    /// Files and folders that the kernel holds open.
    let openHandles = Atomic<Int>(0)
    let shares: UserShares
    let log: Logger
    let session: SessionReference
    /// Takes what programs have made beside granted documents in a folder that is to be removed.
    /// Safe: set before the mount serves.
    nonisolated(unsafe) var grantedFiles: (@Sendable (FileIdentity) -> [GrantedFiles.File])?

    /// How long the kernel may rely on what it was told of the store's own file system: for ever where every change is seen.
    let cacheTime: CacheTime

    init(
        store: SharedStore, storeName: EntryName, rootStatus: cl_status, privileges: Privileges, journal: ChangeJournal,
        tags: TagStore, mountAttributes: MountAttributes, cacheTime: CacheTime, folderCapacity: Int, versions: VersionStore,
        options: MountOptions, shares: UserShares, session: SessionReference, log: Logger
    ) throws(Errno) {
        let root = Node(identity: FileIdentity(rootStatus), type: S_IFDIR, isRoot: true)
        root.state.withLock { $0.folder = store.root }
        let folders = FolderCache(capacity: folderCapacity)
        table = NodeTable(root: root, folders: folders)
        locator = Locator(root: root.identity, folders: folders)
        self.store = store
        self.privileges = privileges
        self.journal = journal
        self.tags = tags
        self.mountAttributes = mountAttributes
        self.cacheTime = cacheTime
        self.shares = shares
        locks = LockService(shares: shares)
        self.log = log
        tunnel = FileNameTunnel(journal: journal, accounts: shares.accounts)
        self.session = session
        replayer = Replayer(log: log)
        forgetter = NameForgetter(log: log)
        replay = OutsideReplay(table: table, locator: locator, store: store, replayer: replayer, session: session)
        saves = try SaveService(
            table: table, locator: locator, store: versions, journal: journal, session: session,
            privileges: privileges, access: tags.access, options: options, shares: shares, replayer: replayer, log: log)
        snapshots = SnapshotService(
            rootName: storeName, table: table, locator: locator, writers: writers, saves: saves, locks: locks,
            session: session, access: tags.access, privileges: privileges, shares: shares)
        coordinator = Coordinator(
            events: journal.events, writers: DocumentWriters(saves: saves, handles: writers), snapshots: snapshots, shares: shares, access: tags.access,
            times: options.coordinationTimes)
        transactions = ClaimTransactions(
            table: table, locator: locator, saves: saves, coordinator: coordinator, journal: journal, ownRemovals: ownRemovals,
            log: log)
    }

    var packages: Packages { tags.packages }

    func prepareThread() { privileges.prepareThread() }

    func begins(_ caller: Caller) { privileges.identify(as: caller) }

    /// By whose permissions a request is judged that the kernel has not judged. Asked once a request.
    func credentials(of caller: Caller) -> Credentials { tags.access.credentials(of: caller) }

    /// The document a node is: a regular file with a name in the store, or a package.
    func document(_ node: Node) throws(Errno) -> StorePath {
        guard let path = saves.named(node).path, node.isRegular || node.isFolder && packages.isPackage(path) else { throw .notPermitted }
        return path
    }

    func isBeingKilled(_ thread: pid_t) -> Bool { ProcessFacts.isBeingKilled(thread) }

    func share(of node: NodeID) -> RequestShare {
        let node = table.node(node)
        return RequestShare(item: node.lockKey, device: locator.isInner(node.identity.device) ? node.identity.device : 0)
    }

    func opener(of file: HandleID) -> UInt32? { FileHandle.of(file).caller.uid }

    func writeFailed(_ file: HandleID, _ error: Errno) { saves.writeFailed(FileHandle.of(file), error) }

    func forget(_ name: [UInt8], in folder: NodeID, at path: [UInt8]) -> Bool {
        EntryName(name).map { forgetter.forget($0, in: folder, at: path) } ?? false
    }

    func dropContent(of node: NodeID, at path: [UInt8]) -> Bool { forgetter.dropContent(of: node, at: path) }

    var hasOpenFiles: Bool { openHandles.load(ordering: .relaxed) > 0 }

    /// The attributes as apps see them.
    func presented(_ status: cl_status) -> stat {
        var result = status.st
        result.st_ino = ino_t(locator.presentedInode(UInt64(result.st_ino), on: UInt64(result.st_dev)))
        return result
    }

    /// While a file may change with no request the kernel asks each time; and for a file that has, or had, several names: it
    /// counts its links itself when a name goes, after the answer, whatever it was told meanwhile.
    func attributes(of node: Node, _ status: cl_status) -> Attributes {
        var status = status
        if coordinator.gate.isGuarded.load(ordering: .relaxed), let inode = node.currentLink?.copiedInode {
            status.st.st_ino = ino_t(inode)
        }
        var isBeingSaved = false
        if let document = node.saved.load() {
            status.st.st_nlink = links(of: node, document, counted: status.st.st_nlink)
            // What was found before others' changes were merged into a version may be answered after it.
            isBeingSaved = (document.isActive.load(ordering: .relaxed) || document.wasJustReplaced) && document.working(node) == nil
        }
        if node.isToldAsGone.load(ordering: .sequentiallyConsistent) { status.st.st_nlink = 0 }
        let hasLinks = status.st.st_nlink > 1 && !node.isFolder
        let isShortlived = node.state.withLock { state in
            state.told = Node.Seen(status.st)
            // Of what comes by the node that has taken its place the kernel does not know here.
            return state.unheardWriters > 0 || state.hasOtherNames || hasLinks || isBeingSaved || node.isDisplaced.load(ordering: .relaxed)
        }
        return Attributes(status: presented(status), validity: isShortlived ? .none : cacheTime(of: node))
    }

    /// How many names a version is shown with, of which `counted` were found a moment ago: what is being saved has none yet,
    /// and is shown with its document's.
    private func links(of node: Node, _ document: SavedDocument, counted: nlink_t) -> nlink_t {
        guard counted == 0 || document.isActive.load(ordering: .acquiring) else { return counted }
        if let published = document.published(beside: node) { return max(1, locator.statusAtHand(of: published)?.st.st_nlink ?? 1) }
        // It may have been published since.
        return counted == 0 ? locator.statusAtHand(of: node)?.st.st_nlink ?? 0 : counted
    }

    func entry(for node: Node, _ status: cl_status) -> Entry {
        Entry(
            node: table.id(of: node), generation: node.generation, attributes: attributes(of: node, status),
            validity: cacheTime(of: node))
    }

    /// How long the kernel may rely on what it was told of a node: not long on a file system inside the store that is not the kernel's own, as
    /// nobody tells of what changes there.
    func cacheTime(of node: Node) -> CacheTime { node.mountKind == .local ? cacheTime : Self.remoteCacheTime }

    static let remoteCacheTime = CacheTime(seconds: 1)

    /// Looks a name of the store up and counts it as the kernel's. If the document is being saved, the version for this caller.
    func lookUp(_ name: BorrowedName, in parent: Node, _ folder: Descriptor, _ caller: Caller? = nil) throws(Errno) -> Entry {
        for attempt in 0..<Self.maximumAttempts {
            // Whoever changes names here may be held up.
            if attempt > 10 { usleep(100) }
            let moment = parent.nameChanges.now
            let status = try FileStatus(of: name, in: folder)
            let (node, lookupResult) = seen(name, in: parent, status, since: moment)
            noteLookup(of: node, caller)
            // Another file, or a version, may be put under a name here, perhaps this one, between the lookup and now.
            let isCertain = parent.nameChanges.areStill(since: moment)
            if lookupResult == .gone || lookupResult == .doubtful
                || lookupResult == .new && !isCertain && !isThere(node, name, folder)
            {
                table.forget(node, count: 1)
                continue
            }
            if let caller, saves.staleRetries.areSome, !expectsSave(name, in: parent, node, caller) {
                table.forget(node, count: 1)
                continue
            }
            guard var entry = entry(for: node, status, caller) else { continue }
            // The kernel is to ask for the rest without the folder's lock, when a program wants to know.
            if status.isMountRoot, locator.isInner(node.identity.device) { entry.attributes.validity = .none }
            if !isCertain { (entry.validity, entry.attributes.validity) = (.none, .none) }
            return entry
        }
        // Who changes names themselves has the folder for themselves.
        guard let caller else { throw .staleNFSFileHandle }
        return try lookUpStanding(name, in: parent, folder, caller)
    }

    /// The thread may be on its second walk to what it is about to save. False if the file has lost the name meanwhile.
    private func expectsSave(_ name: BorrowedName, in parent: Node, _ node: Node, _ caller: Caller) -> Bool {
        // At a guarded gate the save begins with the OPEN.
        guard let open = saves.staleRetries.found(caller.thread, name, in: parent, isRegular: node.isRegular), coordinator.gate.enter() else { return true }
        defer { coordinator.gate.leave() }
        return saves.expect(open, of: node, at: Node.Link(parent: parent, name: EntryName(copying: name)), caller)
    }

    private func noteLookup(of node: Node, _ caller: Caller?) {
        guard node.isOnlyReplayed.load(ordering: .relaxed), !(caller.map { replay.isCaller($0) } ?? false) else { return }
        node.isOnlyReplayed.store(false, ordering: .relaxed)
    }

    /// Looks a name up while none changes.
    private func lookUpStanding(
        _ name: BorrowedName, in parent: Node, _ folder: Descriptor, _ caller: Caller
    ) throws(Errno) -> Entry {
        // A file system that is mounted there may never answer: it is not asked while all names stand still.
        guard !locator.isInner(parent.identity.device) else { throw .staleNFSFileHandle }
        let (node, status) = try locator.names.still { () throws(Errno) -> (Node, cl_status) in
            let status = try FileStatus(of: name, in: folder)
            let (node, lookupResult) = seen(name, in: parent, status)
            noteLookup(of: node, caller)
            guard lookupResult != .gone else {
                table.forget(node, count: 1)
                throw .staleNFSFileHandle
            }
            return (node, status)
        }
        guard var entry = entry(for: node, status, caller) else { throw .staleNFSFileHandle }
        (entry.validity, entry.attributes.validity) = (.none, .none)
        return entry
    }

    /// How often what a name stands for may have changed between its lookup and the next step.
    static let maximumAttempts = 100

    private func isThere(_ node: Node, _ name: BorrowedName, _ folder: Descriptor) -> Bool {
        (try? FileStatus(of: name, in: folder)).map { FileIdentity($0) } == node.identity
    }

    /// A version that has no name any more, for `SaveNotifier`.
    func supersededEntry() throws(Errno) -> Entry {
        guard let node = saves.saveNotifier.takeAsked() else { throw .noSuchFileOrDirectory }
        do throws(Errno) {
            var status = try locator.status(of: node)
            // Its file may have a name still: as the document's, by another node, or as what is kept for `quire recover`.
            if node.state.withLock({ $0.isSuperseded }) { status.st.st_nlink = 0 }
            guard status.st.st_nlink == 0 else { throw .noSuchFileOrDirectory }
            // The kernel goes by one size for those that read this version and for a handle that writes another one's file here.
            var written = cl_status()
            let writer = node.state.withLock { $0.handles.last { $0.isElsewhere && $0.isWritable && !$0.decision.isRelays } }
            let descriptor = writer?.descriptor
            if let descriptor, cl_statx_fd(descriptor.number, &written) == 0 {
                status.st.st_size = max(status.st.st_size, written.st.st_size)
            }
            var entry = entry(for: node, status)
            (entry.validity, entry.attributes.validity) = (.none, .none)
            return entry
        } catch {
            table.forget(node, count: 1)
            throw error
        }
    }

    /// The entry of a file that was made just now under a name.
    func entry(ofMade name: BorrowedName, in parent: Node, _ status: cl_status) -> Entry {
        let node = seen(name, in: parent, status).node
        node.wasMade()
        return entry(for: node, status)
    }

    /// The node of a file just seen under a name, with a lookup counted.
    private func seen(
        _ name: BorrowedName, in parent: Node, _ status: cl_status, since moment: NameChanges.Moment? = nil
    ) -> (node: Node, Node.LookupResult) {
        let node = table.lookedUp(status)
        guard !node.isRoot else { return (node, .known) }
        let hasOtherNames = status.st.st_nlink > 1 && !node.isFolder
        let lookupResult = node.seen(in: parent, name: name, hasOtherNames: hasOtherNames, since: moment)
        if hasOtherNames { table.noteLinks(of: node) }
        return (node, lookupResult)
    }

    /// Nil if another version has taken the name since.
    private func entry(for node: Node, _ status: cl_status, _ caller: Caller?) -> Entry? {
        if let document = node.saved.load() { return entry(for: node, status, document, caller) }
        return entry(for: node, status)
    }

    private func entry(for seen: Node, _ status: cl_status, _ document: SavedDocument, _ caller: Caller?) -> Entry? {
        guard let (node, isSettled) = document.version(of: seen, for: caller) else { return nil }
        var entry = entry(for: node, node === seen ? status : (try? locator.status(of: node)) ?? status)
        if !isSettled { entry.validity = .none }
        return entry
    }
}

/// The session, known once it exists: it needs the file system first.
final class SessionReference: @unchecked Sendable {
    /// Set before any other thread sees it, never changed after.
    private(set) var current: FuseSession?
    func set(_ session: FuseSession) { current = session }
}
