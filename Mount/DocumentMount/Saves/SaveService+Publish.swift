import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Carrying out what the machine says of a save.
extension SaveService {
    /// Throws what the app is to be told. With no lock held.
    ///
    /// - Parameter waitsForKernel: until the kernel has forgotten the version that goes, a tenth of a second at most. Only in a request
    ///   that holds no folder's lock in the kernel, and for which none that holds one waits.
    func carryOut(_ step: SaveStep, _ versions: DocumentVersions, waitsForKernel: Bool = false) throws(Errno) {
        defer { settle(versions) }
        switch step {
        case .none: return
        case .refuse(let errno): throw Errno(rawValue: errno)
        case .discard(let id, let reason):
            drop(id, reason, versions)
            if let errno = reason.errno { throw Errno(rawValue: errno) }
        case .publish(let id, let cause):
            defer { forgetLastingEntries(versions, waits: waitsForKernel) }
            try publish(id, cause, versions)
        }
    }

    private func publish(_ id: VersionID, _ cause: PublishCause, _ versions: DocumentVersions) throws(Errno) {
        // The saver's, whoever closes last, or renames, or on whichever thread a RELEASE comes.
        if let caller = versions.state.withLock({ $0.working[id]?.caller }) { privileges.identify(as: caller) }
        // Before the turn, which other savers wait for: the disk may take long.
        var failure: Errno?
        if let version = versions.state.withLock({ $0.working[id] }) {
            noteUnheardWrites(to: version, versions)
            do throws(Errno) {
                try version.copy.writeOut()
                if version.isUnheard { try version.copy.expectRoom() }
            } catch {
                failure = error
            }
        }
        let notOnDisk = failure
        var replaced: ReplacedVersion?
        let next = versions.turn.withLock { () -> SaveStep in
            do throws(Errno) {
                return try publishInTurn(id, cause, versions, notOnDisk, keeping: &replaced)
            } catch {
                failure = error
                return ifActive(versions) { _, machine in machine.failed(id, errno: error.rawValue, now: Self.now) } ?? .none
            }
        }
        if case .discard(let id, let reason) = next { drop(id, reason, versions) }
        // With the turn given up: others may publish while it is copied.
        if let replaced { keepLater(replaced) }
        if case .refuse(let errno) = next { throw Errno(rawValue: errno) }
        if let failure { throw failure }
    }

    /// Returns what is to be done when the turn is given up. Throws when the machine is to be told of the failure.
    private func publishInTurn(
        _ id: VersionID, _ cause: PublishCause, _ versions: DocumentVersions, _ notOnDisk: Errno?,
        keeping replaced: inout ReplacedVersion?
    ) throws(Errno) -> SaveStep {
        awaitReleases(versions)
        let found = ifActive(versions) { state, machine -> (PublishDecision, WorkingVersion, Node)? in
            guard let version = state.working[id], let published = state.published else { return nil }
            let facts = PublishFacts(links: published.currentLink == nil ? 0 : 1)
            return (machine.plan(id, for: cause, facts, now: Self.now), version, published)
        } ?? nil
        guard let (decision, version, published) = found else { return .none }
        let plan: PublishPlan
        switch decision {
        case .none: return .none
        case .discard(let reason): return .discard(id, reason)
        case .publish(let wanted): plan = wanted
        }
        if let notOnDisk { throw notOnDisk }
        let old = plan.keepsReplaced.flatMap { ReplacedVersion(published, $0, by: version.caller, in: versions, locator) }
        if plan.mode == .replace {
            do throws(PublishFailure) {
                let folder = try replace(published, by: version, plan, versions)
                replaced = old
                guard options.syncsSaves || cause == .synced else { return .none }
                // It is published, only perhaps not for good.
                do throws(Errno) { try version.copy.makeDurable(namesIn: folder) } catch { return .refuse(error.rawValue) }
                return .none
            } catch {
                switch error {
                case .removed, .replaced: return ifActive(versions) { _, machine in machine.vanished(id) } ?? .none
                case .linked, .attribute, .nameRefused: ifActive(versions) { _, machine in machine.staysInPlace(id) }
                case .failed(let errno): throw errno
                }
            }
        }
        // Its content is about to be written over.
        if let old { keep(old) }
        do throws(PublishFailure) {
            try copy(version, into: published, plan, versions)
            return .none
        } catch {
            switch error {
            case .removed: return ifActive(versions) { _, machine in machine.vanished(id) } ?? .none
            case .failed(let errno): throw errno
            case .replaced, .linked, .attribute, .nameRefused: throw .ioError
            }
        }
    }

    // MARK: - Under the name (rule 8)

