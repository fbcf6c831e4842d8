import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Keeps the content of saves that were not published, and versions that were replaced, for `quire recover`.
extension SaveService {
    /// Keeps what is to be kept when nobody has it open any more, if that is so.
    func keepNow(_ version: WorkingVersion, isLast: Bool = false) {
        guard isLast || version.node.state.withLock({ !$0.handles.contains { $0.isWritable } }),
            let (reason, path) = version.keptLater.withLock({ $0.take() })
        else { return }
        discarded.withLock { $0[ObjectIdentifier(version)] = nil }
        letGo(of: version, keeping: reason, at: path)
    }

    /// Drops a working copy. One that is kept is moved; where that takes a copy of it, by `quire-copies`.
    func letGo(of version: WorkingVersion, keeping reason: KeptVersion.Reason?, at path: StorePath?) {
        noteFreeing(version)
        guard let reason else { return version.copy.discard() }
        let work: @Sendable () -> Void = { [self] in
            keep(version, reason, at: path)
            version.copy.discard()
        }
        if store.kept.isBeside(version.copy.file) || !copies.add(of: version.caller.uid, work) { work() }
    }

    /// A version is over that is not published: its room is free when nobody has it open any more, and it is kept.
    func noteFreeing(_ version: WorkingVersion) {
        if let share = version.freedRoom.load() { return share.renew() }
        version.copy.file.keepUntilClosed(version.freedRoom.storeIfNil(FreedRoom.Share(of: freedRoom)))
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

    /// Copies a version that was replaced to the kept versions, on `quire-copies` if the user may have one more copy wait.
    func keepLater(_ old: ReplacedVersion) {
        if !copies.add(of: old.replacedBy.uid, { [self] in keep(old) }) { keep(old) }
    }

    /// The same, at once: before its content is written over. Waits for the disk.
    func keep(_ old: ReplacedVersion) {
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
        for document in activeDocuments {
            let (open, path) = document.state.withLock { (Array($0.working.values), $0.published?.path) }
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
    init?(_ published: Node, _ reason: KeepingReason, by caller: Caller, in document: SavedDocument) {
        guard let path = published.path, let file = try? document.service.locator.opened(published, flags: O_RDONLY) else { return nil }
        self.reason = reason.kept
        (self.path, self.file, replacedBy) = (path, file, caller)
        savedBy = document.state.withLock { $0.savedBy }
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
