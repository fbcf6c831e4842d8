import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// The layer of virtual items: virtual folders and snapshots with all in them, and the names by which folders of the store lead to them.
///
/// `VirtualItem` declares the operations that an item can have; the items carry them out. One file of this type for each operation family.
final class VirtualTree: FileSystemLayer {
    let next: MountedFileSystem
    let folders: VirtualFolders?
    /// Nil without virtual folders.
    let thumbnails: DocumentThumbnails?

    init(before next: MountedFileSystem, _ parts: VirtualFolders.Parts?) {
        self.next = next
        guard let parts else {
            (thumbnails, folders) = (nil, nil)
            return
        }
        let service = DocumentThumbnails(
            parts.thumbnailer, store: next.store, packages: next.packages, mountPoint: parts.mountPoint, access: parts.access, replayer: next.replayer,
            table: next.table, session: next.session, shares: next.shares, log: next.log)
        next.journal.follower = { service.voidShown($0) }
        (thumbnails, folders) = (service, VirtualFolders(parts, thumbnails: service))
    }

    var table: NodeTable { next.table }
    var shares: UserShares { next.shares }

    func credentials(of caller: Caller) -> Credentials { next.credentials(of: caller) }

    // MARK: - Names

    /// The virtual folder of a name in the mount's root.
    private func topItem(named name: BorrowedName) -> (any VirtualItem)? {
        SnapshotsFolder.name.matches(name) ? next.snapshots.folder : folders?.folder(named: name)
    }

    /// Whether a name in a folder stands for a virtual item.
    func isVirtual(_ name: BorrowedName, in folder: Node) -> Bool {
        folder.item != nil || folder.isRoot && name[0] == CChar(UInt8(ascii: ".")) && topItem(named: name) != nil
    }

    /// Nothing of the store can have these names at the root, and nothing is made in a virtual folder but through its item.
    func refuseVirtual(_ parent: Node, _ name: BorrowedName) throws(Errno) {
        if parent.item != nil || parent.isRoot && isReserved(name) { throw .notPermitted }
    }

    func isReserved(_ name: BorrowedName) -> Bool { SnapshotsFolder.name.matches(name) || folders?.isReserved(name) == true }

    func lookup(_ caller: Caller, in parent: NodeID, name: BorrowedName, reply: consuming Reply<Entry>) {
        let folder = table.node(parent)
        if let item = folder.item { return lookUp(name, in: item, caller, reply) }
        guard Self.mayBeVirtual(name) else { return next.lookup(caller, in: parent, name: name, reply: reply) }
        if folder.isRoot, let item = topItem(named: name) {
            return answer(reply) { () throws(Errno) in try topEntry(item, caller) }
        }
        let isFileManagerLookup = noteFileManager(name, in: folder, caller)
        let shared = sharedThumbnails(name, in: folder)
        guard isFileManagerLookup || shared != nil else { return next.lookup(caller, in: parent, name: name, reply: reply) }
        answer(reply) { () throws(Errno) in
            var entry = try next.lookup(caller, in: folder, name: name)
            if entry.node == .none, let shared { return try table.entry(for: shared, credentials(of: caller)) }
            // The next time that a file manager shows the folder is to be heard of, too.
            if isFileManagerLookup { entry.validity = .none }
            return entry
        }
    }

    /// The entry of a name that a folder of the store lists; one without a node if the kernel is not to look it up in the listing.
    func listedEntry(_ name: BorrowedName, in folder: Node, _ caller: Caller) throws(Errno) -> Entry {
        guard Self.mayBeVirtual(name) else { return try next.lookup(caller, in: folder, name: name) }
        if folder.isRoot, let item = topItem(named: name) { return try topEntry(item, caller) }
        return Self.isFileManagers(name) ? .absent(validity: .none) : try next.lookup(caller, in: folder, name: name)
    }

    private func topEntry(_ item: any VirtualItem, _ caller: Caller) throws(Errno) -> Entry {
        var entry = try table.entry(for: item, credentials(of: caller))
        // The folder is there for everybody, as long as the mount; only what it shows depends on who asks.
        if item is any PersonalFolder { entry.validity = .untilNotified }
        return entry
    }

    /// Whether a name in a folder of the store may mean something in this layer, by its first two bytes.
    @inline(__always)
    private static func mayBeVirtual(_ name: BorrowedName) -> Bool {
        name[0] == CChar(UInt8(ascii: ".")) && secondBytes & bit(of: UInt8(bitPattern: name[1])) != 0
    }

    private static let ownNames = VirtualFolders.names + [SnapshotsFolder.name, PreviewsFolder.name, ScopesFolder.name, SharedThumbnails.name]
    private static let secondBytes = (ownNames + namesOfFileManagers)
        .reduce(UInt32(0)) { $0 | bit(of: $1.bytes.dropFirst().first ?? 0) }

