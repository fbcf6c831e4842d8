import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// OPEN for writing or with O_TRUNC.
extension SaveService {
    /// What is opened, and how it is to be registered.
    struct Opening {
        let file: Descriptor
        /// As it was before it is truncated; nil for a working copy.
        let status: cl_status?
        let decision: FileHandle.Decision
        /// Nil if the document has no saves.
        let versions: DocumentVersions?
        /// Whose file it is; nil: that of the node that was asked for.
        var served: Node?
        /// To be carried out when the handle is registered.
        let then: SaveStep
        let isTruncated: Bool
    }

    /// What the daemon's own descriptor takes of an app's flags. O_DIRECT is the kernel's affair: the daemon's buffers have
    /// no alignment. Nor O_APPEND: the kernel says where to write, and fcntl(2) may clear the flag. The name was resolved
    /// already.
    static let openFlagsKept = O_ACCMODE | O_SYNC | O_DSYNC | CL_O_NOATIME | CL_O_LARGEFILE

    /// The daemon's own descriptor of a document that an app opens. A file for appending alone (`chattr +a`) is opened with O_APPEND
    /// or not at all.
    private func opened(_ node: Node, for flags: Int32) throws(Errno) -> Descriptor {
        do throws(Errno) {
            return try locator.opened(node, flags: flags & Self.openFlagsKept)
        } catch .notPermitted where flags & O_APPEND != 0 {
            return try locator.opened(node, flags: flags & (Self.openFlagsKept | O_APPEND))
        }
    }

    /// Throws ESTALE to have the kernel walk the path again, after which the caller comes with another version.
    ///
    /// - Parameter isRetry: see `takeMark`, which is taken here if nil.
    func open(_ node: Node, flags: Int32, _ caller: Caller, creates: Bool = false, isRetry: Bool? = nil) throws(Errno) -> Opening {
        do throws(Errno) {
            return try opened(node, flags: flags, caller, creates: creates, isRetry ?? takeMark(caller, at: node, flags: flags))
        } catch {
            if error == .staleNFSFileHandle {
                staleRetries.note(caller.thread, at: node.place, flags: flags, in: node.versions.load())
            }
            if let versions = node.versions.load() { settle(versions) }
            throw error
        }
    }

    private func opened(
        _ node: Node, flags: Int32, _ caller: Caller, creates: Bool, _ isRetry: Bool
    ) throws(Errno) -> Opening {
        if isRetry { processes.noteReopening(by: caller.thread) }
        var request = OpenRequest(
            version: node.versionID, handle: FileHandle.nextSaveHandle,
            caller: SaveCaller(thread: ThreadID(caller.thread), process: placeholder(caller)),
            flags: OpenFlags(flags, creates: creates), mayRetry: !isRetry)
        if let versions = node.versions.load(), isAmongSaves(node, versions) {
            return try openAmongSaves(node, versions, &request, flags, caller)
        }
        let file: Descriptor
        do throws(Errno) {
            file = try opened(node, for: flags)
        } catch .staleNFSFileHandle {
            // Replaced in between.
            guard let versions = node.versions.load(), isAmongSaves(node, versions) else { throw .staleNFSFileHandle }
            return try openAmongSaves(node, versions, &request, flags, caller)
        }
        let status = try facts(of: file, node, &request)
        if let reason = request.reasonToBeLive { return live(request, reason, file, status) }
        let versions = node.versions.storeIfNil(DocumentVersions(of: node))
        // Makes the machine, which knows of flushed handles.
        withMachine(of: versions, node) { _, _ in }
        awaitReleases(versions, node)
        if let opening = try decide(node, for: node, versions, &request, (file, status), flags, caller) { return opening }
        return try openAmongSaves(node, versions, &request, flags, caller)
    }

    private func isAmongSaves(_ node: Node, _ versions: DocumentVersions) -> Bool {
        versions.isActive.load(ordering: .acquiring) || versions.isSuperseded(node)
    }

    /// Whether the process is known costs a read of /proc, which an open that is live in any case is spared.
    private func placeholder(_ caller: Caller) -> SaveProcess? {
        caller.thread > 0 ? SaveProcess(id: caller.thread, start: 0) : nil
    }

    private func live(_ request: OpenRequest, _ reason: LiveReason, _ file: Descriptor, _ status: cl_status) -> Opening {
        counters.withLock { $0.count(.live(reason)) }
        return Opening(
            file: file, status: status, decision: FileHandle.Decision(save: request.handle, reason: reason), versions: nil,
            then: .none, isTruncated: request.flags.contains(.truncates))
    }

