import Coordination
import Glibc
import StorePrimitives

/// Presenters: registered, asked and told.
extension Coordinator {
    /// Nil if the client has gone meanwhile, or presents as much as one may.
    /// - Parameters:
    ///   - coversContents: it presents what is in the folder too.
    ///   - maySave: its user may write the item.
    func present(
        _ path: StorePath, coversContents: Bool, hasUnsavedChanges: Bool, maySave: Bool, in session: PresenterSession
    ) -> PresenterID? {
        // What has happened until now is no news.
        if state.withLock({ $0.listener == nil }) { _ = events.lastSequence }
        var isFirst = false
        let id = change { state, _ -> PresenterID? in
            guard !session.isEnded, shares.take(.presenters, for: session.owner.user) else { return nil }
            if state.listener == nil {
                isFirst = true
                state.listener = events.listen(pacedFor: nil) { [unowned self] in tellPresenters(waiting: true) }
            }
            let account = shares.accounts.owner(of: session.owner.user)
            if state.told[account] == nil {
                state.told[account] = EventLog.Position(after: events.lastKnownSequence)
            }
            let id = state.presenters.register(
                Presenter(of: path, coversContents: coversContents, owner: session.owner, account: account, moment: session.moment,
                    maySave: maySave))
            state.presenters.setUnsavedChanges(hasUnsavedChanges, of: id)
            state.sessions[id] = session
            session.presenters.insert(id)
            return id
        }
        // The hub wakes its listeners when something is the first to wait for them.
        if isFirst { _ = events.lastSequence }
        return id
    }

    /// False if the session has no such presenter.
    func withdraw(_ id: PresenterID, in session: PresenterSession) -> Bool {
        change(mayWait: false) { state, actions in
            guard state.sessions[id] === session else { return false }
            remove(id, &state, &actions)
            return true
        }
    }

    /// The client has gone.
    func end(_ session: PresenterSession) {
        change { state, actions in
            session.isEnded = true
        }
        // Some at a time: others wait meanwhile.
        while change(mayWait: true, { state, actions in
            for id in session.presenters.prefix(Self.mostAtOnce) { remove(id, &state, &actions) }
            return !session.presenters.isEmpty
        }) {}
        session.discard()
    }

    func setUnsavedChanges(_ hasChanges: Bool, of id: PresenterID, in session: PresenterSession) -> Bool {
        change(mayWait: false) { state, _ in
            guard state.sessions[id] === session else { return false }
            state.presenters.setUnsavedChanges(hasChanges, of: id)
            return true
        }
    }

    /// - Parameter failure: why it could not do what it was asked.
    func answer(
        _ question: PresenterQuestion.ID, from id: PresenterID, failure: String?, in session: PresenterSession
    ) -> Bool {
        change(mayWait: false) { state, actions in
            guard state.sessions[id] === session else { return false }
            for inquiry in state.presenters.answer(question, from: id, failure: failure) {
                finished(inquiry, &state, &actions)
            }
            return true
        }
    }

    private static let mostAtOnce = 100

    private func remove(_ id: PresenterID, _ state: inout State, _ actions: inout Actions) {
        if let session = state.sessions.removeValue(forKey: id) {
            session.presenters.remove(id)
            shares.giveBack(.presenters, for: session.owner.user)
        }
        let user = state.presenters[id]?.account
        for inquiry in state.presenters.remove(id) { finished(inquiry, &state, &actions) }
        if let user, !state.presenters.hasAny(of: user) { state.told[user] = nil }
        if state.presenters.isEmpty, let listener = state.listener.take() { events.endListening(listener) }
    }

    // MARK: - Asking and telling

    func put(_ questions: [PresenterQuestion], _ state: inout State, _ actions: inout Actions) {
        for question in questions { post(.question(question), to: question.presenter, &state, &actions) }
    }

    func post(
        _ message: PresenterSession.Message, to id: PresenterID, _ state: inout State, _ actions: inout Actions
    ) {
        guard let session = state.sessions[id] else { return }
        session.post(message)
        actions.tell(session)
    }

    /// Tells presenters what has happened, and follows what was moved. On the hub's thread, and on the coordinator's, which does not
    /// wait for the other.
    func tellPresenters(waiting: Bool) {
        if waiting { telling.withLock(tellInTurns) } else { telling.withLockIfFree(tellInTurns) }
    }

    /// Each user's presenters are told for a moment: those of a user who has many are told late, and find that they have missed
    /// something, and nobody else's do.
    private func tellInTurns() {
        let users = state.withLock { Array($0.told.keys) }
        // Not until all are told: the hub's thread has more to do.
        if users.map(tellForAMoment).contains(true) { events.tellAgain() }
    }

    private static let mostEvents = 500
    private static let mostPlaces = 16
    /// In nanoseconds.
    private static let moment: UInt64 = 2_000_000

    /// Tells a user's presenters. Whether there is more to tell.
    private func tellForAMoment(_ user: uid_t) -> Bool {
        guard let before = state.withLock({ $0.told[user] }) else { return false }
        let page = events.events(after: before, limit: Self.mostEvents) { _ in true }
        guard page.next != before else { return false }
        // To look for those of many places would take longer than to lose something for all of the user's.
        let places = page.missed.count > Self.mostPlaces ? [.root] : page.missed
        let audience = Set(places.flatMap { place in
            state.withLock { $0.presenters.presenters(of: place, contents: true, of: user) }
        })
        inParts(audience.sorted()) { part, state, actions in
            for id in part {
                guard let session = state.sessions[id] else { continue }
                session.lose()
                actions.tell(session)
            }
        }
        var told = page.next
        let end = Self.now + Self.moment
        for (index, event) in page.events.enumerated() {
            tell(event, of: user)
            guard Self.now >= end, index + 1 < page.events.count else { continue }
            told.sequence = event.sequence
            break
        }
        return state.withLock { state in
            // Nobody of the user's listened any more, and somebody does again.
            guard state.told[user] == before else { return true }
            state.told[user] = told
            return told != page.next || page.events.count == Self.mostEvents
        }
    }

    private func tell(_ event: StoreEvent, of user: uid_t) {
        // A folder takes what is in it along.
        let takesContents = event.kind == .moved || event.kind == .deleted
        let (audience, moved) = state.withLock { state in
            let audience = state.presenters.presenters(of: event.path, contents: event.kind == .deleted, of: user)
            guard let old = event.oldPath else { return (audience, [PresenterID]()) }
            let before = state.presenters.presenters(of: old, contents: takesContents, of: user)
            return (audience + before, state.presenters.presenters(within: old, of: user))
        }
        inParts(Set(audience).sorted()) { part, state, actions in
            for id in part where !isOwn(event, state.sessions[id]) { post(.event(id, event), to: id, &state, &actions) }
        }
        guard let old = event.oldPath else { return }
        inParts(moved) { part, state, _ in state.presenters.moved(from: old, to: event.path, part) }
    }

    /// Some at a time: who opens a document meanwhile waits for these at most.
    private func inParts(_ ids: [PresenterID], _ body: (ArraySlice<PresenterID>, inout State, inout Actions) -> Void) {
        for first in stride(from: 0, to: ids.count, by: Self.mostAtOnce) {
            let part = ids[first..<min(first + Self.mostAtOnce, ids.count)]
            change { state, actions in body(part, &state, &actions) }
        }
    }

    /// The presenter that made a change is not told of its own.
    private func isOwn(_ event: StoreEvent, _ session: PresenterSession?) -> Bool {
        guard case .process(let id, _, _) = event.origin else { return false }
        return session?.owner.process?.id == id
    }
}
