import Coordination
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
                state.listener = events.listen(isPaced: false) { [unowned self] in tellPresenters() }
                state.lastEvent = events.lastKnownSequence
            }
            let id = state.presenters.register(
                Presenter(of: path, coversContents: coversContents, owner: session.owner, moment: session.moment,
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
        for inquiry in state.presenters.remove(id) { finished(inquiry, &state, &actions) }
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
        if !actions.sessions.contains(where: { $0 === session }) { actions.sessions.append(session) }
    }

    /// Tells presenters what has happened, and follows what was moved. On the hub's thread, and on the coordinator's.
    func tellPresenters() { telling.withLock { tellNext() } }

    private func tellNext() {
        while true {
            let last = state.withLock { $0.listener == nil ? nil : $0.lastEvent }
            guard let last else { return }
            let page = events.events(after: last, limit: Self.mostEvents) { _ in true }
            guard page.next > last || page.hasOverflowed else { return }
            let isCurrent = change { state, actions in
                // Nobody listened any more, and somebody does again.
                guard state.listener != nil, state.lastEvent == last else { return false }
                state.lastEvent = page.next
                if page.hasOverflowed {
                    for session in state.sessions.values { session.lose() }
                    actions.sessions = Array(state.sessions.values)
                }
                return true
            }
            guard isCurrent else { continue }
            for event in page.events { tell(event) }
            guard page.events.count == Self.mostEvents else { return }
        }
    }

    private static let mostEvents = 500

    private func tell(_ event: StoreEvent) {
        // A folder takes what is in it along.
        let takesContents = event.kind == .moved || event.kind == .deleted
        let (audience, moved) = state.withLock { state in
            let audience = state.presenters.presenters(of: event.path, contents: event.kind == .deleted)
            guard let old = event.oldPath else { return (audience, [PresenterID]()) }
            let before = state.presenters.presenters(of: old, contents: takesContents)
            return (audience + before, state.presenters.presenters(within: old))
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
