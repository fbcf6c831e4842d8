import MountProtocol
import Synchronization

extension PresenterInterface {
    static func interface(_ service: any PresenterService) -> VarlinkInterface {
        let sessions = PresenterSessions()
        return VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(attend, streaming: { _, connection, wake in
                    let presenters = try service.attend(for: connection.peer, wake: wake)
                    return Attendance(presenters, sessions, sessions.enter(presenters, connection.peer))
                }),
                VarlinkMethod(present) { request, peer in
                    let item = PresentedItem(path: request.path, contents: request.contents, unsaved: request.unsaved)
                    return PresentReply(presenter: try sessions.find(request.session, peer).present(item))
                },
                VarlinkMethod(withdraw, isBrief: true) { request, peer in
                    try sessions.find(request.session, peer).withdraw(request.presenter)
                    return Empty()
                },
                VarlinkMethod(setUnsaved, isBrief: true) { request, peer in
                    try sessions.find(request.session, peer).setUnsavedChanges(request.unsaved, of: request.presenter)
                    return Empty()
                },
                VarlinkMethod(answer, isBrief: true) { request, peer in
                    try sessions.find(request.session, peer)
                        .answer(request.question, from: request.presenter, failure: request.failure)
                    return Empty()
                },
            ])
    }

    private final class Attendance: ReplyStream {
        private let presenters: any ServedPresenters
        private let sessions: PresenterSessions
        private let token: String
        private let isNew = Mutex(true)

        init(_ presenters: any ServedPresenters, _ sessions: PresenterSessions, _ token: String) {
            (self.presenters, self.sessions, self.token) = (presenters, sessions, token)
        }

        var isBrief: Bool { presenters.isBrief }

        func next() -> StreamedReply? {
            var found = presenters.next(limit: PresenterInterface.mostMessages)
            if isNew.withLock({ isNew in defer { isNew = false }; return isNew }) { found.session = token }
            let isEmpty = found.messages.isEmpty && !found.overflow && found.session == nil
            return isEmpty ? nil : StreamedReply(parameters: found)
        }

        func end() {
            sessions.leave(token)
            presenters.end()
        }
    }
}

/// The clients that attend, by the names they were given.
private final class PresenterSessions: Sendable {
    private struct Session {
        let presenters: any ServedPresenters
        let peer: Peer
    }
    /// A leaf lock.
    private let sessions = Mutex<[String: Session]>([:])

    func enter(_ presenters: any ServedPresenters, _ peer: Peer) -> String {
        let token = String(UInt64.random(in: .min ... .max), radix: 16)
        sessions.withLock { $0[token] = Session(presenters: presenters, peer: peer) }
        return token
    }

    func leave(_ token: String) { sessions.withLock { $0[token] = nil } }

    /// Of the same process only.
    func find(_ token: String, _ peer: Peer) throws(ServiceFailure) -> any ServedPresenters {
        let found = sessions.withLock { $0[token] }
        guard let found, found.peer.uid == peer.uid, found.peer.pid == peer.pid else { throw .notFound("session \(token)") }
        return found.presenters
    }
}
