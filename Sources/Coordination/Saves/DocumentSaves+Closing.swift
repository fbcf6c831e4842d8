/// Requests that publish or discard a save: FLUSH, RELEASE, fsync and rename (rules 7, 9 and 10).
extension DocumentSaves {
    /// Handles open for writing on a version that were flushed and are perhaps closed. Nil if there are none, or if
    /// another handle is open for certain, so that it makes no difference.
    public func holders(of version: VersionID) -> HoldersQuestion? {
        let handles = writers.filter { $0.value.writesInPlace(version) }
        guard !handles.isEmpty, handles.values.allSatisfy(\.isFlushed) else { return nil }
        var processes = save(on: version)?.members ?? []
        for writer in handles.values {
            processes.formUnion(writer.flushers)
            if let process = writer.process { processes.insert(process) }
        }
        return HoldersQuestion(handles: Set(handles.keys), processes: processes)
    }

    /// FLUSH of any handle that is open for writing, a close(2) by a process. Nil for a live handle: there is no more
    /// to it. Otherwise the facts asked for are to be gathered and given to `flush`.
    public mutating func flushing(_ handle: SaveHandle, by process: SaveProcess?) -> FlushQuestion? {
        guard var writer = writers[handle] else { return nil }
        writer.isFlushed = true
        writer.isClosed = false
        if let process, process != writer.process { writer.flushers.insert(process) }
        writers[handle] = writer
        guard let index = index(of: writer.version) else { return nil }
        if !writer.isJoined { note(process, in: index) }
        return FlushQuestion(
            working: writer.version, opener: saves[index].opener, isRelayed: saves[index].isRelayed,
            holders: holders(of: writer.version))
    }

    /// The rest of a FLUSH on a working copy. The FLUSH is answered when the step is done.
    public mutating func flush(_ handle: SaveHandle, _ facts: FlushFacts) -> SaveStep {
        confirmClosed(facts.closed)
        guard let writer = writers[handle], let index = index(of: writer.version) else { return .none }
        saves[index].members.formUnion(facts.inheritors)
        if facts.openerHasExeced { saves[index].isRedirected = true }
        if !writer.isJoined { note(facts.death, in: index) }
        if noteOpener(facts.openerDeath, in: index), saves[index].phase == .open, !isJoined(saves[index]) {
            return discard(index)
        }
        if facts.openerHasLeft { saves[index].openerHasLeft = true }
        return facts.death == .unknown ? .none : finish(index)
    }

    /// The work of an opener that was killed is not published, nor what others have added to it or go on adding: they have
    /// a file that nobody sees. Whether that is so.
    private mutating func noteOpener(_ death: Death, in index: Int) -> Bool {
        guard case .killed(let signal) = death, !saves[index].openerHasLeft,
            death.discards(redirected: saves[index].isRedirected)
        else { return false }
        saves[index].fault = .killed(signal)
        saves[index].openerWasKilled = true
        return true
    }

    /// RELEASE of any handle that is open for writing, known or not.
    /// - Parameters:
    ///   - openerDeath: how the save's opener has ended, as far as that is known.
    ///   - openerHasExeced: since the save began.
    public mutating func release(
        _ handle: SaveHandle, openerDeath: Death = .none, openerHasExeced: Bool = false
    ) -> SaveStep {
        guard let writer = writers.removeValue(forKey: handle), let index = index(of: writer.version) else {
            return .none
        }
        if openerHasExeced { saves[index].isRedirected = true }
        _ = noteOpener(openerDeath, in: index)
        return finish(index)
    }

    /// A handle that was registered by `open` or `begin` is not to be: the open has failed. A save that nobody else has opened ends with it,
    /// whatever it is: its empty working copy is nobody's version.
    public mutating func withdraw(_ handle: SaveHandle) -> SaveStep {
        guard let writer = writers.removeValue(forKey: handle), let index = index(of: writer.version) else { return .none }
        let save = saves[index]
        if save.fault == nil, save.size == 0, !save.hasJoinedWrites, !isHeld(save.working) { saves[index].fault = .neverOpened }
        return finish(index)
    }

    /// The death of a process that works on a save discards it, if it ends with that: with several processes, as in a
    /// redirection, the one that ends last decides, for the others went on without the dead one. Unless it was the opener.
    private mutating func note(_ death: Death, in index: Int) {
        if saves[index].openerWasKilled { return }
        let isRedirected = saves[index].isRedirected
        switch (death, saves[index].fault) {
        case (.killed(let signal), nil) where death.discards(redirected: isRedirected),
            (.killed(let signal), .killed) where death.discards(redirected: isRedirected),
            (.killed(let signal), .writeFailed) where death.discards(redirected: isRedirected) && !isRedirected:
            saves[index].fault = .killed(signal)
        case (.none, .killed) where isRedirected, (.killed, .killed) where isRedirected: saves[index].fault = nil
        default: break
        }
    }

    /// fsync and fdatasync (rule 9). The mount publishes, then makes the file durable that the handle is on.
    public mutating func sync(_ handle: SaveHandle) -> SaveStep {
        markOpen(handle)
        guard let version = writers[handle]?.version, let index = index(of: version) else { return .none }
        guard saves[index].isToBeDiscarded else { return .publish(version, .synced) }
        return saves[index].fault?.errno.map { .refuse($0) } ?? .none
    }

    /// Before a rename or link of the document's name: the saves of the caller's lineage that are to be published first
    /// (rule 7). If that fails, so does the rename.
    public func renaming(by caller: SaveCaller) -> [SaveStep] {
        saves.filter { $0.isLineage(caller) && !$0.isToBeDiscarded }.map { .publish($0.working, .renamed) }
    }

    private func isJoined(_ save: Save) -> Bool {
        save.hasJoinedWrites
            || writers.values.contains { $0.version == save.working && $0.isJoined && !$0.isClosed }
            || arrivals.values.contains { $0.target == save.working }
    }

    /// Whether somebody can still write to a working copy.
    func isHeld(_ working: VersionID) -> Bool {
        writers.values.contains { $0.version == working && !$0.isClosed }
            || arrivals.values.contains { $0.target == working }
    }

    /// Ends a save that nobody holds any more.
    mutating func finish(_ index: Int) -> SaveStep {
        let save = saves[index]
        if isHeld(save.working) { return .none }
        if save.phase == .open, save.isToBeDiscarded { return discard(index) }
        return .publish(save.working, .closed)
    }

    mutating func discard(_ index: Int) -> SaveStep {
        let save = saves.remove(at: index)
        for handle in writers.keys where writers[handle]?.version == save.working { writers[handle] = nil }
        // Its exit counts as a kill, of which no signal is known.
        let isEndOfRelay = save.isRelayed && save.fault == .killed(nil)
        return .discard(save.working, isEndOfRelay ? .relayEnded : save.fault ?? .removed)
    }
}