    private func facts(of file: Descriptor, _ node: Node, _ request: inout OpenRequest) throws(Errno) -> cl_status {
        let status = try FileStatus(of: file)
        request.document.isEmpty = status.st.st_size == 0
        request.document.links = Int(clamping: status.st.st_nlink)
        // Another file has its name: what others have open is not to be cut off under them. Whoever has no path comes back.
        if status.st.st_nlink == 0, request.mayRetry, request.flags.contains([.writes, .truncates]),
            request.caller.process != nil
        {
            throw .staleNFSFileHandle
        }
        if request.flags.contains([.writes, .truncates]), let link = node.currentLink {
            request.document.matchesLivePattern = link.name.withCString { options.livePatterns.matches($0) }
        }
        return status
    }

    /// The document has saves, or the node is a version that is no longer its own.
    private func openAmongSaves(
        _ node: Node, _ versions: DocumentVersions, _ request: inout OpenRequest, _ flags: Int32, _ caller: Caller
    ) throws(Errno) -> Opening {
        for _ in 0..<Self.maximumAttempts {
            // It may take some time, in which others save.
            if request.flags.contains(.truncates) { awaitReleases(versions, node) }
            // The working copy is served whatever the document looks like.
            let current = withMachine(of: versions, node) { state, _ in state.published! }
            var document: (Descriptor, cl_status)?
            request.document.refusal = nil
            if !isOpenSave(node, versions) {
                do throws(Errno) {
                    let file = try opened(current, for: flags)
                    document = (file, try facts(of: file, current, &request))
                } catch {
                    request.document.refusal = error.rawValue
                }
            }
            if let opening = try decide(current, for: node, versions, &request, document, flags, caller) { return opening }
        }
        let thread = request.caller.thread
        let step = ifActive(versions) { _, machine in machine.abandon(thread) } ?? .none
        try carryOut(step, versions)
        throw .resourceBusy
    }

    private func isOpenSave(_ node: Node, _ versions: DocumentVersions) -> Bool {
        ifActive(versions) { _, machine in machine.isOpenSave(node.versionID) } ?? false
    }

    /// How often the document may be another by the time it was looked at: each time somebody has saved it.
    static let maximumAttempts = 1_000

    /// Nil if the published version is another by now than `current`, so that what is known of it is worth nothing.
    /// - Parameters:
    ///   - current: the published version, which the kernel need not know any more.
    ///   - node: the one that was asked for.
    ///   - document: the published version's file, opened as asked for.
    private func decide(
        _ current: Node, for node: Node, _ versions: DocumentVersions, _ request: inout OpenRequest, _ document: (Descriptor, cl_status)?,
        _ flags: Int32, _ caller: Caller
    ) throws(Errno) -> Opening? {
        request.caller = saver(caller, for: versions)
        while true {
            let asked = request
            let decision = withMachine(of: versions, node) { state, machine -> OpenDecision? in
                if state.published !== current || machine.isReplacing, !machine.isOpenSave(asked.version) { return nil }
                return machine.open(asked, now: Self.now)
            }
            guard let decision else {
                // Until the version is in place that perhaps is being put there at this moment.
                versions.turn.withLock {}
                return nil
            }
            guard case .begin = decision else {
                return try serve(decision, current, for: node, versions, request, document, flags, caller)
            }
            // The save whose working copy was asked for ended just now.
            guard let document else {
                versions.turn.withLock {}
                return nil
            }
            switch try begin(current, for: node, versions, &request, document, caller) {
            case .decided(let answer): return try serve(answer, current, for: node, versions, request, document, flags, caller)
            case .impossible: continue
            case .superseded: return nil
            }
        }
    }

    private enum Beginning {
        case decided(OpenDecision)
        /// There can be no working copy, which the request now says.
        case impossible
        case superseded
    }

