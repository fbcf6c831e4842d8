import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Listings of virtual folders.
extension VirtualTree {
    func openFolder(_ caller: Caller, node: NodeID, reply: consuming Reply<OpenedFolder>) {
        let folder = table.node(node)
        guard let item = folder.item else {
            return next.answer(reply) { () throws(Errno) in
                try next.openFolder(caller, folder, entriesAfter: folder.isRoot ? folders?.listed ?? [] : [])
            }
        }
        if let preview = item as? any PreviewTreeItem {
            return wait(for: { preview.neededToOpen }, of: preview, caller, reply) { [unowned self] reply in
                answerOpening(item, folder, caller, reply)
            }
        }
        answerOpening(item, folder, caller, reply)
    }

    private func answerOpening(_ item: any VirtualItem, _ folder: Node, _ caller: Caller, _ reply: consuming Reply<OpenedFolder>) {
        next.answer(reply) { () throws(Errno) in
            try next.checkRoom(for: .openFolders, caller)
            let credentials = credentials(of: caller)
            try item.checkHasItsName(credentials)
            let handle = FolderHandle(.list(item, credentials), shares, caller.uid)
            try handle.begin(try listing(of: item, credentials, folder))
            noteOpening(of: item, caller)
            return next.handOver(handle, cached: false)
        }
    }

    private static let dots = [EntryName("."), EntryName("..")]

    private func listing(of item: any VirtualItem, _ caller: Credentials, _ node: Node) throws(Errno) -> [FolderHandle.ListedEntry] {
        let dots = zip(Self.dots, [node, table.root]).map { name, folder in
            FolderHandle.ListedEntry(name: name, inode: folder.identity.inode, type: S_IFDIR)
        }
        return dots
            + (try item.children(caller)).map { name, child in
                FolderHandle.ListedEntry(
                    name: name, inode: child.identity.inode, type: child.type, item: item is ThumbnailFolder ? child : nil)
            }
    }

    func readFolder(
        _ caller: Caller, node: NodeID, handle: HandleID, offset: Int64, plus: Bool, into buffer: inout DirectoryBuffer
    ) throws(Errno) {
        let (folder, opened) = (table.node(node), FolderHandle.of(handle))
        guard case .list(let item, let opener) = opened.source else {
            return try next.readFolder(caller, folder, opened, offset: offset, plus: plus, into: &buffer) { (name) throws(Errno) in
                try listedEntry(name, in: folder, caller)
            }
        }
        if plus { opened.beginListing(of: folder) } else { opened.endListing() }
        try opened.listed(from: offset) { () throws(Errno) in
            try listing(of: item, opener, folder)
        } _: { entry in add(entry, of: item, caller, plus: plus, to: &buffer) }
        if buffer.isEmpty { opened.endListing() }
    }

    /// Adds an entry of a list; false when the buffer is full.
    private func add(
        _ entry: FolderHandle.ListedEntry, of folder: any VirtualItem, _ caller: Caller, plus: Bool, to buffer: inout DirectoryBuffer
    ) -> Bool {
        entry.name.withCString { name in
            guard plus else { return buffer.add(name: name, inode: entry.inode, type: entry.type, next: entry.offset) }
            guard buffer.fits(nameLength: strlen(name)) else { return false }
            // As it was when the list was made, a moment ago.
            if let item = entry.item {
                guard let found = try? table.entry(for: item, credentials(of: caller)) else { return true }
                return buffer.add(name: name, entry: found, next: entry.offset)
            }
            // Where the kernel may remember nothing it would look each name up again at once.
            if !Self.dots.contains(entry.name), folder.validity != .none, var found = try? self.entry(under: name, in: folder, caller) {
                if let validity = folder.listedValidity { found.validity = validity }
                return buffer.add(name: name, entry: found, next: entry.offset)
            }
            return buffer.add(name: name, entry: .nameOnly(inode: entry.inode, type: entry.type), next: entry.offset)
        }
    }

    func synchronizeFolder(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno) {
        guard case .list = FolderHandle.of(handle).source else {
            return try next.synchronizeFolder(caller, handle: handle, dataOnly: dataOnly)
        }
        // Tags are attributes of the store's files.
        let folder = try next.locator.reopened(next.store.root, flags: O_RDONLY | O_DIRECTORY)
        _ = try check(cl_fsync(folder.number, dataOnly ? 1 : 0))
    }
}
