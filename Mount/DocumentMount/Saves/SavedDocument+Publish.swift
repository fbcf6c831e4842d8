import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Carrying out what the machine says of a save.
extension SavedDocument {
    /// Throws what the app is to be told. With no lock held.
    ///
    /// - Parameter waitsForKernel: until the kernel has forgotten the version that goes, a tenth of a second at most. Only in a request
    ///   that holds no folder's lock in the kernel, and for which none that holds one waits.
    func carryOut(_ step: SaveStep, waitsForKernel: Bool = false) throws(Errno) {
        defer { settle() }
        switch step {
        case .none: return
        case .refuse(let errno): throw Errno(rawValue: errno)
        case .discard(let id, let reason):
            drop(id, reason)
            if let errno = reason.errno { throw Errno(rawValue: errno) }
        case .publish(let id, let cause):
            defer { forgetLastingEntries(waits: waitsForKernel) }
            try publish(id, cause)
        }
    }

    private func publish(_ id: VersionID, _ cause: PublishCause) throws(Errno) {
        // The saver's, whoever closes last, or renames, or on whichever thread a RELEASE comes.
        if let caller = state.withLock({ $0.working[id]?.caller }) { service.privileges.identify(as: caller) }
        // Before the turn, which other savers wait for: the disk may take long.
        var failure: Errno?
        if let version = state.withLock({ $0.working[id] }) {
            noteUnheardWrites(to: version)
            do throws(Errno) {
                try version.copy.writeOut()
                if version.isUnheard { try version.copy.expectRoom() }
            } catch {
                failure = error
            }
        }
        let notOnDisk = failure
        var replaced: ReplacedVersion?
        let next = turn.withLock { () -> SaveStep in
            do throws(Errno) {
                return try publishInTurn(id, cause, notOnDisk, keeping: &replaced)
            } catch {
                failure = error
                return ifActive { _, machine in machine.failed(id, errno: error.rawValue, now: SaveService.now) } ?? .none
            }
        }
        if case .discard(let id, let reason) = next { drop(id, reason) }
        // With the turn given up: others may publish while it is copied.
        if let replaced { service.keepLater(replaced) }
        if case .refuse(let errno) = next { throw Errno(rawValue: errno) }
        if let failure { throw failure }
    }

    /// Returns what is to be done when the turn is given up. Throws when the machine is to be told of the failure.
    private func publishInTurn(
        _ id: VersionID, _ cause: PublishCause, _ notOnDisk: Errno?, keeping replaced: inout ReplacedVersion?
    ) throws(Errno) -> SaveStep {
        awaitReleases()
        let found = ifActive { state, machine -> (PublishDecision, WorkingVersion, Node)? in
            guard let version = state.working[id], let published = state.published else { return nil }
            return (machine.plan(id, for: cause, hasName: published.currentLink != nil, now: SaveService.now), version, published)
        } ?? nil
        guard let (decision, version, published) = found else { return .none }
        let plan: PublishPlan
        switch decision {
        case .none: return .none
        case .discard(let reason): return .discard(id, reason)
        case .publish(let wanted): plan = wanted
        }
        if let notOnDisk { throw notOnDisk }
        let old = plan.keepsReplaced.flatMap { ReplacedVersion(published, $0, by: version.caller, in: self) }
        if plan.mode == .replace {
            do throws(PublishFailure) {
                let folder = try replace(published, by: version, plan)
                replaced = old
                guard service.options.syncsSaves || cause == .synced else { return .none }
                // It is published, only perhaps not for good.
                do throws(Errno) { try version.copy.makeDurable(namesIn: folder) } catch { return .refuse(error.rawValue) }
                return .none
            } catch {
                switch error {
                case .removed, .replaced: return ifActive { _, machine in machine.vanished(id) } ?? .none
                case .linked, .attribute, .nameRefused: ifActive { _, machine in machine.staysInPlace(id) }
                case .failed(let errno): throw errno
                }
            }
        }
        // Its content is about to be written over.
        if let old { service.keep(old) }
        do throws(PublishFailure) {
            try publishInPlace(version, into: published, plan)
            return .none
        } catch {
            switch error {
            case .removed: return ifActive { _, machine in machine.vanished(id) } ?? .none
            case .failed(let errno): throw errno
            case .replaced, .linked, .attribute, .nameRefused: throw .ioError
            }
        }
    }

