import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// What a claim's holder and its descendants do to names and documents.
extension ClaimTransactions {
    /// An open for writing, or truncate(2), of a document of the store. Copies it for the claim that the caller works for, and
    /// throws ESTALE, upon which the kernel walks the path again and finds the copy; `flags` are those of the open, `isOpen` is
    /// false for truncate(2). Returns if there is no such claim, or nothing to copy.
    func openForWriting(_ node: Node, flags: Int32, isOpen: Bool = true, _ caller: Caller) throws(Errno) {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed), node.isRegular, let link = node.currentLink, !link.isStaged,
            !saves.staleRetries.isKnown(caller.thread, flags: flags), node.saved.load()?.working(node) == nil
        else { return }
        guard isClaimed(link.name, link.parent) else { return }
        let isStaged = staged(link.name, in: link.parent, for: caller)?.hidden != nil
        var copy = try isStaged ? nil : self.copy(node, link, caller)
        if !isStaged, copy == nil { return }
        defer { if let copy { remove(copy.staged.name, in: link.parent, by: caller) } }
        _ = try staging(link.name, in: link.parent) { () throws(Errno) -> Void? in
            var hidden = staged(link.name, in: link.parent, for: caller)?.hidden
            if hidden == nil, let made = copy {
                let now = node.currentLink
                guard now?.parent === link.parent, now?.name == link.name else { throw .staleNFSFileHandle }
                let user = saves.access.credentials(of: caller)
                try reserve(link.name, in: link.parent, for: made.claim, by: user)
                hidden = made.staged.name
                let staged = StagedNames.Staged(
                    claim: made.claim, hidden: hidden, base: made.base, caller: caller, user: user, copy: made.staged, document: node)
                enter(link.name, in: link.parent, staged)
                copy = nil
            }
            guard let hidden else { throw .staleNFSFileHandle }
            beginSave(of: hidden, in: link.parent, flags: flags, caller)
            // Taken by the open that follows.
            if isOpen { saves.staleRetries.note(caller.thread, flags: flags) }
            throw .staleNFSFileHandle
        }
    }

    /// A document's copy, that nobody knows of yet.
    private struct Copy {
        let claim: ClaimID
        let staged: StagedCopy
        let base: StagedNames.Base
    }

    /// Copies a document for the claim that the caller works for, under a hidden name; nil if there is no such claim, or the document is
    /// none that can be copied, and is written in place. Throws where the disk or the daemon has no room for a copy: in place, what the
    /// claim's programs leave half done could not be undone. With no lock held: it may take long.
    private func copy(_ node: Node, _ link: Node.Link, _ caller: Caller) throws(Errno) -> Copy? {
        guard let claim = claim(for: link.name, in: link.parent, caller) else { return nil }
        let folder = try locator.folder(link.parent)
        let document: Descriptor
        do throws(Errno) { document = try locator.opened(node, flags: O_RDONLY) } catch .permissionDenied { return nil }
        let status = try FileStatus(of: document)
        guard status.st.st_nlink == 1 else { return nil }
        let working: WorkingCopy
        do throws(WorkingCopyRefusal) {
            working = try saves.store.workingCopy(of: document, status: status, in: folder, by: saves.privileges.user(caller))
        } catch .room {
            throw .noSpace
        } catch .unmade(let error) where !Self.refusingNames.contains(error) {
            throw error
        } catch .attribute(let failure) where failure.errno == .noSpace || failure.errno == .diskQuotaExceeded {
            throw failure.errno
        } catch {
            log.notice("\(node.path ?? .root): written in place, since it cannot be copied for its claim: \(error)")
            return nil
        }
        return Copy(claim: claim.id, staged: try working.stage(in: folder), base: StagedNames.Base(status))
    }

    /// The errors of a folder that takes no new names.
    private static let refusingNames: Set<Errno> = [.permissionDenied, .notPermitted, .readOnlyFileSystem]

    /// An open(2) is retried once. So if it begins a save of the version under the hidden name, it does so here.
    func beginSave(of hidden: EntryName, in parent: Node, flags: Int32, _ caller: Caller) {
        guard flags & O_TRUNC != 0, flags & O_ACCMODE != O_RDONLY, let folder = try? locator.folder(parent) else { return }
        guard let status = try? FileStatus(of: hidden, in: folder) else { return }
        let node = table.lookedUp(status)
        defer { table.forget(node, count: 1) }
        hidden.withCString { _ = node.seen(in: parent, name: $0, hasOtherNames: false) }
        shareLocks(node, parent.staged.load()?.staged(as: hidden))
        guard let opening = try? saves.open(node, flags: flags, caller, creates: true) else { return }
        // Live: nothing is opened yet.
        opening.abandon()
    }

    /// Locks on a document exclude those on a claim's copy of it.
    func shareLocks(_ node: Node, _ staged: StagedNames.Staged?) {
        guard let document = staged?.document, node.saved.load() == nil else { return }
        _ = saves.document(of: node, lockedAs: document.lockKey)
    }

    // MARK: - Names

    /// Where something is to be made under a name; nil: under the name itself. Throws .fileExists if the claim has something there.
    func making<Result>(
        _ name: BorrowedName, in parent: Node, _ caller: Caller, atOnce: () throws(Errno) -> Result,
        _ body: (EntryName, StagedNames.Staged?) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let shown = EntryName(copying: name)
        let result = try staging(shown, in: parent) { () throws(Errno) -> Result? in
            let staged = staged(shown, in: parent, for: caller)
            if staged?.hidden != nil { throw .fileExists }
            guard let claim = staged?.claim ?? claim(for: shown, in: parent, caller)?.id else { return nil }
            if staged == nil, try base(of: shown, in: parent) != nil { throw .fileExists }
            let hidden = saves.store.stagedName(for: shown)
            let user = saves.access.credentials(of: caller)
            try reserve(shown, in: parent, for: claim, by: user)
            let made = try body(hidden, staged)
            enter(shown, in: parent, StagedNames.Staged(
                claim: claim, hidden: hidden, base: staged?.base, caller: caller, user: user))
            return made
        }
        if let result { return result }
        return try atOnce()
    }

    /// unlink(2). False if it is nothing of a claim's.
    func removing(
        _ name: BorrowedName, in parent: Node, _ caller: Caller, _ remove: (EntryName) throws(Errno) -> Void
    ) throws(Errno) -> Bool {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed) else { return false }
        let shown = EntryName(copying: name)
        return try staging(shown, in: parent) { () throws(Errno) -> Bool? in
            if let staged = staged(shown, in: parent, for: caller) {
                guard let hidden = staged.hidden else { throw .noSuchFileOrDirectory }
                try remove(hidden)
                gone(shown, in: parent, staged)
                return true
            }
            guard let claim = claim(for: shown, in: parent, caller), claim.isContentOnly,
                let base = try base(of: shown, in: parent, isFile: true)
            else { return false }
            try stage(shown, in: parent, StagedNames.Staged(
                claim: claim.id, hidden: nil, base: base, caller: caller, user: saves.access.credentials(of: caller)))
            return true
        } ?? false
    }

    /// The claim's version is not under its hidden name any more.
    private func gone(_ name: EntryName, in parent: Node, _ staged: StagedNames.Staged) {
        if staged.base == nil { return unstage(Place(folder: parent, name: name), for: staged.claim) }
        enter(name, in: parent, StagedNames.Staged(
            claim: staged.claim, hidden: nil, base: staged.base, caller: staged.caller, user: staged.user))
    }

    /// rename(2) of a file. Nil if neither name is a claim's. `rename` is given the names as they are in the store, and `link`, in
    /// place of a rename, if the document is to stay where it is for all others: a copy goes to the new name then.
    func renaming(
        from old: (parent: Node, name: BorrowedName), to new: (parent: Node, name: BorrowedName), flags: UInt32, _ caller: Caller,
        copy: (EntryName) throws(Errno) -> Void, rename: (EntryName, EntryName) throws(Errno) -> Void
    ) throws(Errno) -> (source: StagedNames.Staged?, target: StagedNames.Staged?)? {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed) else { return nil }
        let (oldName, newName) = (EntryName(copying: old.name), EntryName(copying: new.name))
        return try staging(oldName, in: old.parent, (newName, new.parent)) {
            () throws(Errno) -> (source: StagedNames.Staged?, target: StagedNames.Staged?)? in
            if isMovedAtOnce(oldName, in: old.parent, to: newName, in: new.parent, caller) { return nil }
            let source = try renamed(oldName, in: old.parent, caller)
            var isUsual = false
            if source == nil { isUsual = try base(of: oldName, in: old.parent, isFile: true) == nil }
            let target = try renamedOver(newName, in: new.parent, source, caller)
            guard source != nil || target != nil else { return nil }
            // Folders and special files are renamed at once.
            if isUsual {
                if staged(newName, in: new.parent, for: caller) != nil { throw .resourceBusy }
                return nil
            }
            // Programs that exchange names know what to do without.
            if flags & ~CL_RENAME_NOREPLACE != 0 { throw .invalidArgument }
            if let source, source.hidden == nil, !source.isNew { throw .noSuchFileOrDirectory }
            if flags & CL_RENAME_NOREPLACE != 0, let target, target.isThere { throw .fileExists }
            try retryLookup(at: oldName, in: old.parent, caller)
            let place = target?.staged.hidden ?? newName
            let origin =
                source.map(\.staged.origin) ?? target.flatMap { self.origin(oldName, in: old.parent, for: $0.staged.claim) }
            if let source { try reserve(oldName, in: old.parent, for: source.staged.claim, by: source.staged.user) }
            if let target { try reserve(newName, in: new.parent, for: target.staged.claim, by: target.staged.user) }
            if let source, source.isNew {
                try copy(place)
            } else {
                try rename(source?.hidden ?? oldName, place)
            }
            if let source { gone(oldName, in: old.parent, source.staged) }
            if let target {
                var staged = target.staged
                staged.origin = origin
                enter(newName, in: new.parent, staged)
            }
            return (source?.staged, target?.staged)
        }
    }

    /// The kernel gives the old name's entry the new name, and what it leads to holds for those who work for the claim alone. So that it
    /// asks for that at the next use, the rename is answered ESTALE once: the kernel looks the old name up again, which is answered as not
    /// to be remembered.
    private func retryLookup(at name: EntryName, in folder: Node, _ caller: Caller) throws(Errno) {
        guard folder.staged.load()?[name].isEmpty ?? true, caller.thread > 0, !saves.renameRetries.take(caller.thread)
        else { return }
        saves.renameRetries.note(caller.thread, at: Node.Link(parent: folder, name: name))
        throw .staleNFSFileHandle
    }

    /// Whether a document is renamed that its claim is there to move, and nothing was saved of it yet, nor where it goes.
    private func isMovedAtOnce(
        _ name: EntryName, in parent: Node, to newName: EntryName, in newParent: Node, _ caller: Caller
    ) -> Bool {
        guard staged(name, in: parent, for: caller) == nil, staged(newName, in: newParent, for: caller) == nil,
            let claim = claim(for: name, in: parent, caller)
        else { return false }
        return !claim.isContentOnly
    }

    /// Where a document goes back to if it is not published under its new name: what was made within the claim goes with it.
    private func origin(_ name: EntryName, in parent: Node, for claim: ClaimID) -> Place? {
        guard let found = try? base(of: name, in: parent), coordinator.isHeld(claim) else { return nil }
        return wasMade(found.identity, within: claim) ? nil : Place(folder: parent, name: name)
    }

    /// Whether the mount has made a file since a claim was asked for.
    func wasMade(_ identity: FileIdentity, within claim: ClaimID) -> Bool {
        guard let since = coordinator.start(of: claim) else { return false }
        return table.known(identity)?.made.load(ordering: .relaxed) ?? 0 >= Int64(clamping: since)
    }

    private struct Source {
        let staged: StagedNames.Staged
        /// The document itself: it is not staged yet.
        let isNew: Bool
        var hidden: EntryName? { staged.hidden }
    }

    private func renamed(_ name: EntryName, in parent: Node, _ caller: Caller) throws(Errno) -> Source? {
        if let staged = staged(name, in: parent, for: caller) { return Source(staged: staged, isNew: false) }
        guard let claim = claim(for: name, in: parent, caller), claim.isContentOnly,
            let base = try base(of: name, in: parent, isFile: true)
        else { return nil }
        let user = saves.access.credentials(of: caller)
        return Source(
            staged: StagedNames.Staged(claim: claim.id, hidden: nil, base: base, caller: caller, user: user), isNew: true)
    }

    private struct Target {
        let staged: StagedNames.Staged
        /// Something stands there for the claim.
        let isThere: Bool
    }

    private func renamedOver(_ name: EntryName, in parent: Node, _ source: Source?, _ caller: Caller) throws(Errno) -> Target? {
        let user = saves.access.credentials(of: caller)
        if let staged = staged(name, in: parent, for: caller) {
            let hidden = staged.hidden ?? saves.store.stagedName(for: name)
            return Target(
                staged: StagedNames.Staged(claim: staged.claim, hidden: hidden, base: staged.base, caller: caller, user: user),
                isThere: staged.hidden != nil)
        }
        guard let claim = claim(for: name, in: parent, caller) else { return nil }
        let base = try base(of: name, in: parent)
        return Target(
            staged: StagedNames.Staged(claim: claim.id, hidden: saves.store.stagedName(for: name), base: base, caller: caller,
                user: user),
            isThere: base != nil)
    }

    /// What stands under a name in the store; `isFile`: nil also for what claims have no versions of.
    func base(of name: EntryName, in parent: Node, isFile: Bool = false) throws(Errno) -> StagedNames.Base? {
        let folder = try locator.folder(parent)
        do throws(Errno) {
            let base = StagedNames.Base(try FileStatus(of: name, in: folder))
            return isFile && !base.isFile ? nil : base
        } catch .noSuchFileOrDirectory {
            return nil
        }
    }
}
