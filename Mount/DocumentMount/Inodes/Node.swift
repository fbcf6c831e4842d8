import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import Synchronization

/// One inode of the mount, as long as the kernel knows it: a file of the store, or an item of a virtual folder.
///
/// A file of the store is found by a name in its folder and checked against its identity, so that 100,000 known files need no
/// descriptor. See README.md in this folder, "Nodes".
final class Node: @unchecked Sendable {
    let identity: FileIdentity
    /// The file type bits of st_mode: they never change.
    let type: mode_t
    /// Of what is mounted inside the store, as it was when the kernel first asked for the file; .local in the store's own file system.
    let mountKind: MountKind
    /// Tells the kernel two nodes apart that had the same address one after the other.
    let generation: UInt64
    /// What stands behind a node of a virtual folder; nil for a file of the store.
    let item: (any VirtualItem)?

    /// How often the kernel was told of the node. Guarded by the node's shard of the table.
    var lookups: UInt64 = 0

    /// Where the folder cache keeps it, and that the kernel has forgotten it, for good. Guarded by that cache's lock.
    var cachePlace: UInt32?
    var isForgotten = false

    /// Made here and never given any: the kernel asks for security.capability before the first write to each file, which is
    /// answered without a read of the store.
    let hasNoCapabilities = Atomic<Bool>(false)

    /// Another node stands for the same file from now on, for as long as the kernel knows this one (`SaveService.host`).
    let isDisplaced = Atomic<Bool>(false)
    /// It is a working copy, and another node stands for the document (`SaveService.exchange`).
    let isExchanged = Atomic<Bool>(false)
    /// Its watches are told, or were, that another version has its name (`SaveNotifier`): no answer is to give it links again.
    let isToldAsGone = Atomic<Bool>(false)
    /// It took the place of a displaced node, by which programs may have its file open.
    let isStandIn: Bool
    /// The store's own folder, which the kernel never forgets.
    let isRoot: Bool

    /// A folder that nobody but the replay process has looked up: nobody watches it, and the kernel knows nothing in it.
    let isOnlyReplayed = Atomic<Bool>(false)

    let state = Mutex(State())

    /// The document that this is a version of, with its saves; nil until a save, a rename or a claim first needs it, or if it is no document.
    let saved = AtomicLazyReference<SavedDocument>()

    /// Names in this folder that stand for other files within claims; nil if there never were any.
    let staged = AtomicLazyReference<StagedNames>()

    /// By how many handles of this folder READDIRPLUS was answered with entries that the kernel may have yet to take in.
    let listings = Atomic<Int>(0)

    /// How many handles on it write another version's file (`HostedWriting`).
    let hostedWritings = Atomic<Int>(0)
    /// When a program last asked for something of a displaced node, in nanoseconds on the monotonic clock.
    let lastAsked = Atomic<Int64>(0)

    /// Changes of the file's names that are under way without the document's `naming`: since no document was being saved when they
    /// began. A save that begins meanwhile is not published before they are done.
    let freeNameChanges = Atomic<Int>(0)

    /// When the mount last gave the file a name, on the monotonic clock: inotify tells of that too.
    let named = Atomic<Int64>(0)

    /// When the mount made the file, on the monotonic clock; 0 if it did not, or has forgotten the file for longer than a save takes.
    let made = Atomic<Int64>(0)

    /// Of names in this folder: what was seen in it meanwhile may be of before.
    let nameChanges = NameChanges()

    /// Rank 2 (see Mount/README.md): taken with the names lock held or not, never with another node's.
    struct State: ~Copyable {
        /// A name under which the node was last seen; folders and files of one link have only this.
        var link: Link?
        /// Further names of a file with hard links.
        var otherLinks: [Link] = []
        /// It was seen with a link count over 1, and is in the table's list of such.
        var hasOtherNames = false
        /// A version whose name another one has taken: never seen under a name again.
        var isSuperseded = false
        /// Its last name was removed or given to another file: never seen under a name again.
        var isRemoved = false
        var folderUsed = false
        /// Passthrough and cached opens of one inode exclude each other in the kernel: what the first open found out holds.
        var passthroughRefused = false
        private var past: Past?
        /// A folder's O_PATH descriptor, kept by the folder cache.
        var folder: Descriptor?
        /// An O_PATH descriptor, from when the last known name went; nil too if whoever took that has too many of them.
        var pinned: Descriptor? { pin?.file }
        var handles: [FileHandle] = []
        var writers = 0
        /// Handles through which the file may change with no request on this node: a store through a mapping, which only a handle
        /// for reading and writing can have, and writes that come with another version's node.
        var unheardWriters = 0
        /// What the kernel was last given.
        var told = Seen()
        /// As the last writer left the file: the watcher tells of its writes later.
        var written = Seen()
        /// What the kernel's pages of the file were read from, or from something newer; nil if that is not known.
        var pages: Seen?
        var backing: Backing?
        /// Handles that are not passthrough: as long as there are any, no other may be, see `OpenMode`.
        var plainOpens = 0
        /// When its last name was told as made outside, on the monotonic clock.
        var replayed: Int64 = 0
        /// The creator of the file and the time, for saves by rename (`FileNameTunnel`).
        var made: FileNameTunnel.Creator?

