import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func open(_ caller: Caller, node: NodeID, flags: Int32, reply: consuming Reply<OpenedFile>) {
        open(caller, table.node(node), flags: flags, reply)
    }

    func open(_ caller: Caller, _ node: Node, flags: Int32, _ reply: consuming Reply<OpenedFile>) {
        do throws(Errno) { try checkRoom(for: .openFiles, caller) } catch { return reply.fail(error) }
        let writes = flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0
        if writes ? !coordinator.gate.enter() : coordinator.gate.isGuarded.load(ordering: .relaxed) {
            return openGuarded(WaitingOpen(node, flags: flags, caller, deadline: coordinator.openDeadline), reply)
        }
        defer { if writes { coordinator.gate.leave() } }
        answer(node, flags: flags, caller, reply)
    }

    /// Opens, and answers with what came of it.
    func answer(_ node: Node, flags: Int32, _ caller: Caller, _ reply: consuming Reply<OpenedFile>) {
        let handle: FileHandle
        let mode: OpenMode
        let isRetry = saves.staleRetries.isExpected(caller.thread)
        do throws(Errno) {
            (handle, mode) = try opened(node, flags: flags, caller)
        } catch {
            // The kernel would hand it to the app: the file is gone, from outside.
            if error == .staleNFSFileHandle, isRetry { return reply.fail(.noSuchFileOrDirectory) }
            return reply.fail(error)
        }
        let id = handOver(handle)
        if !reply.succeed(OpenedFile(handle: id, mode: mode)) { release(id) }
    }

    func create(
        _ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, flags: Int32,
        reply: consuming Reply<CreatedFile>
    ) {
        let created: (Entry, FileHandle, OpenMode)
        do throws(Errno) { created = try creating(caller, in: table.node(parent), name: name, mode: mode, flags: flags) } catch { return reply.fail(error) }
        answer(created, reply)
    }

    /// The entry and the handle of a file that is made, or of one that is there.
    func creating(
        _ caller: Caller, in parent: Node, name: BorrowedName, mode: mode_t, flags: Int32
    ) throws(Errno) -> (entry: Entry, handle: FileHandle, mode: OpenMode) {
        do throws(Errno) {
            try checkRoom(for: .openFiles, caller)
            try refuseHidden(name)
            let created = try makingFile(name, in: parent, caller) { () throws(Errno) in
                try self.created(caller, in: parent, name: name, mode: mode, flags: flags)
            } _: { (hidden, staged) throws(Errno) in
                try createdForClaim(caller, in: parent, name: name, as: hidden, staged, mode: mode, flags: flags)
            }
            _ = saves.staleRetries.takeMaking(caller.thread)
            return created
        } catch .fileExists where flags & O_EXCL == 0 {
            // This open(2) was answered ESTALE before, and its name was gone when it was looked up again: another file has it now.
            if saves.staleRetries.takeMaking(caller.thread) {
                return try createAgain(caller, in: parent, name: name, mode: mode, flags: flags)
            }
            // The kernel walks the path again and finds what is there.
            beginSave(of: name, in: parent, flags: flags, caller)
            saves.staleRetries.note(
                caller.thread, at: Node.Link(parent: parent, name: EntryName(copying: name)), flags: flags)
            throw .staleNFSFileHandle
        }
    }

    /// CREATE of a name that is there, by an open(2) that the kernel does not retry once more: opens what is there, as whoever asks
    /// may.
    func createAgain(
        _ caller: Caller, in parent: Node, name: BorrowedName, mode: mode_t, flags: Int32
    ) throws(Errno) -> (entry: Entry, handle: FileHandle, mode: OpenMode) {
        for _ in 0..<Self.maximumAttempts {
            do throws(Errno) { return try openedExisting(name, in: parent, flags: flags, caller) } catch .noSuchFileOrDirectory, .staleNFSFileHandle {}
            do throws(Errno) { return try created(caller, in: parent, name: name, mode: mode, flags: flags) } catch .fileExists {}
        }
        throw .resourceBusy
    }

    private func openedExisting(
        _ name: BorrowedName, in parent: Node, flags: Int32, _ caller: Caller
    ) throws(Errno) -> (Entry, FileHandle, OpenMode) {
        let place = Node.Link(parent: parent, name: EntryName(copying: name))
        saves.staleRetries.note(caller.thread, at: place, flags: flags)
        defer { _ = saves.staleRetries.take(caller.thread) }
        var entry = try lookUp(name, in: parent, try locator.folder(parent), caller)
        let node = table.node(entry.node)
        do throws(Errno) {
            guard node.isRegular else { throw node.isFolder ? .isDirectory : .resourceBusy }
            let access = [O_RDONLY: R_OK, O_WRONLY: W_OK][flags & O_ACCMODE] ?? R_OK | W_OK
            let mode = flags & O_TRUNC == 0 ? access : access | W_OK
            // The kernel leaves the check to whom it asks to create.
            guard tags.access.may(credentials(of: caller), use: try locator.pathDescriptor(of: node), mode)
            else { throw .permissionDenied }
            let (handle, openMode) = try opened(node, flags: flags, caller)
            entry.attributes.validity = .none
            return (entry, handle, openMode)
        } catch {
            table.forget(node, count: 1)
            throw error
        }
    }

    func createTemporary(
        _ caller: Caller, in parent: NodeID, mode: mode_t, flags: Int32, reply: consuming Reply<CreatedFile>
    ) {
        let created: (Entry, FileHandle, OpenMode)
        do throws(Errno) { created = try creatingTemporary(caller, in: table.node(parent), mode: mode, flags: flags) } catch { return reply.fail(error) }
        answer(created, reply)
    }

    func creatingTemporary(
        _ caller: Caller, in parent: Node, mode: mode_t, flags: Int32
    ) throws(Errno) -> (entry: Entry, handle: FileHandle, mode: OpenMode) {
        try checkRoom(for: .openFiles, caller)
        return try temporary(caller, in: parent, mode: mode, flags: flags)
    }

    private func answer(_ created: (entry: Entry, handle: FileHandle, mode: OpenMode), _ reply: consuming Reply<CreatedFile>) {
        let id = handOver(created.handle)
        let file = OpenedFile(handle: id, mode: created.mode)
        if !reply.succeed(CreatedFile(entry: created.entry, file: file)) {
            let node = created.handle.node
            release(id)
            table.forget(node, count: 1)
        }
    }

    private func opened(_ node: Node, flags: Int32, _ caller: Caller) throws(Errno) -> (FileHandle, OpenMode) {
        if flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0 { return try openedForWriting(node, flags: flags, caller) }
        let isApps = flags & CL_O_LARGEFILE != 0
        // Nor one that has passed other names on its second walk, as in a chroot below the mount.
        let mayRetry = isApps && !saves.staleRetries.isExpected(caller.thread)
        let isRetry = isApps && saves.takeMark(caller, at: node, flags: flags)
        while true {
            let opened = try openedForReading(node, flags: flags, caller, isRetry: isRetry, mayRetry: mayRetry)
            if let opened { return opened }
        }
    }

    /// Nil if the node is another version's by now than what was opened.
    private func openedForReading(
        _ node: Node, flags: Int32, _ caller: Caller, isRetry: Bool, mayRetry: Bool
    ) throws(Errno) -> (FileHandle, OpenMode)? {
        // Then it is known whether the caller may have that.
        let isKnown = node.isExchanged.load(ordering: .sequentiallyConsistent) || flags & CL_O_LARGEFILE == 0
        let readsPublished = try saves.retrySuperseded(node, flags: flags, caller, isRetry: isRetry)
        let instead = readsPublished ? try saves.openedInstead(of: node, flags: flags, caller) : nil
        let served = instead?.node ?? node
        let descriptor: Descriptor
        if let instead { descriptor = instead.file } else { descriptor = try locator.opened(node, flags: flags & SaveService.openFlagsKept) }
        let status = try FileStatus(of: descriptor)
        if status.st.st_nlink == 0, mayRetry, !readsPublished { try saves.retryRemoved(node, flags: flags, caller) }
        let isElsewhere = served !== node
        let isHost = isElsewhere || node.hostedWritings.load(ordering: .sequentiallyConsistent) > 0
        let content = isHost || node.hasHostedSaves ? nil : contentToStore(of: node, descriptor, status, flags: flags)
        let registered = register(
            node, descriptor, flags: flags, caller, before: status, isNew: false, FileHandle.Decision(isElsewhere: isElsewhere),
            isAmongSaves: readsPublished || isKnown, content: content, lastPage: isHost ? lastPage(of: descriptor, status) : nil)
        guard let (handle, mode) = registered else { return nil }
        journal.opened(served, caller, flags: flags)
        return (handle, mode)
    }

    private func openedForWriting(_ node: Node, flags: Int32, _ caller: Caller) throws(Errno) -> (FileHandle, OpenMode) {
        let writable = flags & O_ACCMODE != O_RDONLY
        try transactions.openForWriting(node, flags: flags, caller)
        try saves.retryRemoved(node, flags: flags, caller)
        let isRetry = saves.takeMark(caller, at: node, flags: flags)
        while true {
            let opening = try saves.open(node, flags: flags, caller, isRetry: isRetry)
            if opening.decision.version == nil { saves.pins.willWrite(opening.file, by: privileges.user(caller)) }
            if Self.hasSetIDBits(opening.status), caller.uid != 0 {
                // Passed through by a handle that was closed, whose RELEASE is on its way: the bits would go with this open.
                saves.waitWhile { node.state.withLock { $0.backing != nil } }
            }
            let registered = register(
                node, opening.file, flags: flags, caller, before: opening.status, isNew: false, opening.decision,
                isAmongSaves: opening.document != nil)
            // A save was begun meanwhile, of which this open is to know.
            guard let (handle, mode) = registered else { continue }
            opening.register(handle)
            if opening.isTruncated, opening.decision.version?.isUntouched.load(ordering: .relaxed) != true {
                do throws(Errno) {
                    try truncate(handle.descriptor, isWritable: writable, caller)
                } catch {
                    release(handOver(handle))
                    throw error
                }
            }
            // The attributes the kernel holds may go out of date from now on through a mapping, see `attributes(of:)`.
            if handle.mayBeMappedForWriting { attributesMayChange(of: node) }
            if !writable { journal.opened(node, caller, flags: flags) }
            return (handle, mode)
        }
    }

    /// A new file is empty: nothing can be stored through a mapping before a request that has the kernel ask again. Saves the
    /// question that the kernel would ask at once.
    private static let timeWhenMade = CacheTime(seconds: 0.02)

    func attributesMayChange(of node: Node) { session.current?.notifier.attributesChangedNow(of: table.id(of: node)) }

    /// O_TRUNC, after the file was found to be the right one.
    private func truncate(_ descriptor: Descriptor, isWritable: Bool, _ caller: Caller) throws(Errno) {
        // Linux truncates for O_RDONLY|O_TRUNC too, which ftruncate(2) refuses.
        let writable = isWritable ? descriptor : try locator.reopened(descriptor, flags: O_WRONLY)
        try privileges.writingSetID(as: caller) { () throws(Errno) in _ = try check(cl_ftruncate(writable.number, 0)) }
    }

    private func created(
        _ caller: Caller, in parent: Node, name: BorrowedName, mode: mode_t, flags: Int32
    ) throws(Errno) -> (Entry, FileHandle, OpenMode) {
        let (entry, descriptor, node) = try made(caller, in: parent, name: name, mode: mode, flags: flags)
        let aside = tunnel.made(node, in: parent, name, by: caller, descriptor, isWritten: flags & O_ACCMODE != O_RDONLY)
        if let aside { coordinator.moved(from: aside, to: parent.path?.appending(EntryName(copying: name))) }
        return opened(entry, descriptor, node, flags: flags, caller)
    }

    /// The same under a hidden name, for a claim.
    func createdForClaim(
        _ caller: Caller, in parent: Node, name: BorrowedName, as hidden: EntryName, _ staged: StagedNames.Staged?, mode: mode_t,
        flags: Int32
    ) throws(Errno) -> (Entry, FileHandle, OpenMode) {
        try hidden.withCString { (place) throws(Errno) in
            var (entry, descriptor, node) = try made(caller, in: parent, name: place, mode: mode, flags: flags)
            if staged?.base != nil { takeOver(from: name, in: try locator.folder(parent), by: hidden) }
            entry.validity = .none
            return opened(entry, descriptor, node, flags: flags, caller)
        }
    }

    private func made(
        _ caller: Caller, in parent: Node, name: BorrowedName, mode: mode_t, flags: Int32
    ) throws(Errno) -> (Entry, Descriptor, Node) {
        let folder = try locator.folder(parent)
        // Always exclusive: what is there already must go through lookup and the kernel's permission check.
        let openFlags = (flags & SaveService.openFlagsKept) | O_CREAT | O_EXCL | O_NOFOLLOW
        return try locator.changingNames(in: parent) { () throws(Errno) -> (Entry, Descriptor, Node) in
            let number = try privileges.acting(as: caller, mode: mode) { () throws(Errno) in
                try check(cl_openat(folder.number, name, openFlags, mode))
            }
            let descriptor = Descriptor(owning: number)
            var status = cl_status()
            _ = try check(cl_statx_fd(number, &status))
            let entry = entry(ofMade: name, in: parent, status)
            return (entry, descriptor, table.node(entry.node))
        }
    }

    private func opened(
        _ entry: Entry, _ descriptor: Descriptor, _ node: Node, flags: Int32, _ caller: Caller
    ) -> (Entry, FileHandle, OpenMode) {
        node.hasNoCapabilities.store(true, ordering: .relaxed)
        let (handle, openMode) = registerNew(node, descriptor, flags: flags, caller)
        var fresh = entry
        if handle.mayBeMappedForWriting { fresh.attributes.validity = Self.timeWhenMade }
        return (fresh, handle, openMode)
    }

    private func temporary(
        _ caller: Caller, in parent: Node, mode: mode_t, flags: Int32
    ) throws(Errno) -> (Entry, FileHandle, OpenMode) {
        let folder = try locator.folder(parent)
        let number = try privileges.acting(as: caller, mode: mode) { () throws(Errno) in
            try check(
                cl_openat(folder.number, ".", (flags & (SaveService.openFlagsKept | O_EXCL)) | CL_O_TMPFILE, mode))
        }
        let descriptor = Descriptor(owning: number)
        var status = cl_status()
        _ = try check(cl_statx_fd(number, &status))
        // No name: the descriptor is how it is found, also when the app links it into a folder.
        let pin = Pin(try locator.reopenedByPath(descriptor), for: caller.uid, of: shares)
        let node = table.lookedUp(status)
        node.state.withLock { $0.pin = pin }
        // It is gone with its last handle, and its inode number another file's.
        if pin == nil { table.detach(node) }
        node.hasNoCapabilities.store(true, ordering: .relaxed)
        let (handle, openMode) = registerNew(node, descriptor, flags: flags, caller)
        return (entry(for: node, status), handle, openMode)
    }

    /// CREATE of a document that is there, of which the kernel did not know. If that open begins a save, it does so here: the
    /// next request of this open(2) cannot be answered ESTALE any more.
    func beginSave(of name: BorrowedName, in parent: Node, flags: Int32, _ caller: Caller) {
        if stagesSave(of: name, in: parent, flags: flags, caller) { return }
        // At a guarded gate it comes with the OPEN.
        guard flags & O_TRUNC != 0, flags & O_ACCMODE != O_RDONLY, coordinator.gate.enter() else { return }
        defer { coordinator.gate.leave() }
        guard let folder = try? locator.folder(parent) else { return }
        guard let status = try? FileStatus(of: name, in: folder), status.isRegular
        else { return }
        let node = table.lookedUp(status)
        defer { table.forget(node, count: 1) }
        node.seen(in: parent, name: name, hasOtherNames: status.st.st_nlink > 1)
        guard let opening = try? saves.open(node, flags: flags, caller, creates: true) else { return }
        // Live: nothing is opened yet.
        opening.abandon()
    }

    /// The same for a document that the caller has claimed, which is copied for the claim. False if it is none.
    private func stagesSave(of name: BorrowedName, in parent: Node, flags: Int32, _ caller: Caller) -> Bool {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed), let folder = try? locator.folder(parent) else { return false }
        if let hidden = transactions.staged(EntryName(copying: name), in: parent, for: caller)?.hidden {
            transactions.beginSave(of: hidden, in: parent, flags: flags, caller)
            return true
        }
        guard let entry = try? lookUp(name, in: parent, folder, caller) else { return false }
        let node = table.node(entry.node)
        defer { table.forget(node, count: 1) }
        do throws(Errno) {
            try transactions.openForWriting(node, flags: flags, caller)
            return false
        } catch {
            return true
        }
    }

    func handOver(_ handle: FileHandle) -> HandleID {
        if shares.take(.openFiles, for: handle.caller.uid) { handle.isCounted.store(true, ordering: .relaxed) }
        openHandles.add(1, ordering: .relaxed)
        return handle.handedToKernel()
    }

    func release(_ id: HandleID) {
        if id == .nothing { return }
        defer { openHandles.subtract(1, ordering: .relaxed) }
        // Before the handle's address can be another's.
        locks.released(handle: id)
        let handle = FileHandle.consume(id)
        if handle.isCounted.load(ordering: .relaxed) { shares.giveBack(.openFiles, for: handle.caller.uid) }
        let node = handle.node
        // The watcher tells of its writes later.
        let writesOwnFile = handle.isWritable && handle.redirectedTo == nil && !handle.isElsewhere
        let written = writesOwnFile ? Self.seen(of: handle) : nil
        let served = handle.served
        let published = handle.version == nil ? nil : served.state.withLock { $0.written }
        let finished = node.state.withLock { state -> BackingID? in
            if let index = state.handles.firstIndex(where: { $0 === handle }) { state.handles.remove(at: index) }
            if handle.isWritable {
                state.writers -= 1
                if let written { state.written = written }
                state.made?.closed(by: handle)
                // What was written is not in the kernel's pages if it went past them, or if they were dropped and read again
                // while a WRITE was on its way.
                state.pages = nil
            }
            if handle.mayBeMappedForWriting { state.unheardWriters -= 1 }
            guard handle.hasBacking else {
                state.plainOpens -= 1
                return nil
            }
            state.backing?.opens -= 1
            guard let backing = state.backing, backing.opens == 0 else { return nil }
            defer { state.backing = nil }
            return backing.id
        }
        handle.endRedirection()
        if let finished { session.current?.closeBacking(finished) }
        if handle.isWritable {
            writers.closed(handle)
            saves.released(handle)
            noteWriting(served, by: handle, written ?? Self.seen(of: handle), published: published)
            // The room of a save that came to nothing is free when the last descriptor is closed.
            if let room = handle.version?.freedRoom.load() { handle.descriptor.keepUntilClosed(room) }
        }
    }

    /// A document that is written in place is closed by its opener. A new one that is empty yet may be about to be written: a shell closes one
    /// descriptor of a redirection before its program begins. One statx(2).
    func noteWritingAtClose(_ handle: FileHandle) {
        guard handle.version == nil, let now = Self.seen(of: handle), now.size > 0 || handle.before != nil else { return }
        if noteWriting(handle.served, by: handle, now) { handle.told.withLock { $0 = now } }
    }

    /// At the end of serving: files still open for writing get no RELEASE.
    func noteOpenWriters() {
        for handle in writers.current where handle.descriptor.mountKind != .served { noteWriting(handle.served, by: handle, Self.seen(of: handle)) }
    }

    /// Tells the journal of a document that was written: seen by its size and times, since the daemon sees no writes under
    /// passthrough. `published`: as a save had left it, which was told of.
    /// - Returns: whether it was written.
    @discardableResult
    private func noteWriting(_ node: Node, by handle: FileHandle, _ now: Node.Seen?, published: Node.Seen? = nil) -> Bool {
        guard let now, !now.isRemoved, !handle.isUnused.load(ordering: .relaxed) else { return false }
        let before = published ?? handle.told.withLock { $0 } ?? handle.before.map { Node.Seen($0.st) }
        if let before, before.hasContent(of: now) { return false }
        journal.written(node, handle.caller)
        return true
    }

    private static func seen(of handle: FileHandle) -> Node.Seen? {
        var status = cl_status()
        let descriptor = handle.descriptor
        return cl_statx_fd(descriptor.number, &status) == 0 ? Node.Seen(status.st) : nil
    }
}
