import Coordination
public import MountProtocol
import StorePrimitives

/// Presenters of the service's clients.
extension MountedStore {
    public func attend(for peer: Peer, wake: @escaping @Sendable () -> Void) throws(ServiceFailure) -> any ServedPresenters {
        let caller = Credentials(peer)
        let process = SaveProcess(peer)
        let session = PresenterSession(
            owner: claimant(process, user: caller.uid, purpose: nil), name: process.flatMap { ProcessFacts.name(of: $0.id) } ?? "",
            credentials: caller, moment: fileSystem.saves.processes.moment(), shares: shares, onMessage: wake)
        return PresentersInMount(session, self)
    }
}

/// The presenters of one peer.
private final class PresentersInMount: ServedPresenters {
    private let session: PresenterSession
    private let mount: MountedStore
    /// Nothing it is told needs a check of permissions.
    let isBrief: Bool

    private var coordinator: Coordinator { mount.fileSystem.coordinator }

    init(_ session: PresenterSession, _ mount: MountedStore) {
        (self.session, self.mount) = (session, mount)
        isBrief = mount.fileSystem.tags.access.isUnlimited(session.credentials)
    }

    func present(_ item: PresentedItem) throws(ServiceFailure) -> UInt64 {
        let path = try mount.item(item.path)
        guard mount.mayListen(to: path, session.credentials) else { throw .permissionDenied("\(item.path): you may not read it") }
        let maySave = mount.mayClaim(ClaimIntent(path, .writing([])), session.credentials)
        let id = coordinator.present(
            path, coversContents: item.contents ?? false, hasUnsavedChanges: item.unsaved ?? false, maySave: maySave, in: session)
        guard let id else { throw .failed("too many items are presented by this client, or it has gone") }
        return id.rawValue
    }

    func withdraw(_ presenter: UInt64) throws(ServiceFailure) {
        try found(presenter, coordinator.withdraw(PresenterID(presenter), in: session))
    }

    func setUnsavedChanges(_ hasChanges: Bool, of presenter: UInt64) throws(ServiceFailure) {
        try found(presenter, coordinator.setUnsavedChanges(hasChanges, of: PresenterID(presenter), in: session))
    }

    func answer(_ question: UInt64, from presenter: UInt64, failure: String?) throws(ServiceFailure) {
        let id = PresenterQuestion.ID(question)
        try found(presenter, coordinator.answer(id, from: PresenterID(presenter), failure: failure, in: session))
    }

    private func found(_ presenter: UInt64, _ isFound: Bool) throws(ServiceFailure) {
        if !isFound { throw .notFound("presenter \(presenter)") }
    }

    func next(limit: Int) -> PresenterMessages {
        let found = session.take(limit)
        var isMissing = false
        let known = found.messages.compactMap { message -> PresenterSession.Message? in
            guard case .event(let presenter, let event) = message else { return message }
            let (events, isOld) = mount.known([event], to: session.credentials)
            isMissing = isMissing || isOld
            return events.first.map { .event(presenter, $0) }
        }
        return PresenterMessages(messages: known.map(shown), overflow: found.hasOverflowed || isMissing)
    }

    func end() { coordinator.end(session) }

    private func shown(_ message: PresenterSession.Message) -> PresenterMessage {
        switch message {
        case .isOver(let question): return PresenterMessage(over: question.rawValue)
        case .event(let presenter, let event):
            return PresenterMessage(presenter: presenter.rawValue, event: mount.shown(event))
        case .question(let question):
            let matter = question.matter
            return PresenterMessage(
                presenter: question.presenter.rawValue,
                question: .init(
                    id: question.id.rawValue, path: mount.place(matter.item),
                    access: matter.access == .reading ? .reading : .writing, saves: matter.savesChanges,
                    deletes: matter.isDeletion))
        }
    }
}