    /// Has the handles read and write another file, that of `node`.
    func redirect(_ handles: [FileHandle], to file: Descriptor, of node: Node) {
        for handle in handles {
            let flags = handle.flags & (SaveService.openFlagsKept | O_APPEND)
            if let descriptor = try? service.locator.reopened(file, flags: flags) { handle.redirect(to: descriptor, of: node) }
        }
    }

    // MARK: - Into the document's own inode (rule 12)

    /// Copies the content into the published version's file. With `turn` held; `writing` exclusive at the end.
    private func publishInPlace(_ version: WorkingVersion, into published: Node, _ plan: PublishPlan) throws(PublishFailure) {
        let target: Descriptor
        let folder: Descriptor
        guard let link = published.currentLink, let path = published.path else { throw .removed }
        do throws(Errno) {
            target = try service.locator.opened(published, flags: O_RDWR | CL_O_LARGEFILE)
            folder = try service.locator.folder(link.parent)
        } catch {
            throw .failed(error)
        }
        service.pins.willWrite(target, by: service.privileges.user(version.caller))
        version.written.withLock { $0 = 0..<0 }
        defer { version.written.withLock { $0 = nil } }
        try version.copy.publishInPlace(at: path, in: folder, into: target, keepingTimes: !plan.setsModificationTime)
        var handles: [FileHandle] = []
        do throws(Errno) {
            try version.writing.exclusive { () throws(Errno) in
                // What was written meanwhile.
                let range = version.written.withLock { $0 ?? 0..<0 }
                try version.copy.bringUpToDate(target, in: range)
                handles = ifActive { state, machine -> [FileHandle] in
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
        version.node.state.withLock { $0.pin = Pin(target, for: version.caller.uid, of: service.shares) }
        service.table.detach(version.node)
        service.table.forget(version.node, count: 1)
        service.journal.written(published, version.caller)
        service.session.current?.notifier.contentsChanged(ofFile: published, service.table)
        // Programs may have the same file open by the node that was displaced for this save.
        for host in handles.map(\.node) where host.isDisplaced.load(ordering: .relaxed) && host.identity == published.identity {
            service.session.current?.notifier.contentsChanged(ofFile: host, service.table)
        }
        service.writtenElsewhere(published)
    }

    // MARK: - Not at all

    private func drop(_ id: VersionID, _ reason: DiscardReason) {
        let (dropped, published) = state.withLock { state in (state.working.removeValue(forKey: id), state.published) }
        guard let version = dropped else { return }
        service.privileges.identify(as: version.caller)
        service.noteFreeing(version)
        if reason.keepsContent, version.isHeldByOthers.load(ordering: .relaxed) {
            // With what they go on writing.
            version.keptLater.withLock { $0 = (reason.kept, published?.path) }
            service.discarded.withLock { $0[ObjectIdentifier(version)] = version }
            // Nobody may be left already.
            service.keepNow(version)
        } else {
            service.letGo(of: version, keeping: reason.keepsContent ? reason.kept : nil, at: published?.path)
        }
        if let published, reason != .neverOpened { service.journal.aborted(published, version.caller) }
        if version.isExchanged {
            // The content of the save takes room until the kernel forgets the inode.
            let pin = Pin(version.copy.file, for: version.caller.uid, of: service.shares)
            version.node.superseded(by: version.process, pin: pin)
            // The name stays with the copy, another inode than the one that the index has.
            if let published { service.journal.touched(published, by: version.caller, nil, isIndexed: true) }
        }
        // The kernel may have it under the name still, and with it the space that it takes.
        forgetName()
        // Programs may watch the document by the inode that it had.
        if version.isExchanged { service.saveNotifier.superseded(version.node) } else { service.table.forget(version.node, count: 1) }
    }
}
