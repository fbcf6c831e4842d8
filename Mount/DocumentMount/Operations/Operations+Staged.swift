import CLinux
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Names that stand for other files within claims (`ClaimTransactions`).
extension MountedFileSystem {
    /// LOOKUP in a folder with staged names.
    func lookUpStaged(_ name: BorrowedName, in parent: Node, _ folder: Descriptor, _ caller: Caller) throws(Errno) -> Entry {
        let shown = EntryName(copying: name)
        guard parent.staged.load()?[shown].isEmpty == false else { return try lookUp(name, in: parent, folder, caller) }
        return try transactions.visibility.shared { () throws(Errno) in
            var entry: Entry
            if let staged = transactions.staged(shown, in: parent, for: caller) {
                guard let hidden = staged.hidden else { return .absent(validity: .none) }
                entry = try hidden.withCString { (name) throws(Errno) in try lookUp(name, in: parent, folder, caller) }
                transactions.shareLocks(table.node(entry.node), staged)
            } else {
                do throws(Errno) {
                    entry = try lookUp(name, in: parent, folder, caller)
                } catch .noSuchFileOrDirectory {
                    return .absent(validity: .none)
                }
            }
            entry.validity = .none
            return entry
        }
    }

    /// What who lists a folder is to see of its staged names.
    struct StagedView {
        let names: StagedNames
        let transactions: ClaimTransactions
        let folder: Node
        let caller: Caller

        /// Nil: a hidden version that is not to be listed, since its document is, or that is nobody else's.
        func shownName(of hidden: BorrowedName) -> EntryName? {
            let hidden = EntryName(copying: hidden)
            guard let shown = names.shownName(of: hidden), let staged = transactions.staged(shown, in: folder, for: caller),
                staged.hidden == hidden, staged.base == nil
            else { return nil }
            return shown
        }

        func isRemoved(_ name: BorrowedName) -> Bool {
            let name = EntryName(copying: name)
            return transactions.staged(name, in: folder, for: caller).map { $0.hidden == nil } ?? false
        }
    }

    /// Nil if no name in the folder is staged.
    func stagedView(of folder: Node, _ caller: Caller) -> StagedView? {
        guard let names = folder.staged.load(), names.isUsed else { return nil }
        return StagedView(names: names, transactions: transactions, folder: folder, caller: caller)
    }

