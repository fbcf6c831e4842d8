import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// One OPEN for writing or with O_TRUNC: collects the facts that the document's machine needs, has it decide, and opens what it says. The
/// facts are collected without locks; if another version is published by the time of the decision, they are collected again.
struct WritingOpen: ~Copyable {
    private let service: SaveService
    /// The version that was asked for.
    private let node: Node
    private let flags: Int32
    private let caller: Caller
    private var request: OpenRequest

    /// The published version as it was found, which the kernel need not know any more.
    private struct Found {
        let node: Node
        /// Opened as asked for; nil where that failed, or is not needed.
        var file: (descriptor: Descriptor, status: cl_status)?
    }

    init(_ service: SaveService, _ node: Node, flags: Int32, _ caller: Caller, creates: Bool, isRetry: Bool) {
        (self.service, self.node, self.flags, self.caller) = (service, node, flags, caller)
        // Whether the process is known costs a read of /proc, which an open that is live in any case is spared.
        let process = caller.thread > 0 ? SaveProcess(id: caller.thread, start: 0) : nil
        request = OpenRequest(
            version: node.versionID, handle: FileHandle.nextSaveHandle,
            caller: SaveCaller(thread: ThreadID(caller.thread), process: process), flags: OpenFlags(flags, creates: creates),
            mayRetry: !isRetry)
    }

    /// What is opened, not yet registered. Throws ESTALE for a retry, else what open(2) is to answer.
    consuming func answer() throws(Errno) -> SaveService.Opening {
        if let document = node.saved.load(), document.isAmongSaves(node) { return try answer(in: document) }
        let file: Descriptor
        do throws(Errno) {
            file = try opened(node)
        } catch .staleNFSFileHandle {
            // Replaced in between.
            guard let document = node.saved.load(), document.isAmongSaves(node) else { throw .staleNFSFileHandle }
            return try answer(in: document)
        }
        let status = try noteFacts(of: file, node)
        if let reason = request.reasonToBeLive { return live(reason, file, status) }
        let document = service.document(of: node)
        // Makes the machine, which knows of flushed handles.
        document.withMachine(knownBy: node) { _, _ in }
        document.awaitReleases(knownBy: node)
        if let opening = try decide(Found(node: node, file: (file, status)), in: document) { return opening }
        return try answer(in: document)
    }

    /// For a document that is being saved, or a node that another version has superseded.
    private mutating func answer(in document: SavedDocument) throws(Errno) -> SaveService.Opening {
        for _ in 0..<SaveService.maximumAttempts {
            // It may take some time, in which others save.
            if request.flags.contains(.truncates) { document.awaitReleases(knownBy: node) }
            // The working copy is served whatever the document looks like.
            var found = Found(node: document.withMachine(knownBy: node) { state, _ in state.published! })
            request.facts.refusal = nil
            if !document.isOpenSave(node) {
                do throws(Errno) {
                    let file = try opened(found.node)
                    found.file = (file, try noteFacts(of: file, found.node))
                } catch {
                    request.facts.refusal = error.rawValue
                }
            }
            if let opening = try decide(found, in: document) { return opening }
        }
        let thread = request.caller.thread
        let step = document.ifActive { _, machine in machine.abandon(thread) } ?? .none
        try document.carryOut(step)
        throw .resourceBusy
    }

    private func live(_ reason: LiveReason, _ file: Descriptor, _ status: cl_status) -> SaveService.Opening {
        service.counters.withLock { $0.count(.live(reason)) }
        return SaveService.Opening(
            file: file, status: status, decision: FileHandle.Decision(save: request.handle, reason: reason), document: nil,
            then: .none, isTruncated: request.flags.contains(.truncates))
    }

    // MARK: - Facts

