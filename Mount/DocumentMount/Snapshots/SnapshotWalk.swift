import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Opens what stands at some places of the store, folders with all that is in them, and tells whether names changed meanwhile.
struct SnapshotWalk {
    let table: NodeTable
    let pins: SnapshotPins
    let access: AccessChecker
    /// For whom it is. What that user may not read is not pinned, and folders that it may not search are not listed.
    let share: SnapshotShare
    let takesFolders: Bool
    /// Whether the snapshot is for who works for a claim, and sees what was saved within it.
    private let worksFor: @Sendable (ClaimID) -> Bool
    /// The regular files, pinned: unpin them when the walk is of no use.
    private(set) var documents: [SnapshotEntry] = []
    /// How many files and folders.
    private var count = 0
    /// What stood at the paths asked for.
    private struct Named {
        let folder: StorePath
        let folderIdentity: FileIdentity?
        /// Its name in the store; nil: the whole store, or what is removed for whom the snapshot is for.
        let name: EntryName?
        let identity: FileIdentity?
    }
    private var named: [Named] = []
    /// Folders yet to be listed. Not by recursion: an app decides how deep a tree is.
    private var unlisted: [(item: SnapshotFolder, inode: Descriptor)] = []
    /// Of each folder, what shows that names in it are the same still.
    private var folders: [(folder: Descriptor, status: cl_status, known: (node: Node, moment: NameChanges.Moment)?)] = []

    init(
        table: NodeTable, pins: SnapshotPins, access: AccessChecker, for share: SnapshotShare, takesFolders: Bool = true,
        worksFor: @escaping @Sendable (ClaimID) -> Bool
    ) {
        self.worksFor = worksFor
        self.table = table
        self.pins = pins
        self.access = access
        self.share = share
        self.takesFolders = takesFolders
    }

    /// What stands at a path, with all that is in it; nil if there is nothing. `key` is the claim's: each item gets one made of it
    /// and its number. Throws .tooManyOpenFiles if the share has no room, .isDirectory for a folder that is not to be taken.
    mutating func item(at path: StorePath, key: [UInt8]) throws(Errno) -> (any VirtualItem)? {
        guard let folder = try folder(path.parent) else {
            named.append(Named(folder: path.parent, folderIdentity: nil, name: nil, identity: nil))
            return nil
        }
        var place: EntryName?
        var inode: Descriptor?
        if let name = path.lastName {
            place = self.place(of: name, in: names(stagedIn: folder))
            inode = try place.flatMap { (name) throws(Errno) in try opened(name, in: folder) }
        } else {
            inode = folder
        }
        named.append(
            Named(folder: path.parent, folderIdentity: Self.identity(of: folder), name: place, identity: inode.flatMap(Self.identity)))
        guard let inode else { return nil }
        guard share.takeFile() else { throw .tooManyOpenFiles }
        let one = try found(inode)
        let found = try item(one, in: folder, mayBeUsed: maySearch(path.parent, folder) && mayBeUsed([one]) == [true], key: key)
        while let (folder, inode) = unlisted.popLast() { folder.fill(try entries(of: inode, key: key)) }
        return found
    }

    /// Nil if there is none. No link on the way is followed: the path's folders are where a lookup through the mount found them.
    private func folder(_ path: StorePath) throws(Errno) -> Descriptor? {
        do throws(Errno) {
            return try access.store.open(path, flags: CL_O_PATH | O_NOFOLLOW | O_DIRECTORY)
        } catch {
            if error == .noSuchFileOrDirectory || error == .notDirectory || error == .improperLink { return nil }
            throw error
        }
    }

    /// Nil if there is nothing, or what a snapshot leaves out.
    private func opened(_ name: EntryName, in folder: Descriptor) throws(Errno) -> Descriptor? {
        do throws(Errno) {
            return try .named(name, in: folder, flags: CL_O_PATH | O_NOFOLLOW)
        } catch {
            if error == .noSuchFileOrDirectory || error == .improperLink { return nil }
            throw error
        }
    }

    private static func identity(of file: Descriptor) -> FileIdentity? {
        return (try? FileStatus(of: file)).map { FileIdentity($0) }
    }

    private func names(stagedIn folder: Descriptor) -> StagedNames? {
        guard let status = try? FileStatus(of: folder), let names = table.known(FileIdentity(status))?.staged.load(), names.isUsed
        else { return nil }
        return names
    }

    /// Under which name in the store an item stands for whom the snapshot is for; nil: it is removed.
    private func place(of name: EntryName, in names: StagedNames?) -> EntryName? {
        guard let staged = names?[name].last(where: { worksFor($0.claim) }) else { return name }
        return staged.hidden
    }

