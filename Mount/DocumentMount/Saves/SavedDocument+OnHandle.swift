import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import ProcessInspection
import StorePrimitives
import SystemPackage

/// Saves that begin on an open handle: ftruncate(2) to nothing by a program that opened the document without O_TRUNC. No LOOKUP follows by
/// which its program could be led to a working copy.
///
/// A handle whose writes come to the daemon is redirected to a new file (`redirectToCopy`): no program that has the document open
/// notices anything. One that the kernel reads and writes itself keeps the document's inode, and all others are given a copy of
/// that under the document's name (`exchange`); which programs have the inode open at that moment see the document cut off, as on a
/// plain folder, but for readers that were opened after that handle: these come to the daemon (`mustBeDirect`), and go on with the
/// copy.
extension SaveService {
    /// Before ftruncate(2) to nothing through a handle. Afterwards the handle has a working copy, or the document is written in place. Throws
    /// ENOSPC or EDQUOT where a failed save has the room that a copy would need (`copied`). With no lock held.
    func beginOnHandle(_ handle: FileHandle, _ caller: Caller) throws(Errno) {
        guard handle.decision.reason == .notTruncating, handle.version == nil else { return }
        for _ in 0..<Self.maximumAttempts {
            if case .done = try attempt(on: handle, caller) { return }
        }
    }

    /// Makes a copy for a save that begins, and waits for room that is about to be free. Throws the refusal of a copy; if that is for want of room
    /// that a failed save has still, ENOSPC or EDQUOT instead: written in place, the save would take the old version with it if it found no room.
    /// With no lock held.
    func copied<Copy>(_ make: () throws(WorkingCopyRefusal) -> Copy) throws(CopyFailure) -> Copy {
        do throws(WorkingCopyRefusal) { return try freedRoom.await(after: \.isWantOfRoom, make) } catch {
            throw error.isWantOfRoom && freedRoom.isOwed ? .failed(error.errno) : .impossible(error)
        }
    }

    /// Why there is no copy of a document.
    enum CopyFailure: Error {
        /// The save fails.
        case failed(Errno)
        /// The document is to be written in place.
        case impossible(WorkingCopyRefusal)
    }

    /// As `copied`; nil if the document is to be written in place.
    fileprivate func copiedIfPossible<Copy>(_ make: () throws(WorkingCopyRefusal) -> Copy) throws(Errno) -> Copy? {
        do throws(CopyFailure) { return try copied(make) } catch {
            if case .failed(let error) = error { throw error }
            return nil
        }
    }

    /// The result of one attempt to begin a save on a handle that is about to cut the document to nothing.
    fileprivate enum Attempt {
        /// A save has begun, or there is to be none.
        case done
        /// Another version has taken the document's place meanwhile.
        case again
    }

    /// Begins a save if the document allows it. With no lock held.
    private func attempt(on handle: FileHandle, _ caller: Caller) throws(Errno) -> Attempt {
        // The thread that publishes a version leads the handle to that.
        let known = handle.node.saved.load()
        known?.awaitPublication()
        guard let node = writtenNode(of: handle) else { return .done }
        if let redirected = handle.redirectedTo, redirected !== node { return .again }
        let isUnused = handle.isUnused.load(ordering: .relaxed)
        guard let link = node.currentLink, link.copiedInode == nil, let status = try? FileStatus(of: handle.descriptor),
            isUnused || handle.isUnwritten(status)
        else {
            let isReplaced = node.state.withLock { $0.isSuperseded } || known?.isSuperseded(node) ?? false
            return isReplaced ? .again : .done
        }
        if let reason = reasonToTruncateLive(handle, link, status) { return staysLive(reason) }
        let document = self.document(of: node)
        document.withMachine(knownBy: node) { _, _ in }
        defer { document.settle() }
        document.awaitReleases(knownBy: node)
        let asker = document.saver(caller)
        let reason = document.withMachine(knownBy: node) { _, machine in machine.reasonToTruncateLive(handle.decision.save, by: asker) }
        guard reason == nil, let process = asker.process,
            let share = TakenShare(.openFiles, WorkingVersion.descriptors, of: shares, for: caller.uid)
        else { return staysLive(reason ?? .noRoom) }
        let beginning = Beginning(
            handle: handle, caller: caller, asker: asker, process: process, opener: processes.hold(asking: process),
            moment: processes.moment(), image: processes.image(of: process), share: share, status: status)
        if handle.isDirect { return try document.redirectToCopy(beginning, from: node, link) }
        try document.exchange(beginning, node, link)
        return .done
    }

    fileprivate func staysLive(_ reason: LiveReason) -> Attempt {
        counters.withLock { $0.count(.live(reason)) }
        return .done
    }

    /// The node whose file the handle writes, as it was opened.
    private func writtenNode(of handle: FileHandle) -> Node? {
        guard handle.isElsewhere || handle.redirectedTo != nil else { return handle.node }
        return handle.node.saved.load().flatMap { document in document.state.withLock { $0.published } }
    }

