import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func openFolder(_ caller: Caller, node: NodeID, reply: consuming Reply<OpenedFolder>) {
        answer(reply) { () throws(Errno) in try openFolder(caller, table.node(node), entriesAfter: []) }
    }

    /// Answers with a folder that was opened.
    func answer(_ reply: consuming Reply<OpenedFolder>, _ open: () throws(Errno) -> OpenedFolder) {
        let folder: OpenedFolder
        do throws(Errno) { folder = try open() } catch { return reply.fail(error) }
        if !reply.succeed(folder) { releaseFolder(folder.handle) }
    }

    /// - Parameter after: entries that its listings have after the store's.
    func openFolder(_ caller: Caller, _ node: Node, entriesAfter after: [FolderHandle.ListedEntry]) throws(Errno) -> OpenedFolder {
        try checkRoom(for: .openFolders, caller)
        let descriptor = try locator.reopened(try locator.folder(node), flags: O_RDONLY | O_DIRECTORY)
        let isTheSameForAll = node.staged.load().map { !$0.isUsed } ?? true
        let handle = FolderHandle(.store(descriptor, after: after), shares, caller.uid)
        return handOver(
            handle, cached: cacheTime != .none && isTheSameForAll, keepsListing: !saves.changedFolders.contains(node))
    }

    func handOver(_ handle: FolderHandle, cached: Bool, keepsListing: Bool = true) -> OpenedFolder {
        openHandles.add(1, ordering: .relaxed)
        return OpenedFolder(handle: handle.handedToKernel(), cached: cached, keepsListing: keepsListing)
    }

    func readFolder(
        _ caller: Caller, node: NodeID, handle: HandleID, offset: Int64, plus: Bool, into buffer: inout DirectoryBuffer
    ) throws(Errno) {
        let node = table.node(node)
        try readFolder(caller, node, FolderHandle.of(handle), offset: offset, plus: plus, into: &buffer) { (name) throws(Errno) in
            try lookup(caller, in: node, name: name)
        }
    }

    /// - Parameter lookUp: for READDIRPLUS; of an entry without a node the listing has the name alone.
    func readFolder(
        _ caller: Caller, _ node: Node, _ handle: FolderHandle, offset: Int64, plus: Bool, into buffer: inout DirectoryBuffer,
        lookUp: (BorrowedName) throws(Errno) -> Entry
    ) throws(Errno) {
        // The virtual tree reads what it has opened.
        guard case .store(let descriptor, let after) = handle.source else { throw .badFileDescriptor }
        // The kernel has taken in the answers that this handle was given before: an app reads at one place at a time.
        if plus { handle.beginListing(of: node) } else { handle.endListing() }
        let view = stagedView(of: node, caller)
        try handle.entries(from: offset, of: descriptor, after: after) { entry in
            // Put there outside since: the virtual folder has the name.
            if !after.isEmpty, after.contains(where: { $0.name.matches(entry.name) }) { return true }
            return add(
                caller, in: node, view, name: entry.name, inode: entry.inode, type: mode_t(entry.type) << 12,
                next: entry.next_offset, plus: plus, to: &buffer, lookUp)
        } _: { entry in
            entry.name.withCString { name in
                add(entry.item, name, inode: entry.inode, type: entry.type, next: entry.offset, caller, plus: plus, to: &buffer)
            }
        }
        if buffer.isEmpty { handle.endListing() }
    }

    /// Adds a virtual folder; false when the buffer is full.
    private func add(
        _ item: (any VirtualItem)?, _ name: BorrowedName, inode: UInt64, type: mode_t, next: Int64, _ caller: Caller, plus: Bool,
        to buffer: inout DirectoryBuffer
    ) -> Bool {
        guard plus else { return buffer.add(name: name, inode: inode, type: type, next: next) }
        guard buffer.fits(nameLength: strlen(name)) else { return false }
        let entry = item.flatMap { try? table.entry(for: $0, credentials(of: caller)) }
        return buffer.add(name: name, entry: entry ?? .nameOnly(inode: inode, type: type), next: next)
    }

    /// Adds one entry; false when the buffer is full.
    private func add(
        _ caller: Caller, in folder: Node, _ view: StagedView?, name: BorrowedName, inode: UInt64, type: mode_t, next: Int64, plus: Bool,
        to buffer: inout DirectoryBuffer, _ lookUp: (BorrowedName) throws(Errno) -> Entry
    ) -> Bool {
        if isHidden(name) {
            guard let shown = view?.shownName(of: name) else { return true }
            return shown.withCString { name in
                add(caller, in: folder, nil, name: name, inode: inode, type: type, next: next, plus: plus, to: &buffer, lookUp)
            }
        }
        if let view, view.isRemoved(name) { return true }
        let isDot = name[0] == CChar(UInt8(ascii: ".")) && (name[1] == 0 || (name[1] == CChar(UInt8(ascii: ".")) && name[2] == 0))
        guard plus else { return buffer.add(name: name, inode: inode, type: type, next: next) }
        // Before the lookup is counted.
        guard buffer.fits(nameLength: strlen(name)) else { return false }
        if !isDot, let entry = try? lookUp(name), entry.node != .none {
            if saves.mayBeListed(table.node(entry.node)) { return buffer.add(name: name, entry: entry, next: next) }
            forget(entry.node, count: 1)
        }
        // Gone since it was listed, not to be reached, or saved lately.
        return buffer.add(name: name, entry: .nameOnly(inode: inode, type: type), next: next)
    }

    func releaseFolder(_ handle: HandleID) {
        FolderHandle.consume(handle).endListing()
        openHandles.subtract(1, ordering: .relaxed)
    }

    func synchronizeFolder(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno) {
        guard case .store(let descriptor, _) = FolderHandle.of(handle).source else { throw .badFileDescriptor }
        _ = try check(cl_fsync(descriptor.number, dataOnly ? 1 : 0))
    }
}

extension Entry {
    /// An entry of a listing whose file was not looked up.
    static func nameOnly(inode: UInt64, type: mode_t) -> Entry {
        var status = stat()
        (status.st_ino, status.st_mode) = (ino_t(inode), type)
        return Entry(node: .none, generation: 0, attributes: Attributes(status: status, validity: .none), validity: .none)
    }
}

extension FolderHandle.ReadAhead {
    /// Every entry of a folder.
    static func all(of descriptor: Descriptor, _ body: (cl_dirent) -> Void) throws(Errno) {
        var ahead = FolderHandle.ReadAhead()
        _ = try ahead.entries(from: 0, of: descriptor) { entry in
            body(entry)
            return true
        }
    }
}
