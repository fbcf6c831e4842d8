import Coordination
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Opens of programs that know nothing of claims and presenters.
extension Coordinator {
    enum Admission {
        /// To be opened; `passed` is called with the pass when that is done.
        case pass(OpenPass)
        /// It waits; whoever ends that has it opened.
        case waits
        case interrupted
        case refused(Errno)
    }

    /// Until when an open that begins now may wait.
    var openDeadline: UInt64 { times.deadline(times.claims, from: Self.now) }

    /// What is to become of an open at a guarded gate. `path`: the document's.
    /// - Parameters:
    ///   - asksPresenters: whether it is one that presenters save for.
    func admit(_ open: WaitingOpen, of path: StorePath, asksPresenters: () -> Bool) -> Admission {
        if let pass = passIfUnconcerned(path, open.node) { return .pass(pass) }
        let opener = writers.claimant(of: open.caller)
        let asksPresenters = open.reads && asksPresenters()
        var (excluding, saving) = (ItemRights(), ItemRights())
        while true {
            let admission = change { state, actions -> Admission? in
                if open.wasInterrupted { return .interrupted }
                if open.writes, let claim = exclusion(of: opener, writing: path, &excluding, state) {
                    guard open.deadline > Self.now, park(open, &state) else { return .refused(.resourceBusy) }
                    open.claim = claim
                    actions.wakesThread = true
                    return .waits
                }
                guard excluding.isComplete else { return nil }
                // Presenters were asked for the claim that the opener works for, and cannot save before it ends.
                if asksPresenters, state.claims.transaction(of: opener, writing: path) == nil {
                    let audience = audience(of: path, opener, &saving, state)
                    guard saving.isComplete else { return nil }
                    if !audience.isEmpty, ask(open, of: path, opener, audience, &state, &actions) { return .waits }
                }
                return .pass(passes.issue())
            }
            if let admission { return admission }
            excluding.learn { access.mayExclude($0, from: path) }
            saving.learn { access.may($0, path, W_OK) }
        }
    }

    /// The claim that keeps a process from writing an item. Those of users who may not write it do not count.
    private func exclusion(of opener: Claimant, writing path: StorePath, _ rights: inout ItemRights, _ state: State) -> ClaimID? {
        state.claims.exclusion(of: opener, writing: path) { id in
            guard let user = state.tickets[id]?.credentials, !access.isTrusted(user, by: opener.user) else { return false }
            return !rights.has(user)
        }
    }

    /// Whether a claim keeps the caller from writing an item. Looks at the item if users with limited rights have claimed it.
    func excludes(_ caller: Caller, writing path: StorePath) -> Bool {
        guard isClaimed(path) else { return false }
        let writer = writers.claimant(of: caller)
        var rights = ItemRights()
        while true {
            if state.withLock({ exclusion(of: writer, writing: path, &rights, $0) }) != nil { return true }
            if rights.isComplete { return false }
            rights.learn { access.mayExclude($0, from: path) }
        }
    }

    /// The presenters that are to save before an item is read: of other users those who may write it.
    private func audience(
        of path: StorePath, _ opener: Claimant, _ rights: inout ItemRights, _ state: State
    ) -> Set<PresenterID> {
        Set(state.presenters.audience(forOpening: path, by: opener).filter { id in
            guard let user = state.sessions[id]?.credentials else { return false }
            return access.isTrusted(user, by: opener.user) || rights.has(user)
        })
    }

    /// Has an open wait. False if its user has as many waiting as one may.
    private func park(_ open: WaitingOpen, _ state: inout State) -> Bool {
        guard shares.take(.waitingOpens, for: open.caller.uid) else { return false }
        state.waitingOpens[ObjectIdentifier(open)] = open
        return true
    }

    /// False if somebody else has ended its wait.
    func unpark(_ open: WaitingOpen, _ state: inout State) -> Bool {
        guard state.waitingOpens.removeValue(forKey: ObjectIdentifier(open)) != nil else { return false }
        shares.giveBack(.waitingOpens, for: open.caller.uid)
        return true
    }

    /// Most documents are nobody's: for these no process has to be looked up.
    private func passIfUnconcerned(_ path: StorePath, _ node: Node) -> OpenPass? {
        let pass = passes.issue()
        guard isClaimed(path) || isPresented(path), !node.isServed else { return pass }
        passed(pass)
        return nil
    }

    func passed(_ pass: OpenPass) {
        passes.end(pass)
        gate.opensEnded.changed()
    }

    /// Asks presenters to save what a reader would not see. False if there are none.
    private func ask(
        _ open: WaitingOpen, of path: StorePath, _ opener: Claimant, _ audience: Set<PresenterID>, _ state: inout State,
        _ actions: inout Actions
    ) -> Bool {
        guard park(open, &state) else { return false }
        let deadline = times.deadline(times.presenters, from: Self.now)
        guard let (inquiry, questions) = state.presenters.inquire(
            forOpening: path, by: opener, deadline: deadline, where: audience.contains)
        else {
            _ = unpark(open, &state)
            return false
        }
        state.inquiries[inquiry] = .open(open)
        put(questions, &state, &actions)
        actions.wakesThread = true
        return true
    }

    /// An open has waited long enough.
    func letGo(_ open: WaitingOpen, isLate: Bool, _ state: inout State, _ actions: inout Actions) {
        guard unpark(open, &state) else { return }
        open.isLate = isLate && open.claim != nil
        actions.opens.append(open)
    }

    /// The caller of a waiting open got a signal. open(2) of a file is not interrupted by that on any file system, but by the
    /// end of the caller.
    func interrupted(_ open: WaitingOpen) {
        guard ProcessFacts.isBeingKilled(open.caller.thread) else {
            state.withLock { _ in open.wasSignalled = true }
            return signal()
        }
        if givesUp(open) { open.parked.answerInterrupt(.interrupted) }
    }

    /// On the coordinator's thread.
    func letGoOfTheKilled() {
        let signalled = state.withLock { $0.waitingOpens.values.filter(\.wasSignalled) }
        for open in signalled where ProcessFacts.isBeingKilled(open.caller.thread) && givesUp(open) {
            open.parked.fail(.interrupted)
        }
    }

    /// False if somebody else answers it.
    private func givesUp(_ open: WaitingOpen) -> Bool {
        state.withLock { state in
            open.wasInterrupted = true
            guard unpark(open, &state) else { return false }
            for (inquiry, inquirer) in state.inquiries {
                if case .open(let other) = inquirer, other === open {
                    state.inquiries[inquiry] = nil
                    _ = state.presenters.end(inquiry)
                }
            }
            return true
        }
    }
}