    private func reasonToTruncateLive(_ handle: FileHandle, _ link: Node.Link, _ status: cl_status) -> LiveReason? {
        if handle.flags & (O_SYNC | O_DSYNC) != 0 { return .synchronous }
        if link.name.withCString(options.livePatterns.matches) { return .livePattern }
        if handle.node.isServed { return .served }
        if status.st.st_size == 0 { return .empty }
        if status.st.st_nlink > 1 { return .hardLinked }
        return status.st.st_mode & (S_ISUID | S_ISGID) != 0 ? .attributesNotTransferable : nil
    }

    fileprivate struct Beginning {
        let handle: FileHandle
        let caller: Caller
        let asker: SaveCaller
        let process: SaveProcess
        let opener: HeldProcess?
        let moment: SaveMoment
        let image: ProgramImage?
        let share: TakenShare
        /// The document's.
        let status: cl_status

        func version(_ node: Node, _ copy: WorkingCopy, isExchanged: Bool) -> WorkingVersion {
            WorkingVersion(
                node: node, copy: copy, caller: caller, process: process, opener: opener, moment: moment, image: image, share: share,
                isExchanged: isExchanged, isUnheard: isExchanged && handle.hasBacking)
        }
    }

    /// Before ftruncate(2) or fallocate(2) that gives a file this size. A mapping by a handle on another version's node would be of that one's
    /// inode, so the content goes there before the file is as long as a mapping needs it. With no lock held.
    func extending(_ handle: FileHandle, to size: Int64) throws(Errno) {
        guard handle.mayBeMappedForWriting, let version = handle.version, version.node !== handle.node,
            !processes.isRelay(handle.caller.thread), let document = handle.node.saved.load()
        else { return }
        guard let status = try? FileStatus(of: handle.descriptor), Int64(status.st.st_size) < size else { return }
        let step = document.ifActive { _, machine in machine.extending(handle.decision.save) } ?? .none
        try document.carryOut(step)
    }

    // MARK: - How handles are opened that may begin a save

    /// Whether an open is to have its reads and writes come to the daemon, so that it can be led to another file. With the node's state held.
    ///
    /// - Parameters:
    ///   - isRelay: it is by a program that serves others, one that reads of a document that such have saved.
    ///   - file: as it is now, not as it was found: a whole save may have passed since.
    static func mustBeDirect(
        _ decision: FileHandle.Decision, flags: Int32, _ caller: Caller, isRelay: Bool, file: Descriptor, _ state: borrowing Node.State
    ) -> Bool {
        if flags & O_ACCMODE == O_RDONLY {
            // Other clients of it save by descriptors on the same inode.
            if isRelay { return true }
            var now = cl_status()
            guard state.writers > 0, cl_statx_fd(file.number, &now) == 0 else { return false }
            return state.handles.contains { $0.mayBeginSave && !$0.isDirect && $0.caller.thread != caller.thread && $0.isUnwritten(now) }
        }
        guard decision.reason == .notTruncating else { return false }
        if isRelay { return true }
        // With another writer nothing begins.
        return state.writers == 0 && state.handles.contains { $0.caller.thread != caller.thread && !$0.isElsewhere }
    }
}

extension SavedDocument {
    /// Leads the handle to a new file, if there can be one, and the document has changed in nothing. With no lock held.
    fileprivate func redirectToCopy(
        _ beginning: SaveService.Beginning, from node: Node, _ link: Node.Link
    ) throws(Errno) -> SaveService.Attempt {
        let handle = beginning.handle
        guard let folder = try? service.locator.folder(link.parent),
            let original = try? service.locator.reopened(handle.descriptor, flags: O_RDWR)
        else { return service.staysLive(.noRoom) }
        let copied = try service.copiedIfPossible { () throws(WorkingCopyRefusal) in
            try service.store.workingCopy(of: original, status: beginning.status, in: folder, by: service.privileges.user(beginning.caller))
        }
        guard let copy = copied, let file = try? service.locator.reopened(copy.file, flags: handle.flags & SaveService.openFlagsKept)
        else { return service.staysLive(.noRoom) }
        let working = workingNode(of: copy)
        let version = beginning.version(working, copy, isExchanged: false)
        version.hosts.withLock { _ = $0.insert(handle.node.identity) }
        if handle.mayBeMappedForWriting { version.mayBeMapped.store(true, ordering: .relaxed) }
        let hosted = HostedWriting(on: handle.node)
        // A thread that publishes leads the handles that it has found on to the new version, under this lock.
        let hasBegun = turn.withLock {
            let hasBegun = withMachine(knownBy: node) { state, machine in
                guard state.published === node,
                    machine.begin(
                        on: handle.decision.save, by: beginning.asker, working: working.versionID, at: beginning.moment, now: SaveService.now)
                else { return false }
                state.working[working.versionID] = version
                return true
            }
            guard hasBegun else { return false }
            handle.isUnused.store(false, ordering: .relaxed)
            handle.saves(to: version, hosted)
            handle.redirect(to: file, of: working)
            return true
        }
        guard hasBegun else {
            copy.discard()
            service.table.forget(working, count: 1)
            return .again
        }
        makeHost(of: handle.node, beginning.caller, isLocked: true)
        began(by: beginning, link)
        return .done
    }