    /// Makes the working copy.
    private func begin(
        _ current: Node, for node: Node, _ versions: DocumentVersions, _ request: inout OpenRequest, _ document: (Descriptor, cl_status),
        _ caller: Caller
    ) throws(Errno) -> Beginning {
        guard let process = request.caller.process, let link = current.currentLink else {
            guard versions.state.withLock({ $0.published === current }) else { return .superseded }
            // Another file may have its name. Whoever has no path comes back.
            if request.mayRetry, request.caller.process != nil { throw .staleNFSFileHandle }
            request.document.links = 0
            return .impossible
        }
        let folder = try locator.folder(link.parent)
        guard let share = TakenShare(.openFiles, WorkingVersion.descriptors, of: shares, for: caller.uid) else { throw .tooManyOpenFiles }
        let moment = processes.moment()
        let image = processes.image(of: process)
        let opener = processes.hold(asking: process)
        let copy: WorkingCopy
        do throws(WorkingCopyRefusal) {
            copy = try freedRoom.await(after: \.isWantOfRoom) { () throws(WorkingCopyRefusal) in
                try store.workingCopy(of: document.0, status: document.1, in: folder, by: privileges.user(caller))
            }
        } catch where error.isWantOfRoom {
            request.document.hasRoom = false
            return .impossible
        } catch {
            request.document.attributesAreTransferable = false
            return .impossible
        }
        let working = workingNode(of: copy, versions)
        let asked = request
        let decision = withMachine(of: versions, node) { state, machine in
            let decision = machine.begin(asked, working: working.versionID, at: moment, now: Self.now)
            if decision.isOn(working.versionID) {
                state.working[working.versionID] = WorkingVersion(
                    node: working, copy: copy, caller: caller, process: process, opener: opener, moment: moment, image: image, share: share)
            }
            return decision
        }
        if decision.isOn(working.versionID) {
            noteListing(of: link.parent, versions)
            versions.note(link.shownName ?? link.name)
        } else {
            copy.discard()
            table.forget(working, count: 1)
            if case .begin = decision { return .superseded }
        }
        return .decided(decision)
    }

    /// The node of a working copy, with a lookup counted for the machine.
    func workingNode(of copy: WorkingCopy, _ versions: DocumentVersions) -> Node {
        let working = versionNode(copy.identity, copy.file, versions)
        versions.state.withLock { $0.others += 1 }
        return working
    }

    /// The node of a file that was made for a version, and has no name yet, with a lookup counted.
    func versionNode(_ identity: FileIdentity, _ file: Descriptor, _ versions: DocumentVersions) -> Node {
        let node = table.lookedUp(identity, type: S_IFREG)
        node.state.withLock { $0.pin = Pin(counted: file) }
        node.hasNoCapabilities.store(true, ordering: .relaxed)
        _ = node.versions.storeIfNil(versions)
        return node
    }

    /// Nil if it is to be decided again.
    private func serve(
        _ decision: OpenDecision, _ current: Node, for node: Node, _ versions: DocumentVersions, _ request: OpenRequest,
        _ document: (Descriptor, cl_status)?, _ flags: Int32, _ caller: Caller
    ) throws(Errno) -> Opening? {
        switch decision {
        case .refuse(let errno):
            settle(versions)
            throw Errno(rawValue: errno)
        case .retry:
            throw .staleNFSFileHandle
        case .begin: preconditionFailure("begin is answered by what comes of it")
        case .serve(let version, let kind, let then):
            counters.withLock { $0.count(kind) }
            do throws(Errno) {
                // It came without a path to walk again, and the kernel has judged by a version that was replaced.
                let use = flags & O_ACCMODE == O_WRONLY ? W_OK : R_OK | W_OK
                if request.version != version, versions.isSuperseded(node),
                    !mayBeRedirected(caller, from: node, to: current, use: use)
                {
                    throw .permissionDenied
                }
                return try opening(version, kind, then, current, for: node, versions, request, document, flags, caller)
            } catch {
                giveUp(request.handle, versions, then)
                // Published, and over, since it was decided: to be decided again for an open that cannot be retried.
                if error == .staleNFSFileHandle, !request.mayRetry { return nil }
                throw error
            }
        }
    }

    private func opening(
        _ version: VersionID, _ kind: OpenKind, _ then: SaveStep, _ current: Node, for node: Node, _ versions: DocumentVersions,
        _ request: OpenRequest, _ document: (Descriptor, cl_status)?, _ flags: Int32, _ caller: Caller
    ) throws(Errno) -> Opening {
        let (working, published) = versions.state.withLock { ($0.working[version], $0.published) }
        let isElsewhere = request.version != version
        var decision = FileHandle.Decision(save: request.handle, isElsewhere: isElsewhere)
        if case .live(let reason) = kind { decision.reason = reason }
        // The kernel knows the size of the node that it asked to open; another version's end is for its file to find.
        let access = flags & (Self.openFlagsKept | (isElsewhere ? O_APPEND : 0))
        func opening(_ file: Descriptor, _ status: cl_status?, of served: Node) -> Opening {
            Opening(
                file: file, status: status, decision: decision, versions: versions, served: served, then: then,
                isTruncated: request.flags.contains(.truncates))
        }
        if let working {
            decision.version = working
            // One that only creates will not be opened here.
            if isElsewhere, !request.flags.contains(.creates) {
                working.hosts.withLock { _ = $0.insert(node.identity) }
                decision.hosted = host(on: node, versions, caller, isLocked: false)
            }
            if flags & O_ACCMODE == O_RDWR { working.mayBeMapped.store(true, ordering: .relaxed) }
            if processes.isRingWorker(request.caller.thread.rawValue) {
                working.isOpenedByRing.store(true, ordering: .relaxed)
            }
            // The copy's own descriptor reads and writes: another one is opened for what else the program asks for.
            let own = working.copy.file
            let file = try access & ~(O_ACCMODE | CL_O_LARGEFILE) == 0 ? own : locator.reopened(own, flags: access)
            return opening(file, nil, of: working.node)
        }
        // The machine may be gone by now: a live open leaves nothing in it.
        guard let published = [published, current].compactMap({ $0 }).first(where: { $0.versionID == version })
        else { throw .staleNFSFileHandle }
        if !isElsewhere, let document, published === current {
            return opening(document.0, document.1, of: published)
        }
        let file = try isElsewhere ? locator.opened(published, flags: access) : opened(published, for: flags)
        let status = try FileStatus(of: file)
        return opening(file, status, of: published)
    }

