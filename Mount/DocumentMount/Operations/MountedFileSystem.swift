import CLinux
import Coordination
import FuseKernel
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// The store as the kernel sees it: every request ends here. One file of this folder for each operation family.
final class MountedFileSystem: FileSystemOperations {
    let table: NodeTable
    let locator: Locator
    /// The folder that is presented, opened before a mount could cover it.
    let store: Descriptor
    let privileges: Privileges
    let virtualFolders: VirtualFolders?
    let journal: ChangeJournal
    let ownRemovals = OwnRemovals()
    let tags: TagStore
    let mountAttributes: MountAttributes
    let tunnel: Tunnel
    let locks = LockService()
    let writers = WriterTable()
    /// Files and folders that the kernel holds open.
    let openHandles = Atomic<Int>(0)
    let log: Logger
    /// Set before the first request.
    let session = SessionReference()

    /// How long the kernel may rely on what it was told: for ever where every change is seen.
    let cacheTime: CacheTime
    private let rootDevice: UInt64

    init(
        store: Descriptor, rootStatus: cl_status, privileges: Privileges, virtualFolders: VirtualFolders?,
        journal: ChangeJournal, tags: TagStore, mountAttributes: MountAttributes, cacheTime: CacheTime, folderCapacity: Int, log: Logger
    ) {
        let root = Node(identity: FileIdentity(rootStatus), type: S_IFDIR, isRoot: true)
        root.state.withLock { $0.folder = store }
        table = NodeTable(root: root)
        locator = Locator(root: root.identity, folderCapacity: folderCapacity)
        rootDevice = root.identity.device
        self.store = store
        self.privileges = privileges
        self.virtualFolders = virtualFolders
        self.journal = journal
        self.tags = tags
        self.mountAttributes = mountAttributes
        self.cacheTime = cacheTime
        self.log = log
        tunnel = Tunnel(journal: journal)
    }

    func prepareThread() { privileges.prepareThread() }

    var hasOpenFiles: Bool { openHandles.load(ordering: .relaxed) > 0 }

    /// The attributes as apps see them. A file system mounted inside the store has inode numbers of its own, which must not
    /// meet the store's: programs take two files of one device and inode for hard links.
    func presented(_ status: cl_status) -> stat {
        var result = status.st
        if UInt64(result.st_dev) != rootDevice { result.st_ino ^= ino_t(UInt64(result.st_dev) &<< 40) }
        return result
    }


    /// While a file is open for writing, a store through a mapping changes its times with no request: ask each time.
    func attributes(of node: Node, _ status: cl_status) -> Attributes {
        let isWritten = node.state.withLock { state in
            state.told = Node.Told(status.st)
            return state.writers > 0
        }
        return Attributes(status: presented(status), validity: isWritten ? .none : cacheTime)
    }

    func entry(for node: Node, _ status: cl_status) -> Entry {
        Entry(
            node: table.id(of: node), generation: node.generation, attributes: attributes(of: node, status),
            validity: cacheTime)
    }

    /// Looks a name of the store up and counts it as the kernel's.
    func lookUp(_ name: BorrowedName, in parent: Node, _ folder: Descriptor) throws(Errno) -> Entry {
        var status = cl_status()
        _ = try check(cl_statx(folder.number, name, AT_SYMLINK_NOFOLLOW, &status))
        return known(name, in: parent, status)
    }

    /// The entry of a file just seen under a name.
    func known(_ name: BorrowedName, in parent: Node, _ status: cl_status) -> Entry {
        let node = table.lookedUp(FileIdentity(status), type: status.st.st_mode & S_IFMT)
        if !node.isRoot {
            let hasOtherNames = status.st.st_nlink > 1 && !node.isFolder
            node.seen(in: parent, name: name, hasOtherNames: hasOtherNames)
            if hasOtherNames { table.noteLinks(of: node) }
        }
        return entry(for: node, status)
    }
}

/// The session, known once it exists: it needs the file system first.
final class SessionReference: @unchecked Sendable {
    /// Set before any other thread sees it, never changed after.
    private(set) var current: FuseSession?
    func set(_ session: FuseSession) { current = session }
}
