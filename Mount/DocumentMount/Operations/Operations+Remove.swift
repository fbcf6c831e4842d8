import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func unlink(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        try remove(caller, in: table.node(parent), name: name, isFolder: false)
    }

    func removeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        try remove(caller, in: table.node(parent), name: name, isFolder: true)
    }

    private func remove(_ caller: Caller, in parent: Node, name: BorrowedName, isFolder: Bool) throws(Errno) {
        if isFolder {
            if try transactions.removingFolder(name, in: parent, caller) { return }
        } else if try removeStaged(caller, in: parent, name: name) {
            return
        }
        do throws(Errno) {
            try removeFromStore(in: parent, name: name, isFolder: isFolder, caller)
        } catch {
            // It may be empty but for what nobody sees.
            guard error == .directoryNotEmpty, try hiddenNamesAreRemoved(outOf: name, in: parent) else { throw error }
            try removeFromStore(in: parent, name: name, isFolder: isFolder, caller)
        }
        journal.removed(in: parent, name: name, by: caller)
    }

    /// Removes the hidden names in a folder. False if there were none.
    private func hiddenNamesAreRemoved(outOf name: BorrowedName, in parent: Node) throws(Errno) -> Bool {
        // These may be other folders', and this one have names of saves under way besides.
        let wereLeft = saves.store.leftNames.removeAgain()
        guard let status = try? FileStatus(of: name, in: try locator.folder(parent)) else { return wereLeft }
        let granted = grantedFiles?(FileIdentity(status)) ?? []
        remove(granted)
        guard saves.hasActiveDocuments else { return wereLeft || !granted.isEmpty }
        return saves.clearNames(outOf: FileIdentity(status)) || wereLeft || !granted.isEmpty
    }

    /// False if the name is nothing of a claim's.
    private func removeStaged(_ caller: Caller, in parent: Node, name: BorrowedName) throws(Errno) -> Bool {
        try transactions.removing(name, in: parent, caller) { (hidden) throws(Errno) in
            try hidden.withCString { (name) throws(Errno) in try removeFromStore(in: parent, name: name, isFolder: false, caller) }
        }
    }

    /// What the claim that the caller works for has removed goes at once, a folder with all in it, since something takes its place
    /// that is made at once. Should nothing of the claim be published, `quire recover` has the documents.
    /// Throws EBUSY if one of them cannot be kept, or others have put something into the folder.
    func clearRemoved(_ caller: Caller, in parent: Node, name: BorrowedName) throws(Errno) {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed) else { return }
        // What is in a folder goes before it. Not by recursion: the claim decides how deep a tree is.
        var waiting = [(parent: parent, name: EntryName(copying: name), isEmptied: false)]
        while let (parent, name, isEmptied) = waiting.popLast() {
            guard !isEmptied, let inside = try removedFolder(name, in: parent, caller) else {
                try clearRemoved(caller, in: parent, shown: name)
                continue
            }
            waiting.append((parent, name, true))
            for name in try transactions.names(in: inside) {
                guard transactions.staged(name, in: inside, for: caller).map({ $0.hidden == nil }) == true else { throw .resourceBusy }
                waiting.append((inside, name, false))
            }
        }
    }

    /// The folder under a name, if the claim that the caller works for has removed it and it is still there.
    private func removedFolder(_ name: EntryName, in parent: Node, _ caller: Caller) throws(Errno) -> Node? {
        guard let staged = transactions.staged(name, in: parent, for: caller), staged.isRemovedFolder, let base = staged.base,
            try transactions.base(of: name, in: parent)?.identity == base.identity
        else { return nil }
        return node(name, in: try locator.folder(parent))
    }

    /// One name; a folder is empty.
    private func clearRemoved(_ caller: Caller, in parent: Node, shown: EntryName) throws(Errno) {
        guard let staged = transactions.staged(shown, in: parent, for: caller), staged.hidden == nil, let base = staged.base
        else { return }
        let folder = try locator.folder(parent)
        if try transactions.base(of: shown, in: parent)?.identity == base.identity {
            if base.type == S_IFREG {
                guard let path = parent.path?.appending(shown),
                    (try? saves.store.keepRemoved(shown, in: folder, document: path, by: privileges.user(caller))) != nil
                else { throw .resourceBusy }
            }
            try shown.withCString { (name) throws(Errno) in
                try removeFromStore(in: parent, name: name, isFolder: staged.isRemovedFolder, caller)
                journal.removed(in: parent, name: name, by: caller)
            }
        }
        transactions.unstage(ClaimTransactions.Place(folder: parent, name: shown), for: staged.claim)
    }

    private func removeFromStore(in parent: Node, name: BorrowedName, isFolder: Bool, _ caller: Caller) throws(Errno) {
        let folder = try locator.folder(parent)
        try locator.changingNames(in: parent) { () throws(Errno) in
            while true {
                let pendingUnlink = self.pendingUnlink(name, in: folder, by: caller.uid)
                let isSame = { () throws(Errno) in self.knownNode(name, in: folder) === pendingUnlink?.node }
                let isDone: Void? = try namesStanding(of: pendingUnlink?.node, isSame: isSame) { () throws(Errno) in
                    try parent.nameChanges.during { () throws(Errno) in
                        let attributes = pendingUnlink?.attributes(under: name, in: folder)
                        try expectingRemoval(of: name, in: parent) { () throws(Errno) in
                            _ = try check(cl_unlinkat(folder.number, name, isFolder ? AT_REMOVEDIR : 0))
                        }
                        pendingUnlink?.wentAway(in: parent, name: name, table)
                        tunnel.removed(attributes, from: parent, name, owner: pendingUnlink?.owner ?? 0, by: caller)
                    }
                }
                if isDone != nil { return }
            }
        }
    }

    /// Runs what takes a name away.
    func expectingRemoval(of name: BorrowedName, in parent: Node, _ remove: () throws(Errno) -> Void) throws(Errno) {
        ownRemovals.expect(name, in: parent)
        do throws(Errno) {
            try remove()
        } catch {
            ownRemovals.take(EntryName(copying: name), in: parent.identity)
            throw error
        }
    }

    /// A node about to lose a name. If it is the last name, the file is held by an O_PATH descriptor: who still has it open
    /// without a handle (O_PATH, a working folder) finds it as on any Linux file system.
    struct PendingUnlink {
        let node: Node
        let pin: Pin?
        let isLastLink: Bool
        let owner: uid_t

        /// The attributes of a document whose last name this is; nil if it has none, as nearly all do, which costs one system call.
        func attributes(under name: BorrowedName, in folder: Descriptor) -> InheritedAttributes? {
            guard isLastLink, node.isRegular, cl_attribute_list_size(folder.number, name) > 0 else { return nil }
            return pin.flatMap { InheritedAttributes(of: $0.file) }
        }

        /// The name is gone now.
        func wentAway(in parent: Node, name: BorrowedName, _ table: NodeTable) {
            node.lost(in: parent, name: name, pin: pin, isLast: isLastLink)
            if isLastLink { table.detach(node) }
        }
    }

    /// The file under a name that is about to go, if the kernel knows it. Within `Locator.changingNames`.
    func pendingUnlink(_ name: BorrowedName, in folder: Descriptor, by user: uid_t) -> PendingUnlink? {
        // unlinkat(2) refuses to remove a mount point (EBUSY), so the file system mounted there need not be asked.
        guard let status = try? FileStatus(of: name, in: folder), !status.isMountRoot else { return nil }
        return pendingUnlink(name, in: folder, status, by: user)
    }

    func pendingUnlink(_ name: BorrowedName, in folder: Descriptor, _ status: cl_status, by user: uid_t) -> PendingUnlink? {
        guard let node = table.known(FileIdentity(status)) else { return nil }
        let file = try? Descriptor.named(name, in: folder, flags: CL_O_PATH | O_NOFOLLOW)
        return PendingUnlink(
            node: node, pin: Pin(file, for: user, of: shares), isLastLink: status.st.st_nlink <= 1 || node.isFolder,
            owner: status.st.st_uid)
    }
}
