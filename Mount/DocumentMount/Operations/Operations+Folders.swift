import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func openFolder(_ caller: Caller, node: NodeID, reply: consuming Reply<OpenedFolder>) {
        if let preview = table.node(node).item as? any PreviewTreeItem {
            return wait(for: { preview.neededToOpen }, of: preview, caller, reply) { [unowned self] reply in answerOpening(node, caller, reply) }
        }
        answerOpening(node, caller, reply)
    }

    private func answerOpening(_ node: NodeID, _ caller: Caller, _ reply: consuming Reply<OpenedFolder>) {
        let folder: OpenedFolder
        do throws(Errno) { folder = try openFolder(caller, node: node) } catch { return reply.fail(error) }
        if !reply.succeed(folder) { releaseFolder(folder.handle) }
    }

    private func openFolder(_ caller: Caller, node: NodeID) throws(Errno) -> OpenedFolder {
        let node = table.node(node)
        try checkRoom(for: .openFolders, caller)
        if let item = node.item {
            let credentials = credentials(of: caller)
            let handle = FolderHandle(.list(item, credentials), shares, caller.uid)
            try handle.begin(try listing(of: item, credentials, node))
            noteOpening(of: item, caller)
            return opened(handle, cached: false)
        }
        let descriptor = try locator.reopened(try locator.folder(node), flags: O_RDONLY | O_DIRECTORY)
        let isTheSameForAll = node.staged.load().map { !$0.isUsed } ?? true
        let after = node.isRoot ? virtualFolders?.listed ?? [] : []
        let handle = FolderHandle(.store(descriptor, after: after), shares, caller.uid)
        return opened(handle, cached: cacheTime != .none && isTheSameForAll, keepsListing: !saves.changedFolders.contains(node))
    }

    private func opened(_ handle: FolderHandle, cached: Bool, keepsListing: Bool = true) -> OpenedFolder {
        openHandles.add(1, ordering: .relaxed)
        return OpenedFolder(handle: handle.handedToKernel(), cached: cached, keepsListing: keepsListing)
    }

    func readFolder(
        _ caller: Caller, node: NodeID, handle: HandleID, offset: Int64, plus: Bool, into buffer: inout DirectoryBuffer
    ) throws(Errno) {
        let (node, handle) = (table.node(node), FolderHandle.of(handle))
        // The kernel has taken in the answers that this handle was given before: an app reads at one place at a time.
        if plus { handle.beginListing(of: node) } else { handle.endListing() }
        let view = stagedView(of: node, caller)
        switch handle.source {
        case .list(let item, let opener):
            try handle.listed(from: offset) { () throws(Errno) in
                try listing(of: item, opener, node)
            } _: { entry in add(entry, caller, in: node, view, plus: plus, to: &buffer) }
        case .store(let descriptor, let after):
            try handle.entries(from: offset, of: descriptor, after: after) { entry in
                // Put there outside since: the virtual folder has the name.
                if !after.isEmpty, after.contains(where: { $0.name.matches(entry.name) }) { return true }
                return add(
                    caller, in: node, view, name: entry.name, inode: entry.inode, type: mode_t(entry.type) << 12,
                    next: entry.next_offset, plus: plus, to: &buffer)
            } _: { entry in add(entry, caller, in: node, view, plus: plus, to: &buffer) }
        }
        if buffer.isEmpty { handle.endListing() }
    }

    /// Adds an entry of a list; false when the buffer is full.
    private func add(
        _ entry: FolderHandle.ListedEntry, _ caller: Caller, in folder: Node, _ view: StagedView?, plus: Bool,
        to buffer: inout DirectoryBuffer
    ) -> Bool {
        entry.name.withCString { name in
            if plus, let item = entry.item { return add(item, name, next: entry.offset, caller, to: &buffer) }
            return add(
                caller, in: folder, view, name: name, inode: entry.inode, type: entry.type, next: entry.offset, plus: plus, to: &buffer)
        }
    }

    /// Adds an entry as it was when the list was made, a moment ago; false when the buffer is full.
    private func add(
        _ item: any VirtualItem, _ name: BorrowedName, next: Int64, _ caller: Caller, to buffer: inout DirectoryBuffer
    ) -> Bool {
        guard buffer.fits(nameLength: strlen(name)) else { return false }
        guard let entry = try? entry(for: item, credentials(of: caller)) else { return true }
        return buffer.add(name: name, entry: entry, next: next)
    }

    /// Adds one entry; false when the buffer is full.
    private func add(
        _ caller: Caller, in folder: Node, _ view: StagedView?, name: BorrowedName, inode: UInt64, type: mode_t, next: Int64, plus: Bool,
        to buffer: inout DirectoryBuffer
    ) -> Bool {
        if isHidden(name) {
            guard let shown = view?.shownName(of: name) else { return true }
            return shown.withCString { name in
                add(caller, in: folder, nil, name: name, inode: inode, type: type, next: next, plus: plus, to: &buffer)
            }
        }
        if let view, view.isRemoved(name) { return true }
        let isDot = name[0] == CChar(UInt8(ascii: ".")) && (name[1] == 0 || (name[1] == CChar(UInt8(ascii: ".")) && name[2] == 0))
        // The kernel may remember nothing of what is virtual: it would look each name up again at once.
        guard plus, !isDot, folder.item.map({ $0.validity != .none }) ?? true else {
            if !plus { return buffer.add(name: name, inode: inode, type: type, next: next) }
            var status = stat()
            (status.st_ino, status.st_mode) = (ino_t(inode), type)
            let entry = Entry(
                node: .none, generation: 0, attributes: Attributes(status: status, validity: .none), validity: .none)
            return buffer.add(name: name, entry: entry, next: next)
        }
        // Before the lookup is counted.
        guard buffer.fits(nameLength: strlen(name)) else { return false }
        if let entry = try? lookup(caller, in: table.id(of: folder), name: name), entry.node != .none {
            if saves.mayBeListed(table.node(entry.node)) { return buffer.add(name: name, entry: entry, next: next) }
            forget(entry.node, count: 1)
        }
        // Gone since it was listed, not to be reached, or saved lately: the name alone.
        var status = stat()
        (status.st_ino, status.st_mode) = (ino_t(inode), type)
        return buffer.add(
            name: name,
            entry: Entry(node: .none, generation: 0, attributes: Attributes(status: status, validity: .none), validity: .none),
            next: next)
    }

    func releaseFolder(_ handle: HandleID) {
        FolderHandle.consume(handle).endListing()
        openHandles.subtract(1, ordering: .relaxed)
    }

    func synchronizeFolder(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno) {
        guard case .store(let descriptor, _) = FolderHandle.of(handle).source else {
            let folder = try locator.reopened(store.root, flags: O_RDONLY | O_DIRECTORY)
            _ = try check(cl_fsync(folder.number, dataOnly ? 1 : 0))
            return
        }
        _ = try check(cl_fsync(descriptor.number, dataOnly ? 1 : 0))
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
