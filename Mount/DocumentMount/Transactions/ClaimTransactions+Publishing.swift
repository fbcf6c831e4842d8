import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// The end of a claim: what was saved within it becomes everybody's, all at once, or nobody's.
extension ClaimTransactions {
    /// Publishes what was saved within a claim. Throws what kept it from that, and at which path: then nothing of it is published,
    /// and all is kept for `quire recover`. Waits for the disk; with no lock held.
    /// - Parameter holder: whose claim it is.
    func publish(_ claim: ClaimID, of holder: Credentials) throws(TransactionFailure) {
        let places = close(claim).filter { !isHandedOver($0, from: claim) && !isUntouched($0, claim) }
        let folders = places.filter { $0.folder.staged.load()?[$0.name, claim]?.isRemovedFolder == true }
        let files = Set(places).subtracting(folders)
        guard let first = files.first else { return removeFolders(folders, claim, of: holder) }
        do throws(Errno) {
            var kept: Set<FoundVersion> = []
            for _ in 0..<Self.tries where try publishAtOnce(places.filter(files.contains), claim, of: holder, &kept) {
                return removeFolders(folders, claim, of: holder)
            }
            throw .resourceBusy
        } catch {
            let path = first.path
            drop(places, claim, .lost)
            throw TransactionFailure(path: path ?? .root, errno: error)
        }
    }

    /// Hands a staged name on to the claim that the ending one was asked for within. False if there is none that goes on.
    private func isHandedOver(_ place: Place, from claim: ClaimID) -> Bool {
        guard let outer = place.path.flatMap({ coordinator.outerTransaction(of: claim, writing: $0) }),
            let names = place.folder.staged.load()
        else { return false }
        return names.changing.withLock {
            guard let staged = names[place.name, claim] else { return true }
            guard (try? reserve(place.name, in: place.folder, for: outer, by: staged.user)) != nil else { return false }
            // The inner one has saved later.
            let before = names[place.name, outer]
            let handed = StagedNames.Staged(
                claim: outer, hidden: staged.hidden, base: before.map(\.base) ?? staged.base, caller: staged.caller, user: staged.user,
                copy: staged.copy, document: staged.document, origin: staged.origin)
            enter(place.name, in: place.folder, handed)
            unstage(place, for: claim)
            if let before, let hidden = before.hidden { remove(hidden, in: place.folder, by: before.caller) }
            return true
        }
    }

    /// A document that was opened for writing and not written is let be.
    private func isUntouched(_ place: Place, _ claim: ClaimID) -> Bool {
        guard let names = place.folder.staged.load(), let folder = try? locator.folder(place.folder) else { return false }
        if let staged = names[place.name, claim], let hidden = staged.hidden, staged.copy?.isUntouched(in: folder) == true {
            known(hidden, in: folder).map(awaitReleases)
        }
        return names.changing.withLock {
            guard let staged = names[place.name, claim], let hidden = staged.hidden, let copy = staged.copy,
                copy.isUntouched(in: folder)
            else { return false }
            // A file that the kernel has forgotten is open nowhere.
            if let version = known(hidden, in: folder) {
                guard version.saved.load()?.isActive.load(ordering: .relaxed) != true, version.state.withLock({ $0.handles.isEmpty })
                else { return false }
            }
            unstage(place, for: claim)
            remove(hidden, in: place.folder, by: staged.caller)
            return true
        }
    }

    /// Where programs of the claim have closed their last descriptors, RELEASE is under way.
    private func awaitReleases(of version: Node) {
        saves.waitWhile(polls: Self.releasePolls) {
            version.state.withLock { state in
                !state.handles.isEmpty && state.handles.allSatisfy { $0.isFlushed.load(ordering: .relaxed) }
            }
        }
    }

    /// 0.2 s and more.
    private static let releasePolls = 4_000

    private func known(_ name: EntryName, in folder: Descriptor) -> Node? {
        return (try? FileStatus(of: name, in: folder)).flatMap { table.known(FileIdentity($0)) }
    }

    /// How often somebody may put another file under one of the names meanwhile.
    private static let tries = 5

