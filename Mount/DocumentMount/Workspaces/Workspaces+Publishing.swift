import CLinux
import Coordination
import DocumentStore
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

/// The end of a claim: what was saved within it becomes everybody's, all at once, or nobody's.
extension Workspaces {
    /// Why a claim's saves are dropped.
    enum Loss {
        /// As was asked for: they are gone.
        case discarded
        /// The holder has gone without a word, or the mount ends: kept for `quire recover`.
        case lost
    }

    /// Publishes what was saved within a claim. Throws what kept it from that, and at which path: then nothing of it is published,
    /// and all is kept for `quire recover`. Waits for the disk; with no lock held.
    func publish(_ claim: ClaimID) throws(WorkspaceFailure) {
        let all = close(claim)
        guard !all.isEmpty else { return }
        defer { ended(claim) }
        var (places, inner): ([Place], [ClaimID: [Place]]) = ([], [:])
        for place in all {
            let outer = place.path.flatMap { coordinator.outerWorkspace(of: claim, writing: $0) }
            if let outer { inner[outer, default: []].append(place) } else { places.append(place) }
        }
        for (outer, places) in inner { handOver(places, to: outer) }
        guard !places.isEmpty else { return }
        do throws(Errno) {
            for _ in 0..<Self.tries where try publishAtOnce(places) { return }
            throw .resourceBusy
        } catch {
            let path = places[0].path
            drop(places, .lost)
            throw WorkspaceFailure(path: path ?? .root, errno: error)
        }
    }

    /// How often somebody may put another file under one of the names meanwhile.
    private static let tries = 5

    /// Drops what was saved within a claim.
    func drop(_ claim: ClaimID, _ loss: Loss) {
        let places = close(claim)
        guard !places.isEmpty else { return }
        drop(places, loss)
        ended(claim)
    }

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

    /// False if somebody changed one of the names meanwhile.
    private func publishAtOnce(_ places: [Place]) throws(Errno) -> Bool {
        var changes: [Change] = []
        defer { for node in changes.flatMap({ [$0.version, $0.old] }).compactMap({ $0 }) { table.forget(node, count: 1) } }
        for place in places {
            if let change = try self.change(of: place) { changes.append(change) }
        }
        for change in changes { keepIfOthers(change) }
        var group = try saves.store.prepare(
            changes.map { (change) throws(Errno) in
                guard let path = change.place.folder.path else { throw .noSuchFileOrDirectory }
                return GroupChange(change.place.name, in: change.folder, at: path, staged: change.staged.hidden)
            })
        do throws(Errno) {
            try commit(&group, changes, places)
        } catch {
            group.abandon()
            if error == .staleNFSFileHandle { return false }
            throw error
        }
        group.finish()
        for change in changes { tell(of: change) }
        return true
    }

    /// Nil if there is nothing to do: a name that was removed, and is gone.
    private func change(of place: Place) throws(Errno) -> Change? {
        guard let staged = place.folder.staged.load()?[place.name] else { return nil }
        let folder = try locator.folder(place.folder)
        let version = try staged.hidden.map { (name) throws(Errno) in
            try node(name, in: place.folder, folder, isRequired: true)!
        }
        let old = try node(place.name, in: place.folder, folder, isRequired: false)
        if version == nil, old == nil { return nil }
        let pinned = try place.name.withCString { (name) throws(Errno) in
            old == nil ? nil : try Descriptor(opening: name, in: folder, flags: CL_O_PATH | O_NOFOLLOW)
        }
        return Change(place: place, staged: staged, folder: folder, version: version, old: old, pinned: pinned)
    }

    /// The node of what stands under a name, with a lookup counted.
    private func node(
        _ name: EntryName, in parent: Node, _ folder: Descriptor, isRequired: Bool
    ) throws(Errno) -> Node? {
        var status = cl_status()
        let result = name.withCString { cl_statx(folder.number, $0, AT_SYMLINK_NOFOLLOW, &status) }
        if result == -ENOENT, !isRequired { return nil }
        _ = try check(result)
        let node = table.lookedUp(FileIdentity(status), type: status.st.st_mode & S_IFMT)
        let hasOtherNames = status.st.st_nlink > 1 && !node.isFolder
        name.withCString { _ = node.seen(in: parent, name: $0, hasOtherNames: hasOtherNames) }
        return node
    }

    /// The document was saved by somebody else since it was staged: that version is kept (rule 5 of saves).
    private func keepIfOthers(_ change: Change) {
        guard let old = change.old, old.identity != change.staged.base, let path = change.place.path,
            let file = try? locator.opened(old, flags: O_RDONLY)
        else { return }
        do throws(Errno) {
            try saves.store.kept.keep(file, moving: false, document: path, saver: nil, reason: .overtaken)
        } catch {
            log.warning("\(path): the version that was saved over could not be kept: \(error)")
        }
    }