    /// Returns the document's folder.
    private func replace(
        _ published: Node, by version: WorkingVersion, _ plan: PublishPlan, _ versions: DocumentVersions
    ) throws(PublishFailure) -> Descriptor {
        // Handles of earlier saves may still write to the version that goes: not between the rename and their redirection.
        let (link, folder) = try earlierSaves(on: published, versions).map(\.writing).exclusive { () throws(PublishFailure) in
            try putUnderName(of: published, version, plan, versions)
        }
        // The machine's hold on the old version goes on to there; that on the working copy is now the one on the published version.
        saveNotifier.superseded(published)
        // The watcher tells of what the kernel has written for apps, in their names.
        if let status = try? FileStatus(of: version.copy.file) {
            version.node.state.withLock { $0.written = Node.Seen(status.st) }
        }
        journal.written(version.node, version.caller)
        // Its times changed in the store, and the kernel did not do it.
        changedFolders.add(link.parent)
        // Who has the old version open sees that it has no name any more.
        if published.state.withLock({ !$0.handles.isEmpty }) {
            session.current?.notifier.attributesChangedNow(of: table.id(of: published))
        }
        return folder
    }

    /// Saves that were published by fsync before, and of which handles write the version, the oldest first.
    private func earlierSaves(on published: Node, _ versions: DocumentVersions) -> [WorkingVersion] {
        let found = ifActive(versions) { state, _ in
            state.handles.values.compactMap { handle in
                (handle.redirectedTo ?? handle.node) === published ? handle.version : nil
            }
        } ?? []
        var saves: [WorkingVersion] = []
        for save in found where !saves.contains(where: { $0 === save }) { saves.append(save) }
        return saves.sorted { $0.node.generation < $1.node.generation }
    }

    private func putUnderName(
        of published: Node, _ version: WorkingVersion, _ plan: PublishPlan, _ versions: DocumentVersions
    ) throws(PublishFailure) -> (Node.Link, Descriptor) {
        let (link, handles, folder) = try locator.names.changing { () throws(PublishFailure) in
            try versions.naming.withLock { () throws(PublishFailure) in
                try awaitFreeNameChanges(of: published)
                guard let link = published.currentLink else { throw .removed }
                let folder: Descriptor
                let pinned: Descriptor
                do throws(Errno) {
                    folder = try locator.folder(link.parent)
                    pinned = try descriptor(of: published, version, link, folder)
                } catch {
                    throw error == .noSuchFileOrDirectory ? .removed : .failed(error)
                }
                // Whoever opens it on the way finds it so: its name is the other's at the same time as the rename.
                published.state.withLock { $0.pin = Pin(counted: pinned) }
                // Before any request can find the old version replaced: what it asks or changes of that is redirected (`changed`).
                versions.replaced.store(cl_monotonic_ns(), ordering: .releasing)
                var isPublished = false
                defer { if !isPublished { published.state.withLock { $0.pin = nil } } }
                let times = versions.state.withLock { state in
                    state.machine?.lastWrite(of: version.node.versionID).flatMap { state.times?.after(lastWrite: $0) }
                }
                try link.parent.nameChanges.during { () throws(PublishFailure) in
                    try version.copy.publish(
                        as: link.name, in: folder, replacing: published.identity, keepingTimes: !plan.setsModificationTime, times
                    ) {
                        // It keeps access lists, which expire with no time.
                        session.current?.notifier.attributesChangedNow(of: table.id(of: version.node))
                    }
                    isPublished = true
                    version.node.isExchanged.store(false, ordering: .sequentiallyConsistent)
                    link.name.withCString { _ = version.node.seen(in: link.parent, name: $0, hasOtherNames: false) }
                    let isOpen = published.state.withLock { !$0.handles.isEmpty }
                    let share = isOpen ? nil : FreedRoom.Share(of: freedRoom)
                    let pin = Pin(pinned, for: version.caller.uid, of: shares, freeing: share)
                    published.superseded(by: version.process, pin: pin)
                }
                table.detach(published)
                return (link, takeOver(version, versions), folder)
            }
        }
        redirect(handles, to: version.copy.file, of: version.node)
        return (link, folder)
    }

    /// Waits for a rename or removal of the document that began before its save, as long as a busy disk may take. With `naming`
    /// held, for which these do not wait.
    func awaitFreeNameChanges(of published: Node) throws(PublishFailure) {
        var attemptsLeft = 200_000
        while published.freeNameChanges.load(ordering: .sequentiallyConsistent) > 0 {
            guard attemptsLeft > 0 else { throw .failed(.resourceBusy) }
            attemptsLeft -= 1
            usleep(50)
        }
    }