    /// As which item a name in the store is taken, if at all.
    private func shownName(of name: EntryName, in names: StagedNames?) -> EntryName? {
        guard name.withCString(HiddenName.isHidden) else { return name }
        guard let names, let shown = names.shownName(of: name), let staged = names[shown].last(where: { worksFor($0.claim) }),
            staged.hidden == name, staged.base == nil
        else { return nil }
        return shown
    }

    private struct Found {
        let inode: Descriptor
        let status: cl_status

        var isFolder: Bool { status.isFolder }
    }

    private func found(_ inode: Descriptor) throws(Errno) -> Found {
        guard share.takeFile() else { throw .tooManyOpenFiles }
        return Found(inode: inode, status: try FileStatus(of: inode))
    }

    /// Whether the holder may search the folders of a path: they may have been closed since the claim was asked for.
    private func maySearch(_ path: StorePath, _ folder: Descriptor) -> Bool {
        if access.isUnlimited(share.holder) { return true }
        guard let held = access.held(path, by: share.holder, X_OK), let there = Self.identity(of: held) else { return false }
        return there == Self.identity(of: folder)
    }

    /// Which files the holder may read, and which folders it may search.
    private func mayBeUsed(_ found: [Found]) -> [Bool] {
        access.filter(found.map { ($0.inode, $0.isFolder ? X_OK : R_OK) }, share.holder)
    }

    /// A folder is still to be listed.
    private mutating func item(
        _ found: Found, in folder: Descriptor, mayBeUsed: Bool, key: [UInt8]
    ) throws(Errno) -> any VirtualItem {
        count += 1
        // Of one size, however deep it lies.
        let key = key + withUnsafeBytes(of: count) { Array($0) }
        let (inode, status) = (found.inode, found.status)
        guard found.isFolder else {
            let isDocument = status.isRegular
            let entry = SnapshotEntry(
                key: key, status: status, inode: inode, in: folder, isWithheld: isDocument && !mayBeUsed, for: share)
            if isDocument, mayBeUsed {
                pins.pin(entry)
                documents.append(entry)
            }
            return entry
        }
        guard takesFolders else { throw .isDirectory }
        let node = table.known(FileIdentity(status))
        folders.append((inode, status, node.map { ($0, $0.nameChanges.now) }))
        let item = SnapshotFolder(key: key, status: status, inode: inode)
        if mayBeUsed { unlisted.append((item, inode)) }
        return item
    }

    private mutating func entries(of folder: Descriptor, key: [UInt8]) throws(Errno) -> [(EntryName, any VirtualItem)] {
        let readable = try withProcPath(of: folder) { (path) throws(Errno) in
            try Descriptor(opening: path, flags: O_RDONLY | O_DIRECTORY)
        }
        var names: [EntryName] = []
        try FolderHandle.ReadAhead.all(of: readable) { entry in
            if !Self.isDot(entry.name) { names.append(EntryName(copying: entry.name)) }
        }
        let staged = self.names(stagedIn: folder)
        var inside: [(name: EntryName, found: Found)] = []
        for name in names.compactMap({ shownName(of: $0, in: staged) }) {
            guard let place = place(of: name, in: staged) else { continue }
            // What is gone since it was listed the check of the folder's times will tell.
            guard let inode = try opened(place, in: folder) else { continue }
            inside.append((name, try found(inode)))
        }
        var entries: [(EntryName, any VirtualItem)] = []
        for ((name, found), mayBeUsed) in zip(inside, mayBeUsed(inside.map(\.found))) {
            entries.append((name, try item(found, in: folder, mayBeUsed: mayBeUsed, key: key)))
        }
        return entries
    }

    private static func isDot(_ name: UnsafePointer<CChar>) -> Bool { strcmp(name, ".") == 0 || strcmp(name, "..") == 0 }

    /// Whether the same stands at the paths as did when they were looked at, and the folders have the same names. Within
    /// `names.still`.
    func isStill() -> Bool {
        named.allSatisfy { isStill($0) } && areFoldersStill()
    }

    private func isStill(_ named: Named) -> Bool {
        guard let folder = try? folder(named.folder) else { return named.folderIdentity == nil }
        guard Self.identity(of: folder) == named.folderIdentity else { return false }
        guard let name = named.name else { return true }
        guard let found = try? opened(name, in: folder) else { return named.identity == nil }
        return Self.identity(of: found) == named.identity
    }

    private func areFoldersStill() -> Bool {
        folders.allSatisfy { folder, before, known in
            var now = cl_status()
            guard cl_statx_fd(folder.number, &now) == 0, Node.Seen(now.st) == Node.Seen(before.st) else { return false }
            // Changes within a tick of the file system's clock may not show in its times.
            return known.map { $0.node.nameChanges.areStill(since: $0.moment) } ?? true
        }
    }
}
