/// LOOKUP, OPEN and CREATE.
extension DocumentSaves {
    /// Whether the ancestors of a caller can make a difference: it might be of the lineage of a save and is not known
    /// to be.
    public func needsAncestors(of process: SaveProcess?) -> Bool {
        guard let process, let newest = saves.last else { return false }
        return !newest.members.contains(process)
    }

    /// From when on processes matter whose ancestors are asked for: the beginning of the oldest save. Nil if the process's
    /// ancestors make no difference.
    public func momentOfAncestors(of process: SaveProcess) -> SaveMoment? {
        guard needsAncestors(of: process), let oldest = saves.first, process.isYounger(than: oldest.moment) else { return nil }
        return oldest.moment
    }

    /// The version that a thread's retry is meant for, if it is on its way.
    public func arrivalTarget(of thread: ThreadID) -> VersionID? { arrivals[thread]?.target }

    /// The threads that are on their way.
    public var arrivingThreads: [ThreadID] { Array(arrivals.keys) }

    /// LOOKUP of the document's name: the version the caller is to see (rule 4). To be answered without timeouts as
    /// long as `hasSaves`.
    public func lookup(_ caller: SaveCaller) -> VersionID {
        if let arrival = arrivals[caller.thread], save(on: arrival.target) != nil { return arrival.target }
        return saves.last { $0.isLineage(caller) }?.working ?? published
    }

    /// Whether one name may lead to several versions.
    public var hasSaves: Bool { !saves.isEmpty }

    /// OPEN for writing or with O_TRUNC, or CREATE of the document's name, before anything is done to its content.
    ///
    /// Before, if the request truncates and has no reason to be live of its own, the mount waits a moment for the RELEASE of the handles
    /// in `holders(of: published)`.
    /// - Parameter now: the time in nanoseconds, of a clock that never goes back.
    public mutating func open(_ request: OpenRequest, now: UInt64) -> OpenDecision {
        let route = route(request)
        switch route {
        case .begin: return route
        case .refuse: break
        case .retry(let version): return retry(request, to: version, begins: false, now)
        case .serve(let version, _, _) where request.flags.contains(.creates) && canRetry(request):
            return retry(request, to: version, begins: false, now)
        case .serve(let version, let kind, _): return .serve(version, kind, then: serve(request, version, kind, now))
        }
        return route
    }

    /// The working copy is made: its save begins, unless the document has changed so that the open is decided otherwise
    /// now. Then `working` is to be dropped.
    /// - Parameter moment: taken before the working copy was made.
    public mutating func begin(
        _ request: OpenRequest, working: VersionID, at moment: SaveMoment, now: UInt64
    ) -> OpenDecision {
        guard case .begin = route(request), let opener = request.caller.process else { return open(request, now: now) }
        let basis = publications + (current == published ? 0 : 1)
        saves.append(
            Save(
                working: working, opener: opener, isRelayed: request.caller.isRelay, moment: moment, began: now, basis: basis,
                members: [opener], lastActivity: now))
        if canRetry(request) { return retry(request, to: working, begins: true, now) }
        return .serve(working, .transactional, then: serve(request, working, .transactional, now))
    }

    /// An arriving thread is dead, or has turned up elsewhere.
    public mutating func abandon(_ thread: ThreadID) -> SaveStep {
        guard let arrival = arrivals.removeValue(forKey: thread), let index = index(of: arrival.target) else {
            return .none
        }
        return finish(index)
    }

    // MARK: - Deciding

    private func route(_ request: OpenRequest) -> OpenDecision {
        let (version, caller) = (request.version, request.caller)
        let missed = missedSave(request)
        let open = saves.filter { !$0.isReplacing && $0.working != missed }
        if let save = open.first(where: { $0.working == version }), !isStrange(save, request) { return .serve(version, .transactional) }
        if let errno = request.facts.refusal, arrivals[caller.thread] == nil { return .refuse(errno) }

        let canRetry = canRetry(request)
        let own = open.last { $0.isLineage(caller) }
        if let joined = request.flags.contains(.truncates) || request.isUnused ? own : own ?? open.last {
            return canRetry ? .retry(to: joined.working) : .serve(joined.working, .transactional)
        }
        guard let reason = reasonToBeLive(request) else {
            // It has come back without a LOOKUP: through /proc/self/fd, or by a file handle.
            return missed.map { .serve($0, .transactional) } ?? .begin(of: current)
        }
        // What is superseded is not served (rule 6).
        return version == current || !canRetry ? .serve(current, .live(reason)) : .retry(to: current)
    }

