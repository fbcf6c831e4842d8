import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    /// By whose permissions virtual folders show and change things. Asked once a request.
    func credentials(of caller: Caller) -> Credentials { tags.access.credentials(of: caller) }

    /// An entry that the kernel must ask for again, most at each lookup: another user may see something else.
    func entry(for item: any VirtualItem, _ caller: Credentials) throws(Errno) -> Entry {
        let identity = item.identity
        let status = try item.attributes(caller, inode: identity.inode)
        let node = table.lookedUp(identity, type: item.type, on: .local, item: item)
        return Entry(
            node: node.id, generation: node.generation, attributes: Attributes(status: status, validity: item.validity),
            validity: item.validity)
    }

    func listing(of item: any VirtualItem, _ caller: Credentials, _ node: Node) throws(Errno) -> [FolderHandle.ListedEntry] {
        let up = FolderHandle.ListedEntry(name: EntryName(".."), inode: table.root.identity.inode, type: S_IFDIR)
        let own = FolderHandle.ListedEntry(name: EntryName("."), inode: node.identity.inode, type: S_IFDIR)
        return [own, up]
            + (try item.children(caller)).map { name, child in
                FolderHandle.ListedEntry(
                    name: name, inode: child.identity.inode, type: child.type, item: item is ThumbnailFolder ? child : nil)
            }
    }

    /// The document a node is: a regular file with a name in the store.
    func document(_ node: Node) throws(Errno) -> StorePath {
        guard node.item == nil, node.isRegular, let path = saves.named(node).path else { throw .notPermitted }
        return path
    }

    /// A rename from or into a virtual folder.
    func renameVirtual(
        _ caller: Caller, from parent: Node, _ name: BorrowedName, to newParent: Node, _ newName: BorrowedName, flags: UInt32
    ) throws(Errno) {
        guard flags & ~CL_RENAME_NOREPLACE == 0 else { throw .invalidArgument }
        let (name, newName) = (EntryName(copying: name), EntryName(copying: newName))
        switch (parent.item, newParent.item) {
        case (let source?, let target?):
            try source.rename(name, to: target, newName, credentials(of: caller))
        case (nil, let target?):
            try moveIntoVirtual(caller, parent, name, target, newName)
        case (let source?, nil):
            try moveOutOfVirtual(caller, source, name, newParent, newName)
        case (nil, nil): return
        }
        // The kernel moves what it knew under the old name to the new one: neither is so.
        session.current?.notifier.nameChanged(newName, in: newParent, table)
        session.current?.notifier.nameChanged(name, in: parent, table)
    }

    /// A document moved into a tag's folder is tagged and stays where it is; so is what a link leads to, back from the trash.
    private func moveIntoVirtual(
        _ caller: Caller, _ parent: Node, _ name: EntryName, _ target: any VirtualItem, _ newName: EntryName
    ) throws(Errno) {
        let folder = try locator.folder(parent)
        let status = try FileStatus(of: name, in: folder)
        switch status.st.st_mode & S_IFMT {
        case S_IFREG:
            guard let path = parent.path?.appending(name) else { throw .staleNFSFileHandle }
            try target.add(path, newName, credentials(of: caller))
        case S_IFLNK where isTrash(parent):
            let path = try link(name, in: folder)
            _ = try target.addLink(newName, target: path, credentials(of: caller))
            _ = try check(name.withCString { cl_unlinkat(folder.number, $0, 0) })
        default:
            throw .notPermitted
        }
    }

    /// A link moved to the desktop's trash is taken from its folder: the document loses the tag and nothing else.
    private func moveOutOfVirtual(
        _ caller: Caller, _ source: any VirtualItem, _ name: EntryName, _ newParent: Node, _ newName: EntryName
    ) throws(Errno) {
        guard isTrash(newParent) else { throw .notPermitted }
        let credentials = credentials(of: caller)
        let link = try source.found(name, credentials)
        guard link.type == S_IFLNK, let virtualFolders else { throw .notPermitted }
        let folder = try locator.folder(newParent)
        // The same document from where the link is now, so that the trash can give it back.
        var target = try link.linkTarget()
        if let path = newParent.path, let document = virtualFolders.document(ofLink: link) {
            target = VirtualLink.target(of: document, fromDepth: path.depth) + [0]
        }
        try privileges.acting(as: caller, mode: 0) { () throws(Errno) in
            _ = try check(
                newName.withCString { newName in
                    target.withUnsafeBytes {
                        cl_symlinkat($0.assumingMemoryBound(to: CChar.self).baseAddress!, folder.number, newName)
                    }
                })
        }
        do throws(Errno) {
            try source.remove(name, credentials)
        } catch {
            _ = newName.withCString { cl_unlinkat(folder.number, $0, 0) }
            throw error
        }
    }

    /// A trash folder at the mount's top: `.Trash-UID/files` or `.Trash/UID/files` (freedesktop.org trash specification).
    private func isTrash(_ folder: Node) -> Bool {
        guard let first = folder.path?.names.first else { return false }
        return first.bytes.starts(with: ".Trash".utf8)
    }

    private func link(_ name: EntryName, in folder: Descriptor) throws(Errno) -> [UInt8] {
        try withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { (buffer) throws(Errno) in
            let length = try check(
                name.withCString {
                    cl_readlinkat(folder.number, $0, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
                })
            return Array(buffer.prefix(length))
        }
    }
}