    /// The daemon's own descriptor of the document. A file for appending alone (`chattr +a`) is opened with O_APPEND or not at all.
    private func opened(_ node: Node) throws(Errno) -> Descriptor {
        do throws(Errno) {
            return try service.locator.opened(node, flags: flags & SaveService.openFlagsKept)
        } catch .notPermitted where flags & O_APPEND != 0 {
            return try service.locator.opened(node, flags: flags & (SaveService.openFlagsKept | O_APPEND))
        }
    }

    /// Adds to the request what the file's status tells. Throws ESTALE if the file has lost its last name and the open can be retried.
    private mutating func noteFacts(of file: Descriptor, _ node: Node) throws(Errno) -> cl_status {
        let status = try FileStatus(of: file)
        request.facts.isEmpty = status.st.st_size == 0
        request.facts.links = Int(clamping: status.st.st_nlink)
        // Another file has its name: what others have open is not to be cut off under them. Whoever has no path comes back.
        if status.st.st_nlink == 0, request.mayRetry, request.flags.contains([.writes, .truncates]),
            request.caller.process != nil
        {
            throw .staleNFSFileHandle
        }
        if request.flags.contains([.writes, .truncates]), let link = node.currentLink {
            request.facts.matchesLivePattern = link.name.withCString { service.options.livePatterns.matches($0) }
            request.facts.isServed = node.isServed
        }
        return status
    }

    // MARK: - The decision

