/// Carrying out a `SaveStep.publish`.
extension DocumentSaves {
    /// How to publish a save. The caller holds the document's publishing lock until it has told the outcome, and its
    /// names stand still.
    /// - Parameter hasName: the document has not lost its last name (rule 13).
    public mutating func plan(_ working: VersionID, for cause: PublishCause, hasName: Bool, now: UInt64) -> PublishDecision {
        guard let index = index(of: working) else { return .none }
        precondition(
            saves.allSatisfy { $0.phase == .open }, "one save of a document at a time: end it by published or failed")
        if cause == .closed, isHeld(working) { return .none }
        if !hasName {
            saves[index].fault = .removed
        } else if !saves[index].isToBeDiscarded {
            let save = saves[index]
            let staysInPlace = mustStay(published)
            let mode: PublishMode = (save.isExchanged ? staysInPlace && cause == .closed : staysInPlace || cause.isInPlace) ? .inPlace : .replace
            saves[index].phase = .publishing(mode, cause)
            return .publish(
                PublishPlan(
                    mode: mode, replaced: published,
                    keepsReplaced: save.fault != nil || publications != save.basis && publisher != save.opener
                        ? .overtaken : save.isRelayed ? .relayed : nil,
                    setsModificationTime: !save.hasTimeSet && now > save.lastActivity + Self.noticeableDelay))
        } else if cause != .closed {
            return .none
        }
        guard case .discard(_, let reason) = discard(index) else { return .none }
        return .discard(reason)
    }

    /// In nanoseconds: a disk that is full, or has failed, seldom mends sooner.
    private static let retryPause: UInt64 = 5_000_000_000

    /// What comes later than the last write by more than this, in nanoseconds, make may have run in between (rule 9).
    private static let noticeableDelay: UInt64 = 50_000_000

    /// Whether a version has to be written in place, for those who write it.
    private func mustStay(_ version: VersionID) -> Bool {
        writers.values.contains { $0.writesInPlace(version) } || arrivals.values.contains { $0.writesInPlace(version) }
    }

    /// The version is in place, and everyone who looks from now on sees it. Returns the handles that are to write to
    /// the published version's file from now on, in place: those left of the save, and after `.replace` those that
    /// earlier saves have left on the old version. In a publication in place the caller has kept the save's handles
    /// from writing meanwhile.
    public mutating func published(_ working: VersionID) -> [LiveWriter] {
        guard let index = index(of: working), case .publishing(let mode, let cause) = saves[index].phase else {
            preconditionFailure("published is told once, after plan said to publish")
        }
        publisher = saves.remove(at: index).opener
        publications += 1
        var handles = writers.filter { $0.value.version == working }.keys.map { $0 }
        for handle in handles {
            guard var writer = writers[handle] else { continue }
            writer.reason = cause.reasonToBeLive
            writer.isSettled = !cause.isInPlace && !writer.isJoined
            writers[handle] = writer
        }
        if mode == .replace {
            let left = writers.filter { $0.value.version == published && ($0.value.comesFromSave || $0.value.isSettled) }.keys
            // The mount finds them on the new version's node no more.
            for handle in left { writers[handle]?.comesFromSave = true }
            handles += left
            moveArrivals(from: published, to: working)
            published = working
        }
        for handle in handles { writers[handle]?.version = published }
        moveArrivals(from: working, to: published)
        return handles.compactMap { handle in writers[handle].map { LiveWriter(handle, $0) } }
    }

    /// On the way to `.replace` it was found that the document's inode has to stay (rule 12): the plan is `.inPlace` now.
    public mutating func staysInPlace(_ working: VersionID) {
        guard let index = index(of: working), case .publishing(_, let cause) = saves[index].phase else {
            preconditionFailure("only a plan can change")
        }
        saves[index].phase = .publishing(.inPlace, cause)
    }

    /// On the way it was found that the document's name stands for nothing, or for another file: the save is over (rule 13).
    public mutating func vanished(_ working: VersionID) -> SaveStep {
        guard let index = index(of: working), case .publishing = saves[index].phase else {
            preconditionFailure("only what is being published can find the name gone")
        }
        saves[index].fault = .removed
        return discard(index)
    }

    /// The published version has another name for the mount from here on. Its handles are no longer among those on its node.
    public mutating func renamePublished(to version: VersionID) {
        for handle in writers.keys where writers[handle]?.version == published {
            writers[handle]?.version = version
            writers[handle]?.comesFromSave = true
        }
        moveArrivals(from: published, to: version)
        published = version
    }

    /// Threads on their way to a version are on their way to another one from here on.
    mutating func moveArrivals(from old: VersionID, to new: VersionID) {
        for thread in arrivals.keys where arrivals[thread]?.target == old { arrivals[thread]?.target = new }
    }

    /// It was not published. The save goes on if somebody holds it; otherwise it is discarded. The errno is the answer
    /// to whatever made it be published.
    public mutating func failed(_ working: VersionID, errno: Int32, now: UInt64) -> SaveStep {
        guard let index = index(of: working), case .publishing(_, let cause) = saves[index].phase else {
            preconditionFailure("failed is told once, after plan said to publish")
        }
        saves[index].phase = .open
        if cause == .stream { saves[index].notBefore = now + Self.retryPause }
        guard cause == .closed, !isHeld(working) else { return .none }
        saves[index].fault = .publishFailed(errno)
        return discard(index)
    }
}