    /// Whether an open has come to the inode that another's save has kept, by a name that the kernel has yet to forget. One that does not
    /// truncate joins the save all the same.
    private func isStrange(_ save: Save, _ request: OpenRequest) -> Bool {
        save.isExchanged && request.flags.contains(.truncates) && !save.isLineage(request.caller)
            && arrivals[request.caller.thread]?.target != save.working
    }

    /// Whether ESTALE is an answer: this open(2) has not had it yet, and its next request will be known.
    private func canRetry(_ request: OpenRequest) -> Bool {
        request.caller.process != nil && request.mayRetry && arrivals[request.caller.thread] == nil
    }

    /// The save begun for this open, if the open has gone past it and nobody has joined it.
    private func missedSave(_ request: OpenRequest) -> VersionID? {
        let thread = request.caller.thread
        guard let arrival = arrivals[thread], arrival.begins, arrival.target != request.version,
            let save = save(on: arrival.target), save.fault == .neverOpened,
            !writers.values.contains(where: { $0.version == save.working }),
            !arrivals.contains(where: { $0.key != thread && $0.value.target == save.working })
        else { return nil }
        return save.working
    }

    /// Rule 1, with what only this document's writers tell. A process's own open descriptor counts too: what it writes
    /// there is to meet what it writes here.
    private func reasonToBeLive(_ request: OpenRequest) -> LiveReason? {
        if let reason = request.reasonToBeLive { return reason }
        let others =
            writers.values.filter { $0.writesInPlace(current) }.map(\.process)
            + arrivals.filter { $0.key != request.caller.thread && $0.value.writesInPlace(current) }.map(\.value.process)
        if others.isEmpty { return nil }
        return others.contains { $0 != request.caller.process } ? .writtenByAnother : .writtenBySaver
    }

    // MARK: - Doing

    private mutating func retry(
        _ request: OpenRequest, to version: VersionID, begins: Bool, _ now: UInt64
    ) -> OpenDecision {
        arrivals[request.caller.thread] = Arrival(
            target: version, process: request.caller.process, begins: begins, isUnused: request.isUnused, since: now)
        return .retry(to: version)
    }

    private mutating func serve(
        _ request: OpenRequest, _ version: VersionID, _ kind: OpenKind, _ now: UInt64
    ) -> SaveStep {
        register(request, version, kind, now)
        return abandon(request.caller.thread)
    }

    private mutating func register(_ request: OpenRequest, _ version: VersionID, _ kind: OpenKind, _ now: UInt64) {
        let index = index(of: version)
        if let index, request.flags.contains(.truncates) { startedOver(index, now) }
        guard request.flags.contains(.writes) else { return }
        var reason = LiveReason.outlivedSave
        if case .live(let why) = kind { reason = why }
        var writer = Writer(version: version, process: request.caller.process, reason: reason)
        if let index {
            writer.isJoined = kind != .transactional || !saves[index].isWork(of: request.caller)
            if !writer.isJoined, saves[index].fault == .neverOpened { saves[index].fault = nil }
        }
        writer.isSettled = request.isUnused && reason == .notTruncating
        // What is on another version's node is not among that version's handles when the machine is made anew.
        writer.comesFromSave = index != nil || request.version != version
        writers[request.handle] = writer
    }

    /// A handle that was opened on the published version before this was made, and was not known to the mount yet then.
    public mutating func adopt(_ writer: LiveWriter) {
        writers[writer.handle] = Writer(
            version: published, process: writer.process, reason: writer.reason, isFlushed: writer.isFlushed,
            isSettled: writer.isSettled)
    }
}