    // MARK: - All at once

    /// A staged name about to be everybody's.
    private struct Change {
        let place: Place
        let staged: StagedNames.Staged
        let folder: Descriptor
        /// The claim's version; nil: the name goes.
        let version: Node?
        /// What stands under the name in the store, with a lookup counted and found by `pinned` when it is gone.
        let old: Node?
        let pinned: Descriptor?
    }

    /// What somebody else has put in a document's place.
    private struct FoundVersion: Hashable {
        let identity: FileIdentity
        let modified: Int64
        let size: Int64
    }

    /// False if somebody changed one of the names meanwhile.
    /// - Parameter kept: others' versions that are kept already.
    private func publishAtOnce(_ places: [Place], _ claim: ClaimID, of holder: Credentials, _ kept: inout Set<FoundVersion>) throws(Errno) -> Bool {
        var held: [Node] = []
        defer { for node in held { table.forget(node, count: 1) } }
        awaitEnds(of: places, claim)
        var changes: [Change] = []
        var group: GroupPublication
        do throws(Errno) {
            for place in places {
                if let change = try self.change(of: place, claim, &held) { changes.append(change) }
            }
            for change in changes { keepIfOthers(change, &kept) }
            group = try saves.store.prepare(
                changes.map { (change) throws(Errno) in
                    guard let path = change.place.folder.path else { throw .noSuchFileOrDirectory }
                    return GroupChange(change.place.name, in: change.folder, at: path, staged: change.staged.hidden)
                }, isDurable: saves.options.syncsSaves)
        } catch .noSuchFileOrDirectory {
            // Taken away since it was looked at.
            return false
        }
        do throws(Errno) {
            try commit(&group, changes, places, claim, of: holder)
        } catch {
            group.abandon()
            if group.isStuck {
                // Some names are changed and cannot be changed back: what stands under the hidden ones is the log's, which does the
                // rest at the next mount.
                let path = changes.first?.place.path ?? .root
                log.error("\(path): saves that belong together are published in part: \(error); mount again")
                for place in places { unstage(place, for: claim) }
                throw .ioError
            }
            if error == .staleNFSFileHandle { return false }
            throw error
        }
        group.finish()
        for change in changes { tell(of: change) }
        return true
    }

    /// What was closed just now may not have ended yet as a save.
    private func awaitEnds(of places: [Place], _ claim: ClaimID) {
        for place in places {
            guard let hidden = place.folder.staged.load()?[place.name, claim]?.hidden,
                let folder = try? locator.folder(place.folder), let document = known(hidden, in: folder)?.saved.load()
            else { continue }
            document.awaitDoubtfulEnds()
        }
    }

    /// Nil if there is nothing to do: a name that was removed, and is gone. What is found goes to `held`, with a lookup counted.
    private func change(of place: Place, _ claim: ClaimID, _ held: inout [Node]) throws(Errno) -> Change? {
        guard let staged = place.folder.staged.load()?[place.name, claim] else { return nil }
        let folder = try locator.folder(place.folder)
        let version = try staged.hidden.map { (name) throws(Errno) in
            try node(name, in: place.folder, folder, isRequired: true, &held)!
        }
        let old = try node(place.name, in: place.folder, folder, isRequired: false, &held)
        if version == nil, old == nil { return nil }
        let pinned = old == nil ? nil : try Descriptor.named(place.name, in: folder, flags: CL_O_PATH | O_NOFOLLOW)
        return Change(place: place, staged: staged, folder: folder, version: version, old: old, pinned: pinned)
    }

    private func node(
        _ name: EntryName, in parent: Node, _ folder: Descriptor, isRequired: Bool, _ held: inout [Node]
    ) throws(Errno) -> Node? {
        let status: cl_status
        do throws(Errno) {
            status = try FileStatus(of: name, in: folder)
        } catch {
            if error == .noSuchFileOrDirectory, !isRequired { return nil }
            throw error
        }
        let node = table.lookedUp(status)
        held.append(node)
        let hasOtherNames = status.st.st_nlink > 1 && !node.isFolder
        name.withCString { _ = node.seen(in: parent, name: $0, hasOtherNames: hasOtherNames) }
        return node
    }

