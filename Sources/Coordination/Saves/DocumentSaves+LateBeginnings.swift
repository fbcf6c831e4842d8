/// Saves that begin on an open handle: ftruncate(2) to nothing by a program that opened the document without O_TRUNC.
extension DocumentSaves {
    /// Why ftruncate(2) to nothing through a handle is live, as far as the document's writers tell; nil if a save may begin with it.
    ///
    /// - Parameter handle: on the published version, opened without O_TRUNC.
    public func reasonToTruncateLive(_ handle: SaveHandle, by caller: SaveCaller) -> LiveReason? {
        guard let process = caller.process else { return .unknownCaller }
        guard let writer = writers[handle], writer.version == published, writer.reason == .notTruncating else { return .outlivedSave }
        // Another save of the document would have to be published in place, for this handle, unless it is settled.
        guard saves.isEmpty || writer.isSettled, !arrivals.values.contains(where: { $0.writesInPlace(published) }) else {
            return .writtenByAnother
        }
        let others = writers.filter { $0.key != handle && $0.value.writesInPlace(published) }
        if others.values.contains(where: { $0.process != process }) || writer.process.map({ $0 != process }) ?? false {
            return .writtenByAnother
        }
        return nil
    }

    /// The save begins, if there is no reason against it by now.
    ///
    /// - Parameters:
    ///   - working: the version that the handle writes from now on. The published one: then that has been exchanged for `exchanged`, with
    ///     its content, and all handles on it have a part in the save.
    ///   - moment: taken before.
    public mutating func begin(
        on handle: SaveHandle, by caller: SaveCaller, working: VersionID, exchanged: VersionID? = nil, at moment: SaveMoment, now: UInt64
    ) -> Bool {
        guard reasonToTruncateLive(handle, by: caller) == nil, let opener = caller.process else { return false }
        var save = Save(
            working: working, opener: opener, isRelayed: caller.isRelay, moment: moment, began: now, basis: publications, members: [opener],
            lastActivity: now)
        save.fault = nil
        save.isLate = true
        save.isExchanged = exchanged != nil
        saves.append(save)
        if let exchanged {
            moveArrivals(from: published, to: exchanged)
            published = exchanged
        }
        for other in writers.keys where other == handle || exchanged != nil && writers[other]?.version == working {
            // Settled handles of others go along with the document.
            let isLeft = other != handle && writers[other]?.isSettled == true
            writers[other]?.version = isLeft ? exchanged ?? working : working
            writers[other]?.comesFromSave = true
        }
        writers[handle]?.isSettled = false
        markOpen(handle)
        return true
    }

    /// When the kernel, which writes the working copy for the program itself, has last done so.
    public mutating func wroteUnheard(_ working: VersionID, size: UInt64, at moment: UInt64) {
        guard let index = index(of: working) else { return }
        saves[index].lastActivity = max(saves[index].lastActivity, moment)
        saves[index].size = size
    }

    /// ftruncate(2) or fallocate(2) is about to make a working copy longer than it was written, as programs do that then map the file.
    public mutating func extending(_ handle: SaveHandle) -> SaveStep {
        guard let version = writers[handle]?.version, let index = index(of: version), saves[index].phase == .open, !saves[index].isToBeDiscarded
        else { return .none }
        return .publish(version, .extended)
    }

    /// It was not possible to exchange the document for a copy: the save has not begun after all.
    public mutating func withdraw(_ working: VersionID, exchanged: VersionID) {
        saves.removeAll { $0.working == working }
        published = working
        for handle in writers.keys where writers[handle]?.version == working || writers[handle]?.version == exchanged {
            writers[handle]?.version = working
            writers[handle]?.comesFromSave = false
        }
        moveArrivals(from: exchanged, to: working)
    }
}
