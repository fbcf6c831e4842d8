import Coordination

/// What the mount does, one step of a thread at a time.
extension SaveWorld {
    func saves() -> DocumentSaves {
        if let machine { return machine }
        let writers = files.filter { $0.file == published }.map { file -> LiveWriter in
            guard case .live(let reason) = file.kind else { preconditionFailure("a transaction without a machine") }
            return LiveWriter(
                handle: file.handle, process: file.opener.known, reason: reason, isFlushed: file.isFlushed)
        }
        return DocumentSaves(published: published, writers: writers)
    }

    func dropIdleMachine() {
        if machine?.isIdle == true { machine = nil }
    }

    /// The handles of a question that are closed in truth, or none, for want of looking.
    func closed(_ question: HoldersQuestion?) -> (handles: Set<SaveHandle>, isInDoubt: Bool) {
        guard let question else { return ([], false) }
        if happens(10) { return ([], true) }
        let asked = files.filter { question.handles.contains($0.handle) }
        // Nobody knows where to look.
        if asked.contains(where: { $0.opener.isForeign }) { return ([], true) }
        return (asked.contains { $0.isHeld } ? [] : question.handles, false)
    }

    func step(_ thread: Thread) throws {
        switch thread.activity {
        case .idle, .waiting, .dead: break
        case .walking(let opening):
            guard links > 0 || opening.reopened != nil else {
                if opening.estales > 0 { lost.append(now) }
                thread.activity = .idle
                return
            }
            let version = try opening.reopened ?? lookup(thread, arriving: opening.estales > 0)
            thread.activity = .opening(opening, version)
        case .opening(let opening, let version): try open(thread, opening, version)
        case .making(let opening, let request, let working, let moment):
            var saves = saves()
            var request = request
            request.mayRetry = mayRetry(opening)
            let decision = saves.begin(request, working: working, at: moment, now: now)
            machine = saves
            if decision.isOn(working) {
                let process = thread.process
                truths[working] = Truth(
                    opener: process, moment: moment, execs: process.execs, users: [process.identity])
                note("begin \(working.rawValue) by \(process.identity.id)")
            }
            try answer(thread, opening, request, decision)
        case .flushing(let file, let death):
            note("flush \(file.handle.rawValue) by \(thread.process.identity.id) \(death)")
            if openSaves.contains(file.file), !file.isJoined { use(file.file, by: thread.process) }
            file.isFlushed = true
            guard let question = machine?.flushing(file.handle, by: thread.process.known) else {
                thread.activity = .idle
                return flushed(file)
            }
            thread.activity = .looking(file, question, death)
        case .looking(let file, let question, let death):
            var facts = FlushFacts(death: happens(3) ? .unknown : death)
            let closed = closed(question.holders)
            facts.closed = closed.handles
            if let truth = truths[question.working] {
                facts.openerHasExeced = truth.opener.execs > truth.execs
                if thread.process === truth.opener {
                    facts.openerDeath = facts.death
                    let holds = files.contains { $0.file == question.working && thread.process.holds($0) }
                    facts.openerHasLeft = facts.death == .none && !holds && happens(80)
                } else if happens(50) {
                    facts.openerDeath = truth.opener.death ?? .none
                }
                if !file.isJoined, closed.handles.isEmpty, let holders = question.holders, happens(50) {
                    facts.inheritors = Set(
                        processes.filter { $0.holds(file) && !holders.processes.contains($0.identity) }.map(\.identity))
                }
            }
            thread.activity = .deciding(
                file, facts, isInDoubt: closed.isInDoubt || facts.death == .unknown)
        case .deciding(let file, let facts, let isInDoubt):
            try decide(thread, file, facts, isInDoubt)
        }
    }

    // MARK: - OPEN

    private func open(_ thread: Thread, _ opening: Opening, _ version: VersionID) throws {
        var document = OpenFacts()
        document.links = links
        var request = OpenRequest(
            version: version, handle: SaveHandle(UInt64(nextNumber())), caller: caller(thread), flags: opening.flags)
        var saves = saves()
        document.isEmpty = contents[published]!.isEmpty
        request.facts = document
        request.mayRetry = mayRetry(opening)
        let decision = saves.open(request, now: now)
        machine = saves
        try answer(thread, opening, request, decision)
    }

    /// The mount remembers a retry for longer than the machine.
    private func mayRetry(_ opening: Opening) -> Bool { opening.estales == 0 || now < opening.retriedAt + 5_000_000_000 }