        /// When another version took its name, on the monotonic clock, and whose save did it.
        var superseded: (at: Int64, by: SaveProcess?)? {
            get { past?.superseded }
            set { ownPast.superseded = newValue }
        }
        /// The last name, when it is no more.
        var lastLink: Link? {
            get { past?.lastLink }
            set { if past != nil || newValue != nil { ownPast.lastLink = newValue } }
        }
        /// From when the last known name went.
        var pin: Pin? {
            get { past?.pin }
            set { if past != nil || newValue != nil { ownPast.pin = newValue } }
        }

        /// The node's file as a program has it open.
        var openFile: Descriptor? { handles.lazy.compactMap(\.ownFile).first }

        private var ownPast: Past {
            mutating get {
                if let past { return past }
                let new = Past()
                past = new
                return new
            }
        }
    }

    /// Of a node that has lost its name, as few of 100,000 known files have. Guarded by the node's state.
    private final class Past: @unchecked Sendable {
        var superseded: (at: Int64, by: SaveProcess?)?
        var lastLink: Link?
        var pin: Pin?
    }

    /// Size and times of a file at one moment.
    struct Seen: Equatable {
        var size: off_t = -1
        var modified: Int64 = 0
        var changed: Int64 = 0
        /// It had no name any more.
        var isRemoved = false

        init() {}

        init(_ status: stat) {
            size = status.st_size
            modified = saturatedNanoseconds(status.st_mtim)
            changed = saturatedNanoseconds(status.st_ctim)
            isRemoved = status.st_nlink == 0
        }

        func hasContent(of other: Seen) -> Bool { size == other.size && modified == other.modified }
    }

    struct Link: Equatable {
        let parent: Node
        let name: EntryName

        static func == (one: Link, other: Link) -> Bool { one.parent === other.parent && one.name == other.name }
    }

    /// The kernel's registration of the file that passthrough opens share.
    struct Backing {
        let id: BackingID
        var opens: Int
    }

    private static let generations = Atomic<UInt64>(1)

    init(
        identity: FileIdentity, type: mode_t, on mountKind: MountKind = .local, item: (any VirtualItem)? = nil, isRoot: Bool = false,
        isStandIn: Bool = false
    ) {
        self.mountKind = mountKind
        self.isRoot = isRoot
        self.isStandIn = isStandIn
        self.identity = identity
        self.type = type
        self.item = item
        generation = Self.generations.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// A request for what programs have of the node, by which they read it. One atomic load unless it is displaced.
    @inline(__always)
    func noteReading() {
        if isDisplaced.load(ordering: .relaxed) { lastAsked.store(cl_monotonic_ns(), ordering: .relaxed) }
    }

    /// Whether a server answers for its file: no lock that users share is held while that is asked.
    var isServed: Bool { mountKind == .served }

    /// A second node of a document's file, for `NodeTable.replace`.
    convenience init(standingInFor node: Node) {
        self.init(identity: node.identity, type: node.type, on: node.mountKind, isStandIn: true)
        named.store(node.named.load(ordering: .relaxed), ordering: .relaxed)
        made.store(node.made.load(ordering: .relaxed), ordering: .relaxed)
        let creator = node.state.withLock { $0.made }
        state.withLock { $0.made = creator }
    }

    /// Lets go of the folders above that nobody else holds one after another: each by the one below it would take stack for every
    /// level of a tree.
    deinit {
        var above = takeParent()
        while var folder = above {
            above = nil
            guard isKnownUniquelyReferenced(&folder) else { return }
            above = folder.takeParent()
        }
    }

    private func takeParent() -> Node? {
        state.withLock { state in
            defer { (state.link, state.lastLink) = (nil, nil) }
            return (state.link ?? state.lastLink)?.parent
        }
    }

    /// Whether the file was seen with more than one name.
    var hasOtherNames: Bool { state.withLock { $0.hasOtherNames } }

    var isFolder: Bool { type == S_IFDIR }
    var isRegular: Bool { type == S_IFREG }

    /// The id by which the kernel names the node: its address. The table keeps it alive from the first lookup to the last
    /// FORGET.
    var id: NodeID { NodeID(UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()))) }
}

extension Node {
    enum LookupResult {
        case known
        /// It had no name before.
        case new
        /// Another file or version has taken its name since it was looked at, or it was removed.
        case gone
        /// It was known under another name, and names change in the folder: it may be there no more. Nothing was remembered.
        case doubtful
    }