    private func commit(_ group: inout GroupPublication, _ changes: [Change], _ places: [Place]) throws(Errno) {
        var folders: [ObjectIdentifier: Node] = [:]
        for place in places { folders[ObjectIdentifier(place.folder)] = place.folder }
        // Operations that change names look for saves then.
        saves.clock.isNeeded.add(1, ordering: .sequentiallyConsistent)
        defer { saves.clock.isNeeded.subtract(1, ordering: .sequentiallyConsistent) }
        let documents = changes.flatMap { [$0.version, $0.old] }.compactMap { $0 }
        var versions: [UInt64: DocumentVersions] = [:]
        for node in documents where node.isRegular {
            let shared = node.versions.storeIfNil(DocumentVersions(of: node))
            versions[shared.lockKey] = shared
        }
        let locks = versions.sorted { $0.key < $1.key }.map(\.value)
        var copy = group
        try alone(in: folders.values.sorted { $0.generation < $1.generation }[...]) { () throws(Errno) in
            try visibility.alone { () throws(Errno) in
                try locator.names.changing { () throws(Errno) in
                    try standing(locks[...]) { () throws(Errno) in
                        for node in documents { try awaitFreeNameChanges(of: node) }
                        try during(folders.values.map { $0 }[...]) { () throws(Errno) in
                            for change in changes where change.old != nil {
                                change.place.name.withCString { ownRemovals.expect($0, in: change.place.folder) }
                            }
                            try copy.commit()
                            for change in changes { rename(change) }
                        }
                    }
                }
                for place in places { unstage(place) }
            }
        }
        group = copy
    }

    private func standing(_ documents: ArraySlice<DocumentVersions>, _ body: () throws(Errno) -> Void) throws(Errno) {
        guard let first = documents.first else { return try body() }
        try first.naming.withLock { () throws(Errno) in try standing(documents.dropFirst(), body) }
    }

    private func during(_ folders: ArraySlice<Node>, _ body: () throws(Errno) -> Void) throws(Errno) {
        guard let first = folders.first else { return try body() }
        try first.nameChanges.during { () throws(Errno) in try during(folders.dropFirst(), body) }
    }

    private func awaitFreeNameChanges(of node: Node) throws(Errno) {
        do throws(PublishFailure) { try saves.awaitFreeNameChanges(of: node) } catch { throw .resourceBusy }
    }

    /// What the nodes are to know of what was done in the store.
    private func rename(_ change: Change) {
        let (folder, name) = (change.place.folder, change.place.name)
        name.withCString { name in
            if let old = change.old {
                var status = cl_status()
                let isLast = change.pinned.map { cl_statx_fd($0.number, &status) == 0 && status.st.st_nlink <= 1 } ?? true
                old.lost(in: folder, name: name, pinned: change.pinned, isLast: isLast)
                if isLast { table.detach(old) }
            }
            guard let version = change.version, let hidden = change.staged.hidden else { return }
            hidden.withCString { version.moved(from: folder, name: $0, to: folder, newName: name) }
            version.versions.load()?.note(change.place.name)
        }
    }

    /// Who lists, watches and shows the documents.
    private func tell(of change: Change) {
        let (folder, name, caller) = (change.place.folder, change.place.name, change.staged.caller)
        if let version = change.version {
            var status = cl_status()
            if let now = locator.statusAtHand(of: version) { status = now }
            version.state.withLock { $0.written = Node.Seen(status.st) }
            if change.old == nil {
                name.withCString { journal.made(in: folder, name: $0, by: caller, isIndexed: true) }
            } else {
                journal.written(version, caller)
            }
            saves.writtenElsewhere(version)
        } else {
            name.withCString { journal.removed(in: folder, name: $0, by: caller) }
        }
        let notifier = saves.session.current?.notifier
        if let old = change.old {
            table.hold(old)
            saves.watches.superseded(old)
            notifier?.attributesChangedNow(of: table.id(of: old))
        }
        // The kernel did not do it: by the folder's times it knows that a listing it has is none any more.
        notifier?.attributesChangedNow(of: table.id(of: folder))
    }

    // MARK: - Not at all

    private func drop(_ places: [Place], _ loss: Loss) {
        for place in places {
            guard let names = place.folder.staged.load() else { continue }
            let staged = names.changing.withLock { () -> StagedNames.Staged? in
                defer { unstage(place) }
                return names[place.name]
            }
            guard let staged, let hidden = staged.hidden, let folder = try? locator.folder(place.folder) else { continue }
            if loss == .lost { keep(hidden, in: folder, place, staged) }
            hidden.withCString { name in
                var status = cl_status()
                guard cl_statx(folder.number, name, AT_SYMLINK_NOFOLLOW, &status) == 0 else { return }
                let pinned = try? Descriptor(opening: name, in: folder, flags: CL_O_PATH | O_NOFOLLOW)
                _ = cl_unlinkat(folder.number, name, 0)
                guard let node = table.known(FileIdentity(status)) else { return }
                let isLast = status.st.st_nlink <= 1
                node.lost(in: place.folder, name: name, pinned: pinned, isLast: isLast)
                if isLast { table.detach(node) }
            }
            if loss == .lost, let path = place.path { journal.aborted(path, staged.caller) }
        }
    }

    private func keep(_ hidden: EntryName, in folder: Descriptor, _ place: Place, _ staged: StagedNames.Staged) {
        guard let path = place.path else { return }
        do throws(Errno) {
            let file = try hidden.withCString { (name) throws(Errno) in
                try Descriptor(opening: name, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            }
            try saves.store.kept.keep(file, moving: true, document: path, saver: nil, reason: .unpublished)
            log.notice("\(path): what was saved within a claim was not published and is kept for `quire recover`")
        } catch {
            log.warning("\(path): what was saved within a claim could not be kept: \(error)")
        }
    }

    /// The mount is ending.
    func stop() { for claim in counts.keys { drop(claim, .lost) } }
}

/// Why a claim's saves were not published.
public struct WorkspaceFailure: Error, Hashable, Sendable {
    /// One of the documents concerned.
    public let path: StorePath
    public let errno: Errno
}

extension Workspaces.Place {
    var path: StorePath? { folder.path?.appending(name) }
}
