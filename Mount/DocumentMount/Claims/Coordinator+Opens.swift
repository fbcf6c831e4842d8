import Coordination
import FuseKernel
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
    ///   - canWait: whether the request may be kept waiting.
    ///   - asksPresenters: whether it is one that presenters save for.
    func admit(_ open: WaitingOpen, of path: StorePath, canWait: Bool, asksPresenters: () -> Bool) -> Admission {
        if let pass = passIfUnconcerned(path) { return .pass(pass) }
        let opener = writers.claimant(of: open.caller)
        let asksPresenters = open.reads && asksPresenters()
        return change { state, actions in
            if open.wasInterrupted { return .interrupted }
            if open.writes, let claim = state.claims.exclusion(of: opener, writing: path) {
                guard canWait, open.deadline > Self.now else { return .refused(.resourceBusy) }
                open.claim = claim
                state.waitingOpens[ObjectIdentifier(open)] = open
                actions.wakesThread = true
                return .waits
            }
            // Presenters were asked for the claim that the opener works for, and cannot save before it ends.
            let isAsked = state.claims.workspace(of: opener, writing: path) != nil
            if asksPresenters, !isAsked, canWait, ask(open, of: path, opener, &state, &actions) { return .waits }
            return .pass(state.issuePass())
        }
    }

    /// Most documents are nobody's: for these no process has to be looked up.
    private func passIfUnconcerned(_ path: StorePath) -> OpenPass? {
        state.withLock { state in
            state.claims.isClaimed(path) || state.presenters.isPresented(path) ? nil : state.issuePass()
        }
    }

    func passed(_ pass: OpenPass) { state.withLock { _ = $0.passing.remove(pass) } }

    /// Asks presenters to save what a reader would not see. False if there are none.
    private func ask(
        _ open: WaitingOpen, of path: StorePath, _ opener: Claimant, _ state: inout State, _ actions: inout Actions
    ) -> Bool {
        let deadline = times.deadline(times.presenters, from: Self.now)
        guard let (inquiry, questions) = state.presenters.inquire(forOpening: path, by: opener, deadline: deadline)
        else { return false }
        state.inquiries[inquiry] = .open(open)
        state.waitingOpens[ObjectIdentifier(open)] = open
        put(questions, &state, &actions)
        actions.wakesThread = true
        return true
    }

    /// An open has waited long enough.
    func letGo(_ open: WaitingOpen, isLate: Bool, _ state: inout State, _ actions: inout Actions) {
        guard state.waitingOpens.removeValue(forKey: ObjectIdentifier(open)) != nil else { return }
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
            guard state.waitingOpens.removeValue(forKey: ObjectIdentifier(open)) != nil else { return false }
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
