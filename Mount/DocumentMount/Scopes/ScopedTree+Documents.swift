import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// The folder of a granted document: the document, and what programs make beside it to save it (`GrantedFiles`).
extension ScopedTree {
    /// The grant of a folder in which files can be made; nil for any other node. Throws EROFS if the grant is for reading alone.
    func documentFolder(_ node: NodeID) throws(Errno) -> Grant? {
        guard case .top(let grant) = try place(node), grant.target.isRegular else { return nil }
        if grant.isReadOnly { throw .readOnlyFileSystem }
        return grant
    }

    /// The entry of a name in the folder of a grant.
    func entry(ofTop grant: Grant, _ name: BorrowedName, _ caller: Caller) throws(Errno) -> Entry {
        let (link, caller) = (grant.link, caller.within(grant))
        if link.name.matches(name) {
            return grant.files.isMovedAside ? .absent(validity: .none) : scoped(try files.lookup(caller, in: link.parent, name: name), grant)
        }
        guard let file = grant.files.file(EntryName(copying: name)) else { return .absent(validity: .none) }
        return scoped(
            try file.hidden.withCString { (hidden) throws(Errno) in
                try files.lookUp(hidden, in: file.folder, try files.locator.folder(file.folder), caller)
            }, grant)
    }

    func created(
        in grant: Grant, _ name: BorrowedName, _ caller: Caller, mode: mode_t, flags: Int32
    ) throws(Errno) -> (entry: Entry, handle: FileHandle, mode: OpenMode) {
        let (link, caller) = (grant.link, caller.within(grant))
        try files.checkRoom(for: .openFiles, caller)
        try checkMayChange(link, caller)
        if link.name.matches(name) {
            let created: (entry: Entry, handle: FileHandle, mode: OpenMode)
            if grant.files.isMovedAside {
                // To everybody else it never went: what is made is saved as the next version of it.
                created = try files.createAgain(caller, in: link.parent, name: name, mode: mode, flags: flags | O_TRUNC)
                grant.files.note(isMovedAside: false)
            } else {
                created = try files.creating(caller, in: link.parent, name: name, mode: mode, flags: flags)
            }
            note(.appeared, name, in: table.id(of: link.parent), isFolder: false, caller)
            return created
        }
        try grant.files.checkRoom()
        let name = EntryName(copying: name)
        let hidden = files.saves.store.stagedName(for: name)
        let created = try name.withCString { (shown) throws(Errno) in
            try files.createdForClaim(caller, in: link.parent, name: shown, as: hidden, nil, mode: mode, flags: flags)
        }
        // A file that is made to take the document's place takes over its tags and the like (`FileNameTunnel`).
        created.1.node.state.withLock { $0.made = FileNameTunnel.Creator(caller) }
        replace(name, in: grant, by: .init(folder: link.parent, hidden: hidden))
        return created
    }

    func unlink(_ name: BorrowedName, in grant: Grant, _ caller: Caller) throws(Errno) {
        let (link, caller) = (grant.link, caller.within(grant))
        if link.name.matches(name) {
            guard !grant.files.isMovedAside else { throw .noSuchFileOrDirectory }
            try checkMayChange(link, caller)
            try files.unlink(caller, in: table.id(of: link.parent), name: name)
            return note(.disappeared, name, in: table.id(of: link.parent), isFolder: false, caller)
        }
        guard grant.files.file(EntryName(copying: name)) != nil else { throw .noSuchFileOrDirectory }
        replace(EntryName(copying: name), in: grant, by: nil)
    }

    func rename(_ name: BorrowedName, to newName: BorrowedName, in grant: Grant, flags: UInt32, _ caller: Caller) throws(Errno) {
        guard flags & ~CL_RENAME_NOREPLACE == 0 else { throw .invalidArgument }
        let (link, caller) = (grant.link, caller.within(grant))
        let (old, new) = (EntryName(copying: name), EntryName(copying: newName))
        let isThere = new == link.name ? !grant.files.isMovedAside : grant.files.file(new) != nil
        if flags & CL_RENAME_NOREPLACE != 0, isThere { throw .fileExists }
        if old == new { return }
        if old == link.name { return try moveAside(grant, to: new, caller) }
        guard let file = grant.files.file(old) else { throw .noSuchFileOrDirectory }
        guard new == link.name else {
            grant.files.set(old, nil)
            return replace(new, in: grant, by: file)
        }
        try checkMayChange(link, caller)
        try file.hidden.withCString { (hidden) throws(Errno) in
            try files.rename(
                caller, from: table.id(of: file.folder), name: hidden, to: table.id(of: link.parent), newName: newName,
                flags: grant.files.isMovedAside ? 0 : flags)
        }
        grant.files.set(old, nil)
        grant.files.note(isMovedAside: false)
        note(.contentChanged, newName, in: table.id(of: link.parent), isFolder: false, caller)
    }

    /// The document stays where it is for everybody else; the program gets a copy under the new name. Throws EXDEV if there can be none, upon which
    /// programs copy it themselves.
    private func moveAside(_ grant: Grant, to name: EntryName, _ caller: Caller) throws(Errno) {
        guard !grant.files.isMovedAside else { throw .noSuchFileOrDirectory }
        try grant.files.checkRoom()
        let link = grant.link
        let folder = try files.locator.folder(link.parent)
        try checkMayChange(link, caller)
        guard let path = link.parent.path?.appending(link.name), files.tags.access.may(files.credentials(of: caller), path, R_OK) else {
            throw .permissionDenied
        }
        let copy = try link.name.withCString { (old) throws(Errno) in
            try name.withCString { (new) throws(Errno) in try files.copied(old, folder, to: new, folder, by: files.privileges.user(caller)) }
        }
        replace(name, in: grant, by: .init(folder: link.parent, hidden: copy))
        grant.files.note(isMovedAside: true)
    }

    /// Throws EACCES if the caller may not change names in the document's own folder: the kernel has judged the grant's.
    private func checkMayChange(_ link: Node.Link, _ caller: Caller) throws(Errno) {
        let folder = try files.locator.folder(link.parent)
        let old = try? link.name.withCString { (name) throws(Errno) in try Descriptor.named(name, in: folder, flags: CL_O_PATH | O_NOFOLLOW) }
        guard files.tags.access.mayChangeName(files.credentials(of: caller), in: folder, of: old) else { throw .permissionDenied }
    }

    private func replace(_ name: EntryName, in grant: Grant, by file: GrantedFiles.File?) {
        if let before = grant.files.set(name, file) { files.remove([before]) }
        // It has ended meanwhile, and all that was there is removed.
        if grant.isOver { files.remove(grant.files.take()) }
    }
}

extension MountedFileSystem {
    /// Removes files that programs have made beside a granted document.
    func remove(_ granted: [GrantedFiles.File]) {
        for file in granted {
            guard let folder = try? locator.folder(file.folder) else { continue }
            try? file.hidden.withCString { (name) throws(Errno) in
                try locator.changingNames(in: file.folder) { () throws(Errno) in
                    let removed = pendingUnlink(name, in: folder, by: geteuid())
                    _ = try check(cl_unlinkat(folder.number, name, 0))
                    removed?.wentAway(in: file.folder, name: name, table)
                }
            }
        }
    }
}
