import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Making, removing and moving what stands in virtual folders.
extension VirtualTree {
    func makeNode(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, device: dev_t) throws(Errno) -> Entry {
        if isAnnouncing(caller) { return try announced(name, in: table.node(parent), caller) }
        try refuseVirtual(table.node(parent), name)
        return try next.makeNode(caller, in: parent, name: name, mode: mode, device: device)
    }

    func makeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t) throws(Errno) -> Entry {
        if let item = table.node(parent).item {
            let caller = credentials(of: caller)
            return try table.entry(for: try item.makeFolder(EntryName(copying: name), caller), caller)
        }
        try refuseVirtual(table.node(parent), name)
        return try next.makeFolder(caller, in: parent, name: name, mode: mode)
    }

    func makeSymbolicLink(_ caller: Caller, in parent: NodeID, name: BorrowedName, target: UnsafePointer<CChar>) throws(Errno) -> Entry {
        if let item = table.node(parent).item {
            let caller = credentials(of: caller)
            let target = Array(UnsafeRawBufferPointer(start: target, count: strlen(target)))
            return try table.entry(for: try item.addLink(EntryName(copying: name), target: target, caller), caller)
        }
        try refuseVirtual(table.node(parent), name)
        return try next.makeSymbolicLink(caller, in: parent, name: name, target: target)
    }

    func link(_ caller: Caller, node: NodeID, in parent: NodeID, name: BorrowedName) throws(Errno) -> Entry {
        let (linked, folder) = (table.node(node), table.node(parent))
        if let item = folder.item {
            guard linked.item == nil else { throw .notPermitted }
            try item.add(try next.document(linked), EntryName(copying: name), credentials(of: caller))
            // The kernel asks for the linked node itself; the next lookup of the name shows the symbolic link.
            let status = try next.locator.status(of: linked)
            var entry = next.entry(for: table.lookedUp(linked.identity, type: linked.type, on: linked.mountKind), status)
            entry.validity = .none
            return entry
        }
        try refuseVirtual(folder, name)
        guard linked.item == nil else { throw .notPermitted }
        return try next.link(caller, node: node, in: parent, name: name)
    }

    func create(
        _ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, flags: Int32, reply: consuming Reply<CreatedFile>
    ) {
        do throws(Errno) { try refuseVirtual(table.node(parent), name) } catch { return reply.fail(error) }
        next.create(caller, in: parent, name: name, mode: mode, flags: flags, reply: reply)
    }

    func createTemporary(_ caller: Caller, in parent: NodeID, mode: mode_t, flags: Int32, reply: consuming Reply<CreatedFile>) {
        guard table.node(parent).item == nil else { return reply.fail(.notSupported) }
        next.createTemporary(caller, in: parent, mode: mode, flags: flags, reply: reply)
    }

    func unlink(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        let folder = table.node(parent)
        if let item = folder.item {
            return try found(in: item, caller) { (caller) throws(Errno) in try item.remove(EntryName(copying: name), caller) }
        }
        if folder.isRoot, folders?.folder(named: name) != nil { throw .notPermitted }
        try next.unlink(caller, in: parent, name: name)
    }

    func removeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        let folder = table.node(parent)
        if let item = folder.item {
            return try found(in: item, caller) { (caller) throws(Errno) in try item.removeFolder(EntryName(copying: name), caller) }
        }
        if folder.isRoot, folders?.folder(named: name) != nil { throw .notPermitted }
        try next.removeFolder(caller, in: parent, name: name)
    }

    func rename(
        _ caller: Caller, from parent: NodeID, name: BorrowedName, to newParent: NodeID, newName: BorrowedName, flags: UInt32
    ) throws(Errno) {
        let (folder, newFolder) = (table.node(parent), table.node(newParent))
        if folder.item != nil || newFolder.item != nil {
            return try renameVirtual(caller, from: folder, name, to: newFolder, newName, flags: flags)
        }
        if folder.isRoot, folders?.folder(named: name) != nil { throw .notPermitted }
        if newFolder.isRoot, isReserved(newName) { throw .notPermitted }
        try next.rename(caller, from: parent, name: name, to: newParent, newName: newName, flags: flags)
    }

    /// Throws ESTALE where a name is not found in a folder that the kernel has under another one's name.
    private func found<Result>(
        in folder: any VirtualItem, _ caller: Caller, _ body: (Credentials) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let credentials = credentials(of: caller)
        do throws(Errno) { return try body(credentials) } catch .noSuchFileOrDirectory {
            try folder.checkHasItsName(credentials)
            throw .noSuchFileOrDirectory
        }
    }

    /// A rename from or into a virtual folder.
    private func renameVirtual(
        _ caller: Caller, from parent: Node, _ name: BorrowedName, to newParent: Node, _ newName: BorrowedName, flags: UInt32
    ) throws(Errno) {
        guard flags & ~CL_RENAME_NOREPLACE == 0 else { throw .invalidArgument }
        let (name, newName) = (EntryName(copying: name), EntryName(copying: newName))
        switch (parent.item, newParent.item) {
        case (let source?, let target?):
            try found(in: source, caller) { (caller) throws(Errno) in try source.rename(name, to: target, newName, caller) }
        case (nil, let target?):
            try moveIntoVirtual(caller, parent, name, target, newName)
        case (let source?, nil):
            try moveOutOfVirtual(caller, source, name, newParent, newName)
        case (nil, nil): return
        }
        // The kernel moves what it knew under the old name to the new one: neither is so.
        next.session.current?.notifier.nameChanged(newName, in: newParent, table)
        next.session.current?.notifier.nameChanged(name, in: parent, table)
    }

    /// A document moved into a tag's folder is tagged and stays where it is; so is what a link leads to, back from the trash.
    private func moveIntoVirtual(
        _ caller: Caller, _ parent: Node, _ name: EntryName, _ target: any VirtualItem, _ newName: EntryName
    ) throws(Errno) {
        let folder = try next.locator.folder(parent)
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
        guard link.type == S_IFLNK, let folders else { throw .notPermitted }
        let folder = try next.locator.folder(newParent)
        // The same document from where the link is now, so that the trash can give it back.
        var target = try link.linkTarget()
        if let path = newParent.path, let document = folders.document(ofLink: link) {
            target = VirtualLink.target(of: document, fromDepth: path.depth) + [0]
        }
        try next.privileges.acting(as: caller, mode: 0) { () throws(Errno) in
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