    /// By which the old version is found when it has no name any more.
    private func descriptor(
        of published: Node, _ version: WorkingVersion, _ link: Node.Link, _ folder: Descriptor
    ) throws(Errno) -> Descriptor {
        if version.copy.documentIdentity == published.identity { return version.copy.document }
        return try link.name.withCString { (name) throws(Errno) in
            try Descriptor(opening: name, in: folder, flags: CL_O_PATH | O_NOFOLLOW)
        }
    }

    /// The working copy is the published version from here on. Returns the handles that are to go on with another file.
    private func takeOver(_ version: WorkingVersion, _ versions: DocumentVersions) -> [FileHandle] {
        ifActive(versions) { state, machine in
            let id = version.node.versionID
            let writers = machine.published(id)
            state.working[id] = nil
            state.published = version.node
            state.savedBy = version.caller.uid
            state.identity = version.node.identity
            return writers.compactMap { state.handles[$0.handle] }.filter { $0.node !== version.node || $0.served !== version.node }
        } ?? []
    }

    /// Has handles go on with another file, of that node.
    func redirect(_ handles: [FileHandle], to file: Descriptor, of node: Node) {
        for handle in handles {
            let flags = handle.flags & (Self.openFlagsKept | O_APPEND)
            if let descriptor = try? locator.reopened(file, flags: flags) { handle.redirect(to: descriptor, of: node) }
        }
    }

    // MARK: - Into the document's own inode (rule 12)

    private func copy(
        _ version: WorkingVersion, into published: Node, _ plan: PublishPlan, _ versions: DocumentVersions
    ) throws(PublishFailure) {
        let target: Descriptor
        let folder: Descriptor
        guard let link = published.currentLink, let path = published.path else { throw .removed }
        do throws(Errno) {
            target = try locator.opened(published, flags: O_RDWR | CL_O_LARGEFILE)
            folder = try locator.folder(link.parent)
        } catch {
            throw .failed(error)
        }
        pins.willWrite(target, by: privileges.user(version.caller))
        version.written.withLock { $0 = 0..<0 }
        defer { version.written.withLock { $0 = nil } }
        try version.copy.publishInPlace(at: path, in: folder, into: target, keepingTimes: !plan.setsModificationTime)
        var handles: [FileHandle] = []
        do throws(Errno) {
            try version.writing.exclusive { () throws(Errno) in
                // What was written meanwhile.
                let range = version.written.withLock { $0 ?? 0..<0 }
                try version.copy.bringUpToDate(target, in: range)
                handles = ifActive(versions) { state, machine -> [FileHandle] in
                    let id = version.node.versionID
                    let writers = machine.published(id)
                    state.working[id] = nil
                    return writers.compactMap { state.handles[$0.handle] }
                } ?? []
                redirect(handles, to: target, of: published)
            }
        } catch {
            throw .failed(error)
        }
        // What the kernel asks of the working copy's node is from now on answered by the document.
        version.node.state.withLock { $0.pin = Pin(target, for: version.caller.uid, of: shares) }
        table.detach(version.node)
        table.forget(version.node, count: 1)
        journal.written(published, version.caller)
        session.current?.notifier.contentsChanged(ofFile: published, table)
        // Programs may have the same file open by the node that was displaced for this save.
        for host in handles.map(\.node) where host.isDisplaced.load(ordering: .relaxed) && host.identity == published.identity {
            session.current?.notifier.contentsChanged(ofFile: host, table)
        }
        writtenElsewhere(published)
    }

    // MARK: - Not at all

    private func drop(_ id: VersionID, _ reason: DiscardReason, _ versions: DocumentVersions) {
        let found = versions.state.withLock { state in (state.working.removeValue(forKey: id), state.published) }
        guard let version = found.0 else { return }
        privileges.identify(as: version.caller)
        if reason.keepsContent, version.isHeldByOthers.load(ordering: .relaxed) {
            // With what they go on writing.
            version.keptLater.withLock { $0 = (reason.kept, found.1?.path) }
            discarded.withLock { $0[ObjectIdentifier(version)] = version }
            // Nobody may be left already.
            keepNow(version)
        } else {
            letGo(of: version, keeping: reason.keepsContent ? reason.kept : nil, at: found.1?.path)
        }
        if let document = found.1, reason != .neverOpened { journal.aborted(document, version.caller) }
        if version.isExchanged {
            // The content of the save takes room until the kernel forgets the inode.
            let pin = Pin(version.copy.file, for: version.caller.uid, of: shares, freeing: version.freedRoom.load())
            version.node.superseded(by: version.process, pin: pin)
            // The name stays with the copy, another inode than the one that the index has.
            if let document = found.1 { journal.touched(document, by: version.caller, nil, isIndexed: true) }
        }
        // The kernel may have it under the name still, and with it the space that it takes.
        forgetName(of: versions)
        // Programs may watch the document by the inode that it had.
        if version.isExchanged { saveNotifier.superseded(version.node) } else { table.forget(version.node, count: 1) }
    }