    private func answer(
        _ thread: Thread, _ opening: Opening, _ request: OpenRequest, _ decision: OpenDecision
    ) throws {
        switch decision {
        case .begin:
            let working = VersionID(UInt64(nextNumber()))
            let moment = SaveMoment(ticks: now / 10_000_000, lastProcess: processes.last!.identity.id)
            contents[working] = []
            thread.activity = .making(opening, request, working, moment)
        case .retry(let version):
            try require(opening.estales == 0, "\(thread.id.rawValue) was answered ESTALE twice")
            note("estale \(thread.id.rawValue) from \(request.version.rawValue) to \(version.rawValue)")
            var opening = opening
            (opening.estales, opening.retriedAt) = (1, now)
            if happens(80) { opening.flags.remove(.creates) }
            thread.activity = .walking(opening)
        case .refuse(let errno): throw Broken(promise: "refused with \(errno)")
        case .serve(let version, let kind, let step):
            if step != .none { meet("elsewhere: \("\(step)".prefix { $0 != "(" })") }
            try serve(thread, opening, request, version, kind)
            try carryOut(step) { _ in }
        }
        dropIdleMachine()
    }

    private func serve(
        _ thread: Thread, _ opening: Opening, _ request: OpenRequest, _ version: VersionID, _ kind: OpenKind
    ) throws {
        let process = thread.process
        note("open \(request.handle.rawValue) by \(thread.id.rawValue) on \(version.rawValue) \(kind)")
        let truncates = opening.flags.contains(.truncates)
        let isOpenSave = openSaves.contains(version)
        try require(isOpenSave || version == published, "an open was served on \(version)")
        let file = OpenFile(request.handle, process, node: request.version, file: version, kind: kind)
        let canRetry = opening.estales == 0 && !process.isForeign && lost.isEmpty
        try require(
            version == request.version || !canRetry,
            "a superseded version was not left by ESTALE")
        if case .live(let reason) = kind {
            try require(
                truncates || !canRetry || !openSaves.contains { $0 != version && !isReplacing($0) },
                "a writer who does not truncate has not joined")
            meet("live: \(reason)")
            try checkReason(reason, opening, request, version)
            if truncates {
                liveChanges[version, default: 0] += 1
                if links > 0, version == published { document = [] }
            }
        } else {
            try require(isOpenSave && version != published, "a transaction on a published version")
        }
        if isOpenSave {
            file.isJoined = kind != .transactional || !isLineage(process, of: truths[version]!)
            if truncates { truths[version]!.writeFailed = false }
            if !file.isJoined { truths[version]!.hasArrived = true }
        }
        if truncates { contents[version] = [] }
        files.append(file)
        process.descriptors.append(file)
        thread.activity = .idle
        if happens(70) { try write(file, by: process, failing: false) }
    }

    private func isReplacing(_ version: VersionID) -> Bool {
        publications.contains { $0.working == version && $0.plan?.mode == .replace }
    }

    private func checkReason(
        _ reason: LiveReason, _ opening: Opening, _ request: OpenRequest, _ version: VersionID
    ) throws {
        let isTrue =
            switch reason {
            case .appending: opening.flags.contains(.appends)
            case .notTruncating: !opening.flags.contains(.truncates)
            case .empty: contents[published]!.isEmpty || request.facts.isEmpty
            case .hardLinked: links > 1
            case .removed: links == 0
            case .writtenByAnother, .writtenBySaver:
                opening.isInDoubt || isAnyoneArriving || held(version)
                    // Its RELEASE has not come yet.
                    || files.contains { $0.file == version }
            case .unknownCaller: request.caller.process == nil
            default: false
            }
        try require(isTrue, "an open was live because of \(reason)")
    }

    // MARK: - FLUSH and RELEASE

    private func decide(_ thread: Thread, _ file: OpenFile, _ facts: FlushFacts, _ isInDoubt: Bool) throws {
        let version = file.file
        if openSaves.contains(version) {
            truths[version]!.users.formUnion(facts.inheritors)
            if isInDoubt { truths[version]!.isInDoubt = true }
            if facts.openerHasExeced { truths[version]!.isRedirected = true }
            if !file.isJoined { die(version, of: facts.death) }
            openerEnds(version, by: facts.openerDeath)
            if facts.openerHasLeft { truths[version]!.openerHasLeft = true }
        }
        let step = machine?.flush(file.handle, facts) ?? .none
        thread.activity = .waiting
        try carryOut(step) { [self] errno in
            thread.activity = .idle
            flushed(file)
            if errno == nil, !isInDoubt, !isAnyoneArriving, !held(version), links > 0 {
                let isFlushing = files.contains { $0.file == version && $0.flushes > 0 }
                let isUnsure = truths[version].map { $0.isInDoubt || $0.wasMapped } ?? false
                let isPublishing = publications.contains { $0.working == version }
                try require(
                    isFlushing || isUnsure || isPublishing || !openSaves.contains(version),
                    "close returned before \(version) was visible")
            }
        }
    }

    /// Rule 10, told once more.
    private func die(_ version: VersionID, of death: Death) {
        guard let truth = truths[version], !truth.openerWasKilled, death != .unknown else { return }
        let discards = discards(death, truth)
        if discards || truth.isRedirected { truths[version]!.isKilled = discards }
    }

    private func discards(_ death: Death, _ truth: Truth) -> Bool {
        switch death {
        case .killed(nil), .killed(9), .killed(11): true
        case .killed(1), .killed(2), .killed(15): !truth.isRedirected
        case .killed, .none, .unknown: false
        }
    }

    /// The work of a killed opener and of all others is not published, unless the opener had left it to them.
    private func openerEnds(_ version: VersionID, by death: Death) {
        guard let truth = truths[version], !truth.openerHasLeft, discards(death, truth) else { return }
        truths[version]!.isKilled = true
        truths[version]!.openerWasKilled = true
    }

    func release(_ file: OpenFile) throws {
        note("release \(file.handle.rawValue)")
        files.removeAll { $0 === file }
        let truth = truths[file.file]
        let death = happens(80) ? truth?.opener.death ?? .none : .none
        let hasExeced = truth.map { $0.opener.execs > $0.execs } ?? false
        if openSaves.contains(file.file) {
            if hasExeced { truths[file.file]!.isRedirected = true }
            openerEnds(file.file, by: death)
        }
        try carryOut(machine?.release(file.handle, openerDeath: death, openerHasExeced: hasExeced) ?? .none) { _ in }
        dropIdleMachine()
    }

    /// A descriptor or mapping of a file is gone.
    func gone(_ file: OpenFile) {
        if !file.isHeld, file.flushes == 0 { releases.append(file) }
    }

    private func flushed(_ file: OpenFile) {
        file.flushes -= 1
        gone(file)
    }

    // MARK: - Ends of saves

    func carryOut(_ step: SaveStep, done: @escaping (Int32?) throws -> Void) throws {
        switch step {
        case .none: try done(nil)
        case .refuse(let errno): try done(errno)
        case .discard(let version, let reason):
            try ended(version, reason)
            try done(reason.errno)
        case .publish(let version, let cause):
            publications.append(Publication(working: version, cause: cause, plan: nil, done: done))
        }
    }

    private func ended(_ version: VersionID, _ reason: DiscardReason) throws {
        note("discard \(version.rawValue) \(reason)")
        meet("discard: \("\(reason)".prefix { $0 != "(" })")
        discarded.insert(version)
        let truth = truths[version]!
        try require(!openSaves.contains(version), "a discarded save is listed")
        if reason != .removed, reason.errno != 5 {
            try require(!contents[version]!.contains(where: \.isJoined), "a joined write was discarded")
        }
        switch reason {
        case .killed, .relayEnded: try require(truth.isKilled || truth.isInDoubt, "a save nobody killed was discarded")
        case .writeFailed: try require(truth.writeFailed, "a save without a failed write was discarded")
        case .neverOpened: try require(!truth.hasArrived && !held(version), "a save in use was given up")
        case .removed: try require(links == 0, "the document is still there")
        case .publishFailed: break
        }
    }

    /// Starts the publication at `index`, or ends it.
    func publish(_ index: Int) throws {
        guard let planned = publications[index].plan else {
            guard !publications.contains(where: { $0.plan != nil }) else { return }
            return try start(index)
        }
        let publication = publications.remove(at: index)
        let working = publication.working
        if happens(5) {
            note("fail \(working.rawValue)")
            meet("fail: \(publication.cause)")
            try carryOut(machine!.failed(working, errno: 5, now: now)) { _ in }
            return try publication.done(5)
        }
        let plan = staying(planned, working, links, &machine!)
        note("publish \(working.rawValue) \(publication.cause) \(plan.mode)")
        meet("publish: \(publication.cause) \(plan.mode)")
        let writers = machine!.published(working)
        switch plan.mode {
        case .replace: published = working
        case .inPlace:
            contents[published] = contents[working]!
            liveChanges[published, default: 0] += 1
        }
        document = contents[working]!
        for writer in writers {
            let file = files.first { $0.handle == writer.handle }!
            (file.file, file.kind, file.isJoined) = (published, .live(writer.reason), false)
        }
        try require(!held(working) || working == published, "a handle was forgotten")
        try require(!held(plan.replaced) || plan.replaced == published, "a live writer was left on the old inode")
        try require(machine!.published == published && !openSaves.contains(working), "the save goes on")
        dropIdleMachine()
        try publication.done(nil)
    }

    private func start(_ index: Int) throws {
        let (working, cause) = (publications[index].working, publications[index].cause)
        guard machine != nil else {
            return try publications.remove(at: index).done(nil)
        }
        switch machine!.plan(working, for: cause, hasName: links > 0, now: now) {
        case .none: try publications.remove(at: index).done(nil)
        case .discard(let reason):
            try ended(working, reason)
            try publications.remove(at: index).done(reason.errno)
        case .publish(let plan):
            publications[index].plan = plan
            try require(links > 0 && plan.replaced == published, "\(plan.replaced) is not the document")
            if plan.mode == .replace, plan.keepsReplaced != nil { meet("keep") }
            let truth = truths[working]!
            let hasJoined = contents[working]!.contains(where: \.isJoined)
            if cause == .closed {
                try require(!held(working), "half a save was published")
                try require(
                    truth.hasArrived && !truth.isKilled && !truth.writeFailed || hasJoined || truth.isInDoubt,
                    "a save that failed was published")
            }
        }
    }
}