    /// Nil if the published version is another by now than the one found, so that what is known of it is worth nothing.
    private mutating func decide(_ found: Found, in document: SavedDocument) throws(Errno) -> SaveService.Opening? {
        request.caller = document.saver(caller)
        while true {
            let asked = request
            let decision = document.withMachine(knownBy: node) { state, machine -> OpenDecision? in
                if state.published !== found.node || machine.isReplacing, !machine.isOpenSave(asked.version) { return nil }
                return machine.open(asked, now: SaveService.now)
            }
            guard let decision else {
                document.awaitPublication()
                return nil
            }
            guard case .begin = decision else { return try serve(decision, found, in: document) }
            // The save whose working copy was asked for ended just now.
            guard let file = found.file else {
                document.awaitPublication()
                return nil
            }
            switch try begin(on: found.node, file.descriptor, file.status, in: document) {
            case .decided(let answer): return try serve(answer, found, in: document)
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

    /// Makes the working copy of the published version.
    private mutating func begin(
        on published: Node, _ file: Descriptor, _ status: cl_status, in document: SavedDocument
    ) throws(Errno) -> Beginning {
        guard let process = request.caller.process, let link = published.currentLink else {
            guard document.state.withLock({ $0.published === published }) else { return .superseded }
            // Another file may have its name. Whoever has no path comes back.
            if request.mayRetry, request.caller.process != nil { throw .staleNFSFileHandle }
            request.facts.links = 0
            return .impossible
        }
        let folder = try service.locator.folder(link.parent)
        guard let share = TakenShare(.openFiles, WorkingVersion.descriptors, of: service.shares, for: caller.uid) else {
            throw .tooManyOpenFiles
        }
        let moment = service.processes.moment()
        let image = service.processes.image(of: process)
        let opener = service.processes.hold(asking: process)
        let copy: WorkingCopy
        do throws(SaveService.CopyFailure) {
            copy = try service.copied { () throws(WorkingCopyRefusal) in
                try service.store.workingCopy(of: file, status: status, in: folder, by: service.privileges.user(caller))
            }
        } catch {
            switch error {
            case .failed(let error): throw error
            case .impossible(let refusal) where refusal.isWantOfRoom: request.facts.hasRoom = false
            case .impossible: request.facts.attributesAreTransferable = false
            }
            return .impossible
        }
        let working = document.workingNode(of: copy)
        let asked = request
        let decision = document.withMachine(knownBy: node) { state, machine in
            let decision = machine.begin(asked, working: working.versionID, at: moment, now: SaveService.now)
            if decision.isOn(working.versionID) {
                state.working[working.versionID] = WorkingVersion(
                    node: working, copy: copy, caller: caller, process: process, opener: opener, moment: moment, image: image, share: share)
            }
            return decision
        }
        if decision.isOn(working.versionID) {
            document.noteListing(of: link.parent)
            document.note(link.shownName ?? link.name)
        } else {
            copy.discard()
            service.table.forget(working, count: 1)
            if case .begin = decision { return .superseded }
        }
        return .decided(decision)
    }

    // MARK: - What comes of it

    /// Nil if it is to be decided again.
    private func serve(_ decision: OpenDecision, _ found: Found, in document: SavedDocument) throws(Errno) -> SaveService.Opening? {
        switch decision {
        case .refuse(let errno):
            document.settle()
            throw Errno(rawValue: errno)
        case .retry:
            throw .staleNFSFileHandle
        case .begin: preconditionFailure("begin is answered by what comes of it")
        case .serve(let version, let kind, let then):
            service.counters.withLock { $0.count(kind) }
            do throws(Errno) {
                // It came without a path to walk again, and the kernel has judged by a version that was replaced.
                let use = flags & O_ACCMODE == O_WRONLY ? W_OK : R_OK | W_OK
                if request.version != version, document.isSuperseded(node),
                    !service.mayBeRedirected(caller, from: node, to: found.node, use: use)
                {
                    throw .permissionDenied
                }
                return try opening(version, kind, then, found, in: document)
            } catch {
                document.giveUp(request.handle, then)
                // Published, and over, since it was decided: to be decided again for an open that cannot be retried.
                if error == .staleNFSFileHandle, !request.mayRetry { return nil }
                throw error
            }
        }
    }

    private func opening(
        _ version: VersionID, _ kind: OpenKind, _ then: SaveStep, _ found: Found, in document: SavedDocument
    ) throws(Errno) -> SaveService.Opening {
        let (working, published) = document.state.withLock { ($0.working[version], $0.published) }
        let isElsewhere = request.version != version
        var decision = FileHandle.Decision(save: request.handle, isElsewhere: isElsewhere)
        if case .live(let reason) = kind { decision.reason = reason }
        // The kernel knows the size of the node that it asked to open; another version's end is for its file to find.
        let access = flags & (SaveService.openFlagsKept | (isElsewhere ? O_APPEND : 0))
        func opening(_ file: Descriptor, _ status: cl_status?, of served: Node) -> SaveService.Opening {
            SaveService.Opening(
                file: file, status: status, decision: decision, document: document, served: served, then: then,
                isTruncated: request.flags.contains(.truncates))
        }
        if let working {
            decision.version = working
            // One that only creates will not be opened here.
            if isElsewhere, !request.flags.contains(.creates) {
                working.hosts.withLock { _ = $0.insert(node.identity) }
                decision.hosted = document.host(on: node, caller, isLocked: false)
            }
            if flags & O_ACCMODE == O_RDWR { working.mayBeMapped.store(true, ordering: .relaxed) }
            if service.processes.isRingWorker(request.caller.thread.rawValue) {
                working.isOpenedByRing.store(true, ordering: .relaxed)
            }
            // The copy's own descriptor reads and writes: another one is opened for what else the program asks for.
            let own = working.copy.file
            let file = try access & ~(O_ACCMODE | CL_O_LARGEFILE) == 0 ? own : service.locator.reopened(own, flags: access)
            return opening(file, nil, of: working.node)
        }
        // The machine may be gone by now: a live open leaves nothing in it.
        guard let published = [published, found.node].compactMap({ $0 }).first(where: { $0.versionID == version })
        else { throw .staleNFSFileHandle }
        if !isElsewhere, let file = found.file, published === found.node {
            return opening(file.descriptor, file.status, of: published)
        }
        let file = try isElsewhere ? service.locator.opened(published, flags: access) : opened(published)
        let status = try FileStatus(of: file)
        return opening(file, status, of: published)
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