    /// Makes a file or symbolic link: at once, or for the claim that the caller works for under a hidden name.
    func makingFile<Result>(
        _ name: BorrowedName, in parent: Node, _ caller: Caller, atOnce: () throws(Errno) -> Result,
        _ body: (EntryName, StagedNames.Staged?) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed) else { return try atOnce() }
        if transactions.staged(EntryName(copying: name), in: parent, for: caller)?.isRemovedFolder == true {
            try clearRemoved(caller, in: parent, name: name)
        }
        return try transactions.making(name, in: parent, caller, atOnce: atOnce, body)
    }

    // MARK: - rename(2)

    /// A rename of or to a name that a claim has for itself. False if it is none.
    func renameStaged(
        _ caller: Caller, from old: (parent: Node, name: BorrowedName), to new: (parent: Node, name: BorrowedName), flags: UInt32
    ) throws(Errno) -> Bool {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed) else { return false }
        let (folder, newFolder) = (try locator.folder(old.parent), try locator.folder(new.parent))
        try clearForRename(of: old, to: new, caller)
        var isFolder = false
        let found = try transactions.renaming(from: old, to: new, flags: flags, caller) { (place) throws(Errno) in
            try place.withCString { (place) throws(Errno) in
                try copyAside(old.name, folder, to: place, in: new.parent, newFolder, by: privileges.user(caller))
            }
        } rename: { (source, target) throws(Errno) in
            try source.withCString { (source) throws(Errno) in
                try target.withCString { (target) throws(Errno) in
                    try publishSaves(of: source, in: folder, before: caller)
                    isFolder = try renamed(caller, (old.parent, source), folder, (new.parent, target), newFolder)
                }
            }
        }
        guard let found else { return false }
        // The kernel has given the old entry the new name.
        session.current?.notifier.nameChanged(EntryName(copying: new.name), in: new.parent, table)
        if let hidden = found.target?.hidden {
            if found.target?.base != nil { takeOver(from: new.name, in: newFolder, by: hidden) }
            // As who has it open is shown it in /proc.
            node(hidden, in: newFolder)?.saved.load()?.note(EntryName(copying: new.name))
        }
        if found.target == nil { journal.made(in: new.parent, name: new.name, by: caller, isIndexed: !isFolder) }
        if found.source == nil { journal.removed(in: old.parent, name: old.name, by: caller) }
        return true
    }

    /// A folder that the claim has removed goes at once if something is renamed to its name, and so does a file that it has
    /// removed if a folder is.
    private func clearForRename(
        of old: (parent: Node, name: BorrowedName), to new: (parent: Node, name: BorrowedName), _ caller: Caller
    ) throws(Errno) {
        guard let removed = transactions.staged(EntryName(copying: new.name), in: new.parent, for: caller), removed.hidden == nil
        else { return }
        let source = EntryName(copying: old.name)
        if !removed.isRemovedFolder {
            if transactions.staged(source, in: old.parent, for: caller) != nil { return }
            if try transactions.base(of: source, in: old.parent, isFile: true) != nil { return }
        }
        try clearRemoved(caller, in: new.parent, name: new.name)
    }

    /// What the kernel knows by a name in the store.
    func node(_ name: EntryName, in folder: Descriptor) -> Node? { name.withCString { knownNode($0, in: folder) } }

    func knownNode(_ name: BorrowedName, in folder: Descriptor) -> Node? {
        return (try? FileStatus(of: name, in: folder)).flatMap { table.known(FileIdentity($0)) }
    }

    /// A document that its claim moves aside stays under its name for all others: a copy gets the other name. Throws EXDEV if there
    /// can be none, upon which mv(1) copies it itself.
    private func copyAside(
        _ name: BorrowedName, _ folder: Descriptor, to newName: BorrowedName, in newParent: Node, _ newFolder: Descriptor,
        by user: ActingUser
    ) throws(Errno) {
        let copy = try copied(name, folder, to: newName, newFolder, by: user)
        try locator.names.changing { () throws(Errno) in
            let replaced = pendingUnlink(newName, in: newFolder, by: user.uid)
            let result = copy.withCString { cl_renameat2(newFolder.number, $0, newFolder.number, newName, 0) }
            if result < 0 { _ = copy.withCString { cl_unlinkat(newFolder.number, $0, 0) } }
            _ = try check(result)
            replaced?.wentAway(in: newParent, name: newName, table)
        }
    }

    /// The hidden name of a copy of a document or symbolic link.
    func copied(
        _ name: BorrowedName, _ folder: Descriptor, to newName: BorrowedName, _ newFolder: Descriptor,
        by user: ActingUser
    ) throws(Errno) -> EntryName {
        let document: Descriptor
        do throws(Errno) {
            document = try Descriptor.named(name, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch .tooManySymbolicLinkLevels {
            let copy = saves.store.stagedName(for: EntryName(copying: newName))
            try withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { (target) throws(Errno) in
                target[try check(cl_readlinkat(folder.number, name, target.baseAddress, Int(PATH_MAX)))] = 0
                _ = try check(copy.withCString { cl_symlinkat(target.baseAddress, newFolder.number, $0) })
            }
            return copy
        }
        do throws(WorkingCopyRefusal) {
            let working = try saves.store.workingCopy(of: document, status: nil, in: newFolder, by: user)
            do throws(Errno) { return try working.stage(in: newFolder).name } catch { throw .unmade(error) }
        } catch .unmade(let error) {
            throw error
        } catch {
            throw .improperLink
        }
    }

    /// What hangs on the document, its tags and comments, goes on to the file that takes its place.
    func takeOver(from name: BorrowedName, in folder: Descriptor, by hidden: EntryName) {
        guard let old = try? Descriptor.named(name, in: folder, flags: CL_O_PATH | O_NOFOLLOW),
            let new = try? Descriptor.named(hidden, in: folder, flags: CL_O_PATH | O_NOFOLLOW)
        else { return }
        InheritedAttributes.copy(from: old, to: new)
    }
}