    /// A file that is made by its open has no older version to protect.
    func decisionForNewFile() -> FileHandle.Decision {
        counters.withLock { $0.count(.live(.newFile)) }
        return FileHandle.Decision(save: FileHandle.nextSaveHandle, reason: .newFile)
    }

    /// It was decided how to open, and is not opened after all.
    func abandoned(_ opening: Opening) {
        guard let versions = opening.versions else { return }
        giveUp(opening.decision.save, versions, opening.then)
    }

    /// A handle that the machine knows is not to be.
    private func giveUp(_ handle: SaveHandle, _ versions: DocumentVersions, _ then: SaveStep) {
        let step = ifActive(versions) { _, machine in machine.withdraw(handle) } ?? .none
        try? carryOut(step, versions)
        try? carryOut(then, versions)
    }

    /// The handle is there: from now on it may be led to another file. Ends what the open brought to an end.
    func registered(_ handle: FileHandle, _ opening: Opening) {
        guard let versions = opening.versions else { return }
        if moved(handle, opening, versions) != nil {
            // With no version being put in place, which would lead it on to that.
            versions.turn.withLock {
                guard let written = moved(handle, opening, versions),
                    let file = try? locator.opened(written, flags: handle.flags & (Self.openFlagsKept | O_APPEND))
                else { return }
                handle.redirect(to: file, of: written)
                if handle.isWritable { session.current?.notifier.attributesChangedNow(of: table.id(of: written)) }
            }
        }
        try? carryOut(opening.then, versions)
        settle(versions)
    }

    /// Makes a handle known to the document's state. Returns the version that it is to be led to: another one was published between the
    /// decision and now, or it writes the published one by another's node, which is to be known there, too. Nil if it is as it should be.
    private func moved(_ handle: FileHandle, _ opening: Opening, _ versions: DocumentVersions) -> Node? {
        if let redirected = handle.redirectedTo, versions.state.withLock({ $0.published === redirected }) { return nil }
        let moved = ifActive(versions) { state, machine -> Node? in
            guard let published = state.published else { return nil }
            if handle.isWritable {
                state.handles[handle.decision.save] = handle
                // The machine that decided may be gone, and this one made before the handle was there to be seen.
                if machine.version(of: handle.decision.save) == nil {
                    machine.adopt(LiveWriter(
                        handle: handle.decision.save, process: nil, reason: handle.decision.reason ?? .outlivedSave,
                        isSettled: handle.isUnused.load(ordering: .sequentiallyConsistent)))
                }
                // The machine takes it for unused, and the mount does not hear of all that is written by it.
                if handle.decision.isRelayed, !handle.isUnused.load(ordering: .relaxed) {
                    machine.wrote(handle.decision.save, by: nil, end: 0, now: Self.now)
                }
                guard machine.version(of: handle.decision.save) == published.versionID else { return nil }
            }
            return published === opening.served || opening.decision.version?.node === published ? nil : published
        } ?? versions.state.withLock { state in
            // Saved by somebody, and over, in between.
            guard handle.isWritable, opening.decision.version == nil, let published = state.published,
                opening.served.map({ state.isOther($0) }) ?? true
            else { return nil }
            return published
        }
        let isUnheard = handle.isWritable && handle.decision.isElsewhere && opening.decision.version == nil
        return moved ?? (isUnheard ? opening.served : nil)
    }
}

extension OpenFlags {
    init(_ flags: Int32, creates: Bool) {
        self = []
        if flags & O_ACCMODE != O_RDONLY { insert(.writes) }
        if flags & O_TRUNC != 0 { insert(.truncates) }
        if flags & O_APPEND != 0 { insert(.appends) }
        if flags & (O_SYNC | O_DSYNC) != 0 { insert(.synchronous) }
        if creates { insert(.creates) }
    }
}