    /// The document was saved, or written in place, by somebody else since it was staged: that version is kept (saves, rule 5).
    private func keepIfOthers(_ change: Change, _ kept: inout Set<FoundVersion>) {
        guard let old = change.old, old.isRegular, let pinned = change.pinned, let path = change.place.path else { return }
        var status = cl_status()
        _ = cl_statx_fd(pinned.number, &status)
        if let base = change.staged.base, old.identity == base.identity, base.seen.hasContent(of: Node.Seen(status.st)) { return }
        let found = FoundVersion(
            identity: old.identity, modified: saturatedNanoseconds(status.st.st_mtim), size: Int64(status.st.st_size))
        guard kept.insert(found).inserted else { return }
        do throws(Errno) {
            let file = try locator.reopened(pinned, flags: O_RDONLY)
            let user = saves.privileges.user(change.staged.caller)
            try saves.store.kept.keep(file, moving: false, document: path, saver: nil, reason: .overtaken, by: user)
        } catch {
            log.warning("\(path): the version that was saved over could not be kept: \(error)")
        }
    }

    private func commit(
        _ group: inout GroupPublication, _ changes: [Change], _ places: [Place], _ claim: ClaimID, of holder: Credentials
    ) throws(Errno) {
        let byIdentity = Dictionary(places.map { (ObjectIdentifier($0.folder), $0.folder) }) { one, _ in one }
        let folders = Array(byIdentity.values)
        // Operations that change names look for saves then.
        saves.clock.isNeeded.add(1, ordering: .sequentiallyConsistent)
        defer { saves.clock.isNeeded.subtract(1, ordering: .sequentiallyConsistent) }
        let nodes = changes.flatMap { [$0.version, $0.old] }.compactMap { $0 }
        var documents: [UInt64: SavedDocument] = [:]
        for node in nodes where node.isRegular {
            let document = saves.document(of: node)
            documents[document.order] = document
        }
        let locks = documents.sorted { $0.key < $1.key }.map(\.value)
        // Closures may not change what is lent to this function.
        var copy = group
        defer { group = copy }
        try alone(in: folders) { () throws(Errno) in
            try visibility.exclusive { () throws(Errno) in
                try locator.names.changing { () throws(Errno) in
                    try locks.map(\.naming).withLocks { () throws(Errno) in
                        for node in nodes { try awaitFreeNameChanges(of: node) }
                        guard areAsPrepared(changes, places, claim) else { throw .staleNFSFileHandle }
                        for change in changes where !mayChange(change, holder) { throw .permissionDenied }
                        for change in changes { try mergeAttributes(of: change) }
                        for folder in folders { folder.nameChanges.begin() }
                        defer { for folder in folders { folder.nameChanges.end() } }
                        for change in changes where change.old != nil {
                            change.place.name.withCString { ownRemovals.expect($0, in: change.place.folder) }
                        }
                        // Before that: some of the files keep hidden names until the end.
                        var links = linkCounts(ofReplaced: changes)
                        try copy.commit()
                        for change in changes {
                            let isLast = change.old.map { old in
                                links[old.generation, default: 0] -= 1
                                return links[old.generation, default: 0] <= 0
                            }
                            rename(change, isLast: isLast ?? true)
                        }
                    }
                }
                for place in places { unstage(place, for: claim) }
            }
        }
    }

    /// Whether nobody who works for the claim has saved, made or removed anything since.
    private func areAsPrepared(_ changes: [Change], _ places: [Place], _ claim: ClaimID) -> Bool {
        var prepared: [Place: Change] = [:]
        for change in changes { prepared[change.place] = change }
        return places.allSatisfy { place in
            let staged = place.folder.staged.load()?[place.name, claim]
            guard let change = prepared[place] else { return staged?.hidden == nil }
            guard let staged, staged.hidden == change.staged.hidden else { return false }
            return staged.hidden.map { known($0, in: change.folder) === change.version } ?? true
        }
    }

