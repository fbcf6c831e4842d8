import Coordination
import Glibc
import StorePrimitives

/// The life of a claim.
extension Coordinator {
    /// Asks for a claim. Its ticket is answered when it is granted, or not to be; then, or at any time before, whoever has it
    /// calls `release`.
    func claim(
        _ intents: [ClaimIntent], by claimant: Claimant, _ credentials: Credentials, at moment: SaveMoment, within outer: ClaimID?,
        timeout: Duration, onAnswer: @escaping @Sendable () -> Void
    ) -> ClaimTicket {
        let now = Self.now
        let request = ClaimRequest(intents, by: claimant, at: moment, within: outer)
        let holder = ClaimHolder(
            process: claimant.process?.id ?? 0, user: claimant.user, purpose: claimant.purpose?.name, path: intents.first?.path ?? .root)
        func ticket(_ id: ClaimID = ClaimID(0), _ cost: ClaimCost = .none) -> ClaimTicket {
            ClaimTicket(id: id, holder: holder, credentials, since: now, cost: cost, onAnswer: onAnswer)
        }
        let cost = ClaimCost(intents)
        if let exceeded = cost.take(from: shares, for: claimant.user) {
            let ticket = ticket()
            ticket.answer(.refused(.tooMany(exceeded)))
            return ticket
        }
        let powerless = powerless(before: request)
        // A claim for writing is asked for on the service's event loop.
        return change(mayWait: !request.isWriting) { state, actions in
            func refuse(_ refusal: ClaimRefusal) -> ClaimTicket {
                cost.giveBack(to: shares, for: claimant.user)
                let ticket = ticket()
                actions.answers.append((ticket, .refused(refusal)))
                return ticket
            }
            let decision = state.claims.request(request, deadline: times.deadline(timeout, from: now), besides: powerless)
            let id: ClaimID
            switch decision {
            case .begun(let begun): id = begun
            case .queued(let queued, _):
                id = queued
                guard shares.take(.waitingClaims, for: claimant.user) else {
                    removeFromTable(id, &state, &actions)
                    return refuse(.tooMany(.waitingClaims))
                }
            case .refused(let claims): return refuse(.deadlock(holders: claims.compactMap { state.tickets[$0]?.holder }))
            }
            let ticket = ticket(id, cost)
            state.tickets[id] = ticket
            if !access.isUnlimited(credentials) { foreignClaims.add(1, ordering: .relaxed) }
            if case .begun = decision { begin(id, &state, &actions) }
            if case .queued = decision { actions.wakesThread = true }
            return ticket
        }
    }

    /// The claims of others that a request does not wait for: their users may not write what they have in common with it any more.
    /// Looks at files if users with limited rights have claims in its way.
    private func powerless(before request: ClaimRequest) -> Set<ClaimID> {
        guard foreignClaims.load(ordering: .relaxed) > 0 else { return [] }
        let others = state.withLock { state in
            state.claims.others(before: request).compactMap { id, items in state.tickets[id].map { (id, $0.credentials, items) } }
        }
        return Set(others.filter { _, user, items in
            !access.isTrusted(user, by: request.claimant.user) && !items.contains { access.mayExclude(user, from: $0) }
        }.map(\.0))
    }

    /// Ends a claim, also one that waits. Once ended, nothing happens.
    func release(_ id: ClaimID) { change(mayWait: false) { state, actions in end(id, &state, &actions) } }

    func end(_ id: ClaimID, _ state: inout State, _ actions: inout Actions) {
        guard let ticket = state.tickets.removeValue(forKey: id) else { return }
        ticket.cost.giveBack(to: shares, for: ticket.holder.user)
        if !access.isUnlimited(ticket.credentials) { foreignClaims.subtract(1, ordering: .relaxed) }
        state.awaitingRights.remove(id)
        state.awaitingWriters[id] = nil
        state.awaitingSnapshots.remove(id)
        actions.ended.append(id)
        endInquiries(of: id, &state, &actions)
        if state.claims.phase(of: id) == .queued { shares.giveBack(.waitingClaims, for: ticket.holder.user) }
        removeFromTable(id, &state, &actions)
        for open in state.waitingOpens.values where open.claim == id { letGo(open, isLate: false, &state, &actions) }
    }

    /// The claims that waited for it alone begin.
    private func removeFromTable(_ id: ClaimID, _ state: inout State, _ actions: inout Actions) {
        for begun in state.claims.release(id) {
            if let user = state.claims[begun]?.claimant.user { shares.giveBack(.waitingClaims, for: user) }
            begin(begun, &state, &actions)
        }
    }

    /// It is a claim's turn: asks the presenters of its items.
    private func begin(_ id: ClaimID, _ state: inout State, _ actions: inout Actions) {
        guard let request = state.claims[id] else { return }
        let audience = state.presenters.audience(for: request.intents, by: request.claimant)
        let areTrusted = audience.allSatisfy { one in
            state.sessions[one.presenter].map { access.isTrusted($0.credentials, by: request.claimant.user) } ?? true
        }
        guard !areTrusted else { return ask(for: id, request, where: { _ in true }, &state, &actions) }
        state.awaitingRights.insert(id)
        actions.wakesThread = true
    }

