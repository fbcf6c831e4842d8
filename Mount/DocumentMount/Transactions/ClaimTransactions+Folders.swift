import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Folders that are removed within a claim: they stay in the store, with the documents that the claim has removed, until that is
/// published.
extension ClaimTransactions {
    /// rmdir(2) by who works for a claim. False if it is nothing of a claim's, or something else is in the folder than what the
    /// claim has removed.
    ///
    /// The kernel takes the folder's inode for dead once rmdir(2) is answered, so all others are shown the folder as another node
    /// from then on.
    func removingFolder(_ name: BorrowedName, in parent: Node, _ caller: Caller) throws(Errno) -> Bool {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed) else { return false }
        let shown = EntryName(copying: name)
        guard let base = try base(of: shown, in: parent), let folder = table.known(base.identity), folder.isFolder
        else { return false }
        let own = claim(for: shown, in: parent, caller)
        // What is in it may be claimed, and the folder not.
        guard own?.isContentOnly ?? (folder.staged.load()?.isUsed == true) else { return false }
        let found = try names(in: folder)
        let removed = found.compactMap { staged($0, in: folder, for: caller) }.filter { $0.hidden == nil }
        guard removed.count == found.count, let claim = own?.id ?? removed.first?.claim else { return false }
        if found.isEmpty, wasMade(base.identity, within: claim) { return false }
        table.detach(folder)
        let other = table.lookedUp(base.identity, type: S_IFDIR, on: folder.mountKind)
        defer { table.forget(other, count: 1) }
        _ = other.seen(in: parent, name: name, hasOtherNames: false)
        try alone(in: [parent, folder, other]) { () throws(Errno) in
            for name in found { try hand(name, of: folder, to: other) }
            try stage(shown, in: parent, StagedNames.Staged(
                claim: claim, hidden: nil, base: base, caller: caller, user: saves.access.credentials(of: caller)))
        }
        return true
    }

    /// What claims have removed in a folder, they have removed in the node that stands for it now.
    private func hand(_ name: EntryName, of folder: Node, to other: Node) throws(Errno) {
        for staged in folder.staged.load()?[name] ?? [] {
            try stage(name, in: other, staged)
            unstage(Place(folder: folder, name: name), for: staged.claim)
            // It stands in that one, which is kept open: a lookup by the node that the kernel forgets would go up to the root.
            if staged.isRemovedFolder, let identity = staged.base?.identity, let inside = table.known(identity) {
                _ = name.withCString { inside.seen(in: other, name: $0, hasOtherNames: false) }
            }
        }
    }

    /// mkdir(2) where the claim that the caller works for has removed a folder like the one to be made: that one is there again,
    /// without what was removed in it. False if there is none.
    func restoringFolder(_ name: BorrowedName, in parent: Node, mode: mode_t, _ caller: Caller) throws(Errno) -> Bool {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed) else { return false }
        let shown = EntryName(copying: name)
        return try staging(shown, in: parent) { () throws(Errno) -> Bool? in
            guard let staged = staged(shown, in: parent, for: caller), staged.isRemovedFolder else { return nil }
            let folder = try locator.folder(parent)
            guard let status = try? FileStatus(of: name, in: folder), FileIdentity(status) == staged.base?.identity,
                status.st.st_uid == caller.uid, (status.st.st_mode ^ mode & ~caller.umask) & 0o777 == 0
            else { return nil }
            unstage(Place(folder: parent, name: shown), for: staged.claim)
            // Of a claim that this one is within.
            return self.staged(shown, in: parent, for: caller) == nil
        } ?? false
    }

    /// A claim's files are published: its folders go, the innermost first. One into which others have put something stays.
    func removeFolders(_ places: [Place], _ claim: ClaimID, of holder: Credentials) {
        let deepestFirst = places.map { ($0, $0.path?.bytes.count { $0 == UInt8(ascii: "/") } ?? 0) }.sorted { $0.1 > $1.1 }
        for (place, _) in deepestFirst {
            guard let staged = place.folder.staged.load()?[place.name, claim], let base = staged.base else { continue }
            let isRemoved = (try? remove(place, base.identity, by: user(staged, holder))) != nil
            unstage(place, for: claim)
            guard isRemoved else { continue }
            place.name.withCString { journal.removed(in: place.folder, name: $0, by: staged.caller) }
            saves.session.current?.notifier.attributesChangedNow(of: table.id(of: place.folder))
        }
    }

    private func remove(_ place: Place, _ identity: FileIdentity, by user: Credentials) throws(Errno) {
        let parent = try locator.folder(place.folder)
        try locator.names.changing { () throws(Errno) in
            try place.name.withCString { (name) throws(Errno) in
                try place.folder.nameChanges.during { () throws(Errno) in
                    let folder = try Descriptor.named(name, in: parent, flags: CL_O_PATH | O_DIRECTORY | O_NOFOLLOW)
                    guard let status = try? FileStatus(of: folder), FileIdentity(status) == identity
                    else { throw .staleNFSFileHandle }
                    guard saves.access.mayChangeName(user, in: parent, of: folder) else { throw .permissionDenied }
                    ownRemovals.expect(name, in: place.folder)
                    do throws(Errno) {
                        _ = try check(cl_unlinkat(parent.number, name, AT_REMOVEDIR))
                    } catch {
                        ownRemovals.take(place.name, in: place.folder.identity)
                        throw error
                    }
                    guard let node = table.known(identity) else { return }
                    node.lost(in: place.folder, name: name, pin: Pin(folder, for: user.uid, of: saves.shares), isLast: true)
                    table.detach(node)
                }
            }
        }
    }

    /// What stands in a folder of the store.
    func names(in folder: Node) throws(Errno) -> [EntryName] {
        let listing = try locator.reopened(try locator.folder(folder), flags: O_RDONLY | O_DIRECTORY)
        var names: [EntryName] = []
        try FolderHandle.ReadAhead.all(of: listing) { entry in
            let name = EntryName(copying: entry.name)
            if name != EntryName("."), name != EntryName("..") { names.append(name) }
        }
        return names
    }
}