    /// The kernel has judged when the claim's programs changed the name, and perhaps by another file; the folder's rights and the file may
    /// be others since.
    private func mayChange(_ change: Change, _ holder: Credentials) -> Bool {
        // The document that was opened for writing takes new content.
        if change.version != nil, let old = change.old, old.identity == change.staged.base?.identity { return true }
        let user = user(change.staged, holder)
        if saves.access.mayChangeName(user, in: change.folder, of: change.pinned) { return true }
        // Another that stands there now may take it as well.
        guard change.version != nil, let pinned = change.pinned else { return false }
        return saves.access.may(user, use: pinned, W_OK)
    }

    /// As whom a change within a claim is judged.
    func user(_ staged: StagedNames.Staged, _ holder: Credentials) -> Credentials { staged.user.uid == holder.uid ? holder : staged.user }

    /// What others have changed of the document's mode, owner, tags and such since it was copied holds for its new version.
    private func mergeAttributes(of change: Change) throws(Errno) {
        guard let copy = change.staged.copy, let pinned = change.pinned, let hidden = change.staged.hidden,
            change.old?.identity == change.staged.base?.identity
        else { return }
        // Not by the locator, which searches for what has gone, and waits for this thread then.
        let version = try Descriptor.named(hidden, in: change.folder, flags: O_RDONLY | O_NOFOLLOW)
        try copy.mergeAttributes(from: locator.reopened(pinned, flags: O_RDONLY), to: version)
    }

    private func awaitFreeNameChanges(of node: Node) throws(Errno) {
        do throws(PublishFailure) { try saves.awaitFreeNameChanges(of: node) } catch { throw .resourceBusy }
    }

    /// How many names the files have that lose some, by the generations of their nodes.
    private func linkCounts(ofReplaced changes: [Change]) -> [UInt64: Int] {
        var counts: [UInt64: Int] = [:]
        for change in changes {
            guard let old = change.old, !old.isFolder, let pinned = change.pinned else { continue }
            var status = cl_status()
            counts[old.generation] = cl_statx_fd(pinned.number, &status) == 0 ? Int(clamping: status.st.st_nlink) : .max
        }
        return counts
    }

    /// Updates the nodes after the store's names were changed. `isLast`: the replaced file has no other name.
    private func rename(_ change: Change, isLast: Bool) {
        let (folder, name) = (change.place.folder, change.place.name)
        name.withCString { name in
            if let old = change.old {
                old.lost(in: folder, name: name, pin: Pin(change.pinned, for: change.staged.caller.uid, of: saves.shares), isLast: isLast)
                if isLast { table.detach(old) }
            }
            guard let version = change.version, let hidden = change.staged.hidden else { return }
            hidden.withCString { version.moved(from: folder, name: $0, to: folder, newName: name) }
            version.saved.load()?.note(change.place.name)
        }
    }

    /// Who lists, watches and shows the documents.
    private func tell(of change: Change) {
        let (folder, name, caller) = (change.place.folder, change.place.name, change.staged.caller)
        if let version = change.version {
            var status = cl_status()
            if let now = locator.statusAtHand(of: version) { status = now }
            version.state.withLock { $0.written = Node.Seen(status.st) }
            if change.old == nil || !version.isRegular {
                name.withCString { journal.made(in: folder, name: $0, by: caller, isIndexed: version.isRegular) }
            } else {
                journal.written(version, caller)
            }
            if version.isRegular { saves.writtenElsewhere(version) }
        } else {
            name.withCString { journal.removed(in: folder, name: $0, by: caller) }
        }
        let notifier = saves.session.current?.notifier
        if let old = change.old {
            table.hold(old)
            saves.saveNotifier.superseded(old)
            notifier?.attributesChangedNow(of: table.id(of: old))
        }
        // The kernel did not do it: by the folder's times it knows that a listing it has is none any more.
        notifier?.attributesChangedNow(of: table.id(of: folder))
    }
}

/// Why a claim's saves were not published.
public struct TransactionFailure: Error, Hashable, Sendable {
    /// One of the documents concerned.
    public let path: StorePath
    public let errno: Errno
}

extension ClaimTransactions.Place {
    var path: StorePath? { folder.path?.appending(name) }
}