    /// Asks the presenters of claims that have begun, other users' for what these may write. On the coordinator's thread.
    func askPresentersWhoMayWrite() {
        for id in state.withLock({ Array($0.awaitingRights) }) {
            let audience = state.withLock { state -> [(one: PresenterTable.Audience, user: Credentials)] in
                guard let request = state.claims[id] else { return [] }
                return state.presenters.audience(for: request.intents, by: request.claimant).compactMap { one in
                    state.sessions[one.presenter].map { (one, $0.credentials) }
                }
            }
            var admitted: Set<PresenterTable.Audience> = []
            for (user, theirs) in Dictionary(grouping: audience, by: \.user) {
                let items = theirs.map(\.one.item)
                for (one, mayWrite) in zip(theirs, access.filter(items, user, mode: W_OK))
                where mayWrite || access.mayUseOrMake(user, one.one.item, W_OK) { admitted.insert(one.one) }
            }
            change { state, actions in
                guard state.awaitingRights.remove(id) != nil, let request = state.claims[id] else { return }
                ask(for: id, request, where: admitted.contains, &state, &actions)
            }
        }
    }

    private func ask(
        for id: ClaimID, _ request: ClaimRequest, where mayBeAsked: (PresenterTable.Audience) -> Bool, _ state: inout State,
        _ actions: inout Actions
    ) {
        let deadline = times.deadline(times.presenters, from: Self.now)
        guard let (inquiry, questions) = state.presenters.inquire(
            for: request.intents, by: request.claimant, deadline: deadline, where: mayBeAsked)
        else { return awaitWriters(of: id, &state, &actions) }
        state.inquiries[inquiry] = .claim(id)
        state.claimInquiries[id] = inquiry
        // They may have to write what others are kept from.
        let guests = questions.compactMap { state.presenters[$0.presenter]?.owner.process }
        state.claims.admit(Set(guests), to: id)
        put(questions, &state, &actions)
        actions.wakesThread = true
    }

    private func endInquiries(of id: ClaimID, _ state: inout State, _ actions: inout Actions) {
        guard let inquiry = state.claimInquiries.removeValue(forKey: id) else { return }
        state.inquiries[inquiry] = nil
        for question in state.presenters.end(inquiry) { post(.isOver(question.id), to: question.presenter, &state, &actions) }
    }

    // MARK: - Who wrote before

    func awaitWriters(of id: ClaimID, _ state: inout State, _ actions: inout Actions) {
        state.awaitingWriters[id] = AwaitedWriters(lastPass: passes.last, since: Self.now)
        actions.checksWriters = true
    }

    /// Grants the claims whose items nobody else writes. With no lock held.
    func grantWhatNobodyWrites(mayWait: Bool = true) {
        // All before the writers are checked: who is on the way now is one of them then, or the claim waits for the next check.
        let waiting = state.withLock { state in state.awaitingWriters.keys.compactMap { id in state.claims[id].map { (id, $0) } } }
        let passing = passes.passing
        guard !waiting.isEmpty else { return }
        let nobodyEnters = gate.isEmpty
        let writers = self.writers.current { path in waiting.contains { $0.1.concernsContent(of: path) } }
        change(mayWait: mayWait) { state, actions in
            for (id, request) in waiting.sorted(by: { $0.0 < $1.0 }) where isDrained(id, nobodyEnters, passing, state) {
                let met = writers.filter { state.claims.awaits($0.writer, writing: $0.path, for: id) }
                let awaited = stillAwaited(met, by: request, &state.awaitingWriters[id]!)
                guard awaited.isEmpty else {
                    state.awaitingWriters[id]!.writers = awaited.map { ClaimHolder($0) }
                    continue
                }
                state.awaitingWriters[id] = nil
                grantOrFreeze(id, &state, &actions)
            }
            if !state.awaitingWriters.isEmpty { actions.wakesThread = true }
        }
    }

    /// Of those who write a claim's items, whom it goes on waiting for. A reader waits for who was there before it, and for who
    /// writes in place only for a moment: the snapshot has a copy then.
    private func stillAwaited(
        _ met: [DocumentWriter], by request: ClaimRequest, _ awaited: inout AwaitedWriters
    ) -> [DocumentWriter] {
        let first = awaited.first ?? Set(met.map(\.id))
        awaited.first = first
        let isInTime = Self.now &- awaited.since < Self.liveTimeout
        return met.filter { request.writesContent(of: $0.path) || first.contains($0.id) && (isInTime || !$0.isLive) }
    }

    private static let liveTimeout: UInt64 = 1_000_000_000

    /// Whether all who had got through the gate before a claim that excludes writers began are to be seen as writers now. What
    /// opens while readers claim has come after them.
    private func isDrained(_ id: ClaimID, _ nobodyEnters: Bool, _ passing: Set<OpenPass>, _ state: State) -> Bool {
        guard let awaited = state.awaitingWriters[id] else { return false }
        guard state.claims[id]?.isWriting ?? false else { return true }
        return nobodyEnters && !passing.contains { $0 <= awaited.lastPass }
    }

    /// Who keeps a claim from being granted.
    func holders(before id: ClaimID, _ state: State) -> [ClaimHolder] {
        let claims = state.claims.blockers(of: id).compactMap { state.tickets[$0]?.holder }
        return claims.isEmpty ? state.awaitingWriters[id]?.writers ?? [] : claims
    }
}

extension ClaimHolder {
    fileprivate init(_ writer: DocumentWriter) {
        self.init(process: writer.writer.process?.id ?? 0, user: writer.writer.user, purpose: nil, path: writer.path)
    }
}
