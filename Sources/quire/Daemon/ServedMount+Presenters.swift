import Coordination
import CoordinationService
import DocumentMount
import StorePrimitives
import SystemPackage

/// Presenters, for the service's clients.
extension ServedMount {
    func attend(for peer: Peer, wake: @escaping @Sendable () -> Void) throws(ServiceFailure) -> any ServedPresenters {
        PresentersInMount(
            store.attend(for: MountedStore.Client(peer), onMessage: wake), self, isBrief: store.mayAccessAll(Credentials(peer)))
    }
}

/// The presenters of one peer.
private final class PresentersInMount: ServedPresenters {
    private let session: PresenterSession
    private let mount: ServedMount
    /// Nothing it is told needs a check of permissions.
    let isBrief: Bool

    init(_ session: PresenterSession, _ mount: ServedMount, isBrief: Bool) {
        (self.session, self.mount, self.isBrief) = (session, mount, isBrief)
    }

    func present(_ item: PresentedItem) throws(ServiceFailure) -> UInt64 {
        let path = try mount.item(item.path)
        do throws(Errno) {
            return try mount.store.present(
                path, coversContents: item.contents ?? false, hasUnsavedChanges: item.unsaved ?? false, in: session).rawValue
        } catch .tooManyReferences {
            throw .failed("too many items are presented by this client, or it has gone")
        } catch {
            throw .permissionDenied("\(item.path): you may not read it")
        }
    }

    func withdraw(_ presenter: UInt64) throws(ServiceFailure) {
        try asked(of: presenter) { (id) throws(Errno) in try mount.store.withdraw(id, in: session) }
    }

    func setUnsavedChanges(_ hasChanges: Bool, of presenter: UInt64) throws(ServiceFailure) {
        try asked(of: presenter) { (id) throws(Errno) in try mount.store.setUnsavedChanges(hasChanges, of: id, in: session) }
    }

    func answer(_ question: UInt64, from presenter: UInt64, failure: String?) throws(ServiceFailure) {
        try asked(of: presenter) { (id) throws(Errno) in
            try mount.store.answer(PresenterQuestion.ID(question), from: id, failure: failure, in: session)
        }
    }

    private func asked(of presenter: UInt64, _ body: (PresenterID) throws(Errno) -> Void) throws(ServiceFailure) {
        do throws(Errno) { try body(PresenterID(presenter)) } catch { throw .notFound("presenter \(presenter)") }
    }

    func next(limit: Int) -> PresenterMessages {
        let found = session.take(limit)
        var isMissing = false
        let known = found.messages.compactMap { message -> PresenterSession.Message? in
            guard case .event(let presenter, let event) = message else { return message }
            let (events, isOld) = mount.store.known([event], in: session)
            isMissing = isMissing || isOld
            return events.first.map { .event(presenter, $0) }
        }
        return PresenterMessages(messages: known.map(shown), overflow: found.hasOverflowed || isMissing)
    }

    func end() { mount.store.end(session) }

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