    /// Keeps what is to be kept when nobody has it open any more, if that is so.
    func keepNow(_ version: WorkingVersion, isLast: Bool = false) {
        guard isLast || version.node.state.withLock({ !$0.handles.contains { $0.isWritable } }),
            let (reason, path) = version.keptLater.withLock({ $0.take() })
        else { return }
        discarded.withLock { $0[ObjectIdentifier(version)] = nil }
        letGo(of: version, keeping: reason, at: path)
    }

    /// Drops a working copy. One that is kept is moved; where that takes a copy of it, by `quire-copies`.
    private func letGo(of version: WorkingVersion, keeping reason: KeptVersion.Reason?, at path: StorePath?) {
        _ = version.freedRoom.storeIfNil(FreedRoom.Share(of: freedRoom))
        guard let reason else { return version.copy.discard() }
        let work: @Sendable () -> Void = { [self] in
            keep(version, reason, at: path)
            version.copy.discard()
        }
        if store.kept.isBeside(version.copy.file) || !copies.add(of: version.caller.uid, work) { work() }
    }

    private func keep(_ version: WorkingVersion, _ reason: KeptVersion.Reason, at path: StorePath?) {
        guard let path, let status = try? FileStatus(of: version.copy.file), status.st.st_size > 0 else { return }
        let saver = KeptVersion.Saver(
            pid: version.process.id, name: ProcessFacts.name(of: version.process.id) ?? "", uid: version.caller.uid)
        do throws(Errno) {
            try store.kept.keep(
                version.copy.file, moving: true, document: path, saver: saver, reason: reason, by: privileges.user(version.caller))
            log.notice("\(path): a save was not published and is kept for `quire recover`: \(reason)")
        } catch {
            log.warning("\(path): what an aborted save had written could not be kept: \(error)")
        }
    }

    private func keepLater(_ old: ReplacedVersion) {
        if !copies.add(of: old.replacedBy.uid, { [self] in keep(old) }) { keep(old) }
    }

    private func keep(_ old: ReplacedVersion) {
        // The first of a row of them: a client that saves by way of a relay may do so every second.
        if old.reason == .relayed, store.kept.wasJustKept(old.path, for: .relayed) { return }
        do throws(Errno) {
            try store.kept.keep(
                old.file, moving: false, document: old.path, saver: nil, reason: old.reason, by: privileges.user(old.replacedBy),
                chargedTo: old.savedBy, at: old.time)
        } catch {
            log.warning("\(old.path): the version that was saved over could not be kept: \(error)")
        }
    }

    /// The mount is ending: nobody will finish the saves that are still open.
    func keepUnfinished() {
        for versions in activeDocuments {
            let (open, path) = versions.state.withLock { (Array($0.working.values), $0.published?.path) }
            for version in open {
                keep(version, .unfinished, at: path)
                version.copy.discard()
            }
        }
        for version in discarded.withLock({ Array($0.values) }) { keepNow(version, isLast: true) }
        store.leftNames.removeAgain()
    }
}

/// A version that is about to be replaced, and is kept.
struct ReplacedVersion: Sendable {
    let reason: KeptVersion.Reason
    let path: StorePath
    let file: Descriptor
    let replacedBy: Caller
    let time = cl_realtime_coarse_ns()
    /// Nil if that is not known.
    let savedBy: UInt32?

    /// Nil if it cannot be opened.
    init?(_ published: Node, _ reason: KeepingReason, by caller: Caller, in versions: DocumentVersions, _ locator: Locator) {
        guard let path = published.path, let file = try? locator.opened(published, flags: O_RDONLY) else { return nil }
        self.reason = reason.kept
        (self.path, self.file, replacedBy) = (path, file, caller)
        savedBy = versions.state.withLock { $0.savedBy }
    }
}

extension KeepingReason {
    var kept: KeptVersion.Reason {
        switch self {
        case .overtaken: .overtaken
        case .relayed: .relayed
        }
    }
}

extension DiscardReason {
    var kept: KeptVersion.Reason {
        switch self {
        case .killed(let signal): .killed(signal: signal ?? SIGKILL)
        case .relayEnded: .relayEnded
        case .writeFailed(let errno): .writeError(Errno(rawValue: errno))
        case .publishFailed(let errno): .publishError(Errno(rawValue: errno))
        case .removed: .removed
        case .neverOpened: .unfinished
        }
    }
}