    /// The document changes places with a copy.
    fileprivate func exchange(_ beginning: SaveService.Beginning, _ node: Node, _ link: Node.Link) throws(Errno) {
        guard let folder = try? service.locator.folder(link.parent),
            let original = try? service.locator.reopened(beginning.handle.descriptor, flags: O_RDWR | CL_O_LARGEFILE)
        else { return }
        let copied = try service.copiedIfPossible { () throws(WorkingCopyRefusal) in
            try service.store.exchangedCopy(of: original, status: beginning.status, in: folder, by: service.privileges.user(beginning.caller))
        }
        guard let copy = copied else {
            _ = service.staysLive(.noRoom)
            return
        }
        let standing = versionNode(copy.identity, copy.file)
        service.awaitRetries(in: self)
        let exchanged = turn.withLock {
            service.locator.names.changing {
                naming.withLock { () -> WorkingVersion? in
                    guard node.currentLink.map({ $0.parent === link.parent && $0.name == link.name }) ?? false,
                        (try? service.awaitFreeNameChanges(of: node)) != nil
                    else { return nil }
                    return link.parent.nameChanges.during {
                        exchangeStanding(beginning, node, link, folder, copy, standing)
                    }
                }
            }
        }
        guard let version = exchanged else {
            copy.discard()
            // As such it is forgotten.
            state.withLock { $0.others += 1 }
            return service.table.forget(standing, count: 1)
        }
        for other in node.state.withLock({ $0.handles }) where !other.isElsewhere {
            if other.isWritable, !other.isUnused.load(ordering: .relaxed) {
                other.saves(to: version)
            } else if other.isDirect, service.processes.process(of: other.caller.thread) != beginning.process,
                let file = try? service.locator.reopened(copy.file, flags: other.flags & SaveService.openFlagsKept)
            {
                other.redirect(to: file, of: standing)
            }
        }
        began(by: beginning, link)
        // The kernel's name leads to the inode that is about to be cut off.
        noteLastingEntry()
        forgetLastingEntries(waits: true)
        service.awaitReaders(of: node, besides: beginning.caller.thread, isLocked: true)
    }

    /// With all names, the document's too, standing still.
    private func exchangeStanding(
        _ beginning: SaveService.Beginning, _ node: Node, _ link: Node.Link, _ folder: Descriptor, _ copy: ExchangedCopy,
        _ standing: Node
    ) -> WorkingVersion? {
        // From here on others are shown the copy, which is found without a name.
        let hasBegun = withMachine(knownBy: node) { state, machine in
            guard state.published === node,
                machine.begin(
                    on: beginning.handle.decision.save, by: beginning.asker, working: node.versionID, exchanged: standing.versionID,
                    at: beginning.moment, now: SaveService.now)
            else { return false }
            state.published = standing
            state.identity = standing.identity
            state.others += 1
            return true
        }
        guard hasBegun else { return nil }
        do throws(PublishFailure) {
            let working = try copy.exchange(as: link.name, in: folder)
            let version = beginning.version(node, working, isExchanged: true)
            version.mayBeMapped.store(true, ordering: .relaxed)
            link.name.withCString { _ = standing.seen(in: link.parent, name: $0, hasOtherNames: false) }
            // Before: a reader that sees the inode kept is led on.
            state.withLock { $0.working[node.versionID] = version }
            node.isExchanged.store(true, ordering: .sequentiallyConsistent)
            node.exchanged(pin: Pin(counted: working.file))
            return version
        } catch {
            _ = ifActive { state, machine in
                machine.withdraw(node.versionID, exchanged: standing.versionID)
                state.published = node
                state.identity = node.identity
                state.others -= 1
            }
            return nil
        }
    }

    /// The kernel may write the document's own inode for its program itself: the file tells when it has.
    func noteUnheardWrites(to version: WorkingVersion) {
        guard version.isExchanged, let status = try? FileStatus(of: version.copy.file) else { return }
        let age = max(0, cl_realtime_coarse_ns() &- saturatedNanoseconds(status.st.st_mtim))
        let now = SaveService.now
        _ = ifActive { _, machine in
            machine.wroteUnheard(
                version.node.versionID, size: UInt64(clamping: status.st.st_size), at: now - min(now, UInt64(clamping: age)))
        }
    }

    private func began(by beginning: SaveService.Beginning, _ link: Node.Link) {
        service.counters.withLock { $0.count(.transactional) }
        noteListing(of: link.parent)
        note(link.shownName ?? link.name)
    }
}

extension FileHandle {
    /// It was opened to write, without O_TRUNC.
    fileprivate var mayBeginSave: Bool { isWritable && decision.reason == .notTruncating && version == nil }

    /// Whether the file is, by size and time, as it was when the handle was opened.
    fileprivate func isUnwritten(_ now: cl_status) -> Bool {
        guard let before else { return false }
        return Node.Seen(before.st).hasContent(of: Node.Seen(now.st))
    }
}