    private static func bit(of byte: UInt8) -> UInt32 { 1 << (UInt32(byte) & 31) }

    private func lookUp(_ name: BorrowedName, in folder: any VirtualItem, _ caller: Caller, _ reply: consuming Reply<Entry>) {
        if let pictures = folder as? ThumbnailFolder, let picture = unrendered(name, in: pictures, caller) {
            return wait(for: picture, caller, in: pictures, EntryName(copying: name), reply)
        }
        if let preview = folder as? any PreviewTreeItem {
            let name = EntryName(copying: name)
            return wait(for: { preview.needed(for: name) }, of: preview, caller, reply) { [unowned self] reply in
                answerLookup(caller, in: preview, name, reply)
            }
        }
        answer(reply) { () throws(Errno) in try entry(under: name, in: folder, caller) }
    }

    /// Answers a LOOKUP that has waited.
    func answerLookup(_ caller: Caller, in folder: any VirtualItem, _ name: EntryName, _ reply: consuming Reply<Entry>) {
        answer(reply) { () throws(Errno) in
            try name.withCString { (name) throws(Errno) in try entry(under: name, in: folder, caller) }
        }
    }

    func entry(under name: BorrowedName, in folder: any VirtualItem, _ caller: Caller) throws(Errno) -> Entry {
        noteFileManager(name, in: folder, caller)
        let credentials = credentials(of: caller)
        if let shared = sharedThumbnails(name, in: folder) { return try table.entry(for: shared, credentials) }
        // A picture that is announced: only what is not there can be made.
        if folder is ThumbnailFolder, isAnnouncing(caller), let entry = announcedEntry(name, in: folder, credentials) { return entry }
        do throws(Errno) {
            return try table.entry(for: try folder.found(EntryName(copying: name), credentials), credentials)
        } catch .noSuchFileOrDirectory {
            try folder.checkHasItsName(credentials)
            throw .noSuchFileOrDirectory
        }
    }

    func readLink(_ caller: Caller, node: NodeID, _ body: (UnsafePointer<CChar>) -> Void) throws(Errno) {
        guard let item = table.node(node).item else { return try next.readLink(caller, node: node, body) }
        try item.linkTarget().withUnsafeBytes { body($0.assumingMemoryBound(to: CChar.self).baseAddress!) }
    }

    func statistics(_ caller: Caller, node: NodeID) throws(Errno) -> statvfs {
        try next.statistics(caller, node: table.node(node).item == nil ? node : table.id(of: table.root))
    }

    // MARK: - Attributes

    func attributes(_ caller: Caller, of node: NodeID, handle: HandleID?) throws(Errno) -> Attributes {
        let known = table.node(node)
        guard let item = known.item else { return try next.attributes(shownTo: caller, of: known).0 }
        return try attributes(of: item, known, caller)
    }

    func attributesWithBirth(_ caller: Caller, of node: NodeID) throws(Errno) -> (Attributes, birth: Int64) {
        let known = table.node(node)
        guard let item = known.item else { return try next.attributes(shownTo: caller, of: known) }
        return (try attributes(of: item, known, caller), 0)
    }

    private func attributes(of item: any VirtualItem, _ node: Node, _ caller: Caller) throws(Errno) -> Attributes {
        // An open file goes on to show what it showed when it was opened.
        if node.state.withLock({ $0.handles.isEmpty }) { try item.checkIsCurrent() }
        let status = try item.attributes(credentials(of: caller), inode: node.identity.inode)
        return Attributes(status: status, validity: item.attributesValidity)
    }

    func change(_ caller: Caller, node: NodeID, handle: HandleID?, to changes: AttributeRequest) throws(Errno) -> Attributes {
        let known = table.node(node)
        guard let item = known.item else { return try next.change(caller, node: node, handle: handle, to: changes) }
        try item.checkMayChangeAttributes()
        return Attributes(status: try item.attributes(credentials(of: caller), inode: known.identity.inode), validity: .none)
    }

    func control(_ caller: Caller, node: NodeID, request: UInt32, input: UnsafeRawBufferPointer, outputSize: Int) throws(Errno) -> [UInt8] {
        guard table.node(node).item == nil else { throw .inappropriateIOCTLForDevice }
        return try next.control(caller, node: node, request: request, input: input, outputSize: outputSize)
    }
}

extension NodeTable {
    /// An entry that the kernel must ask for again, most at each lookup: another user may see something else.
    func entry(for item: any VirtualItem, _ caller: Credentials) throws(Errno) -> Entry {
        let identity = item.identity
        let status = try item.attributes(caller, inode: identity.inode)
        let node = lookedUp(identity, type: item.type, on: .local, item: item)
        return Entry(
            node: node.id, generation: node.generation, attributes: Attributes(status: status, validity: item.attributesValidity),
            validity: item.validity)
    }
}