    /// Remembers a name under which the node was just seen. `hasOtherNames`: the file's link count is over 1. `moment`: before it
    /// was seen; nil: the name cannot have changed since.
    /// Takes the node's state (rank 2).
    @discardableResult
    func seen(
        in parent: Node, name: UnsafePointer<CChar>, hasOtherNames: Bool, since moment: NameChanges.Moment? = nil
    ) -> LookupResult {
        state.withLock { state in
            if state.isSuperseded || state.isRemoved { return .gone }
            if hasOtherNames { state.hasOtherNames = true }
            if let link = state.link, link.parent === parent, link.name.matches(name) { return .known }
            let isCertain = moment.map { parent.nameChanges.areStill(since: $0) } ?? true
            let link = Link(parent: parent, name: EntryName(copying: name))
            guard hasOtherNames, state.link != nil else {
                let isNew = state.link == nil
                guard isNew || isCertain else { return .doubtful }
                state.link = link
                state.otherLinks = []
                if isCertain { state.pin = nil }
                return isNew ? .new : .known
            }
            let known = state.otherLinks.contains { $0.parent === parent && $0.name == link.name }
            if !known && state.otherLinks.count < Self.maximumOtherLinks { state.otherLinks.append(link) }
            return .known
        }
    }

    /// Another version of the document has taken the name, by a process's save; `pin` keeps this one reachable.
    func superseded(by process: SaveProcess?, pin: Pin?) {
        state.withLock { state in
            state.isSuperseded = true
            state.superseded = (at: cl_monotonic_ns(), by: process)
            state.lastLink = state.link ?? state.lastLink
            state.link = nil
            state.pin = pin
        }
    }

    /// Another version has taken its name within a second: requests that found it by that may be on their way.
    var wasJustSuperseded: Bool {
        state.withLock { $0.superseded.map { cl_monotonic_ns() - $0.at < 1_000_000_000 } ?? false }
    }

    /// Whether those who open the document to read it are to come to another node.
    var hasLostReaders: Bool {
        isDisplaced.load(ordering: .sequentiallyConsistent) || isExchanged.load(ordering: .sequentiallyConsistent)
    }

    /// Whether a program has the node's own file open by it.
    var isOpenAsItself: Bool { state.withLock { $0.handles.contains { $0.served === self && !$0.isElsewhere } } }

    /// The file has changed places with a copy of it, whose node has its name from now on: it is the working copy of a save.
    func exchanged(pin: Pin) {
        state.withLock { state in
            state.lastLink = state.link
            state.link = nil
            state.pin = pin
            state.pages = nil
        }
    }

    /// Names beyond these are found again by their next lookup.
    private static let maximumOtherLinks = 16

    /// A name is gone; `pin` keeps the file reachable if it was the last one known. `isLast`: it has no other.
    func lost(in parent: Node, name: UnsafePointer<CChar>, pin: Pin?, isLast: Bool) {
        state.withLock { state in
            if isLast { state.isRemoved = true }
            state.otherLinks.removeAll { $0.parent === parent && $0.name.matches(name) }
            if let link = state.link, link.parent === parent, link.name.matches(name) {
                state.link = state.otherLinks.popLast()
                if state.link == nil { state.lastLink = link }
            }
            if state.link == nil { state.pin = state.pin ?? pin }
        }
    }

    /// The mount has made it.
    func wasMade() {
        made.store(cl_monotonic_ns(), ordering: .relaxed)
        wasNamed()
    }

    /// The mount itself gave it a name.
    func wasNamed() { named.store(cl_monotonic_ns(), ordering: .relaxed) }

    /// Whether the mount gave it a name in the last moments, of which inotify may tell now.
    var wasLatelyNamed: Bool { cl_monotonic_ns() - named.load(ordering: .relaxed) < 1_000_000_000 }

    /// The node was renamed.
    func moved(from parent: Node, name: UnsafePointer<CChar>, to newParent: Node, newName: UnsafePointer<CChar>) {
        wasNamed()
        let link = Link(parent: newParent, name: EntryName(copying: newName))
        state.withLock { state in
            if state.isSuperseded { return }
            if let index = state.otherLinks.firstIndex(where: { $0.parent === parent && $0.name.matches(name) }) {
                state.otherLinks[index] = link
            } else {
                state.link = link
            }
        }
    }

    /// As deep as a path of PATH_MAX bytes can be.
    private static let maximumDepth = 2_048

    /// Whether the name is one of those under which it was seen last.
    func isKnown(as name: UnsafePointer<CChar>, in parent: Node) -> Bool {
        state.withLock { state in
            state.link.map { $0.parent === parent && $0.name.matches(name) } == true
                || state.otherLinks.contains { $0.parent === parent && $0.name.matches(name) }
        }
    }

    var currentLink: Link? { state.withLock { $0.link } }

    /// The name under which it stands, or stood last.
    var place: Link? { state.withLock { $0.link ?? $0.lastLink } }

    /// The node's path in the store by the names last seen; nil if it has none any more, or is so deep that no path leads there. A
    /// claim's version of a document has the document's. O(depth).
    var path: StorePath? {
        var names: [EntryName] = []
        var node = self
        // Folders swapped from outside may make their last seen names a circle.
        while names.count < Self.maximumDepth, let link = node.currentLink {
            names.append(names.isEmpty ? link.shownName ?? link.name : link.name)
            node = link.parent
        }
        guard node.isRoot else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(names.reduce(0) { $0 + $1.bytes.count + 1 })
        for name in names.reversed() {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "/")) }
            bytes.append(contentsOf: name.bytes)
        }
        return StorePath(unchecked: bytes)
    }
}
