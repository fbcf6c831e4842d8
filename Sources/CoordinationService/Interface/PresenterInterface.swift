import Synchronization

/// `org.quire.Presenters`: for programs that show documents.
enum PresenterInterface {
    static let name = "org.quire.Presenters"

    /// Some 400 bytes each in a reply.
    static let mostMessages = 200

    struct PresentRequest: Codable, Sendable {
        let session: String
        let path: DocumentPath
        let contents: Bool?
        let unsaved: Bool?
    }
    struct PresentReply: Codable, Sendable { let presenter: UInt64 }
    struct Named: Codable, Sendable {
        let session: String
        let presenter: UInt64
    }
    struct UnsavedRequest: Codable, Sendable {
        let session: String
        let presenter: UInt64
        let unsaved: Bool
    }
    struct AnswerRequest: Codable, Sendable {
        let session: String
        let presenter: UInt64
        let question: UInt64
        let failure: String?
    }

    static func interface(_ service: any PresenterService) -> VarlinkInterface {
        let sessions = PresenterSessions()
        return VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod("Attend", streaming: { (_: Empty, connection, wake) in
                    let presenters = try service.attend(for: connection.peer, wake: wake)
                    return Attendance(presenters, sessions, sessions.enter(presenters, connection.peer))
                }),
                VarlinkMethod("Present") { (request: PresentRequest, peer) in
                    let item = PresentedItem(path: request.path, contents: request.contents, unsaved: request.unsaved)
                    return PresentReply(presenter: try sessions.find(request.session, peer).present(item))
                },
                VarlinkMethod("Withdraw", isBrief: true) { (request: Named, peer) in
                    try sessions.find(request.session, peer).withdraw(request.presenter)
                    return Empty()
                },
                VarlinkMethod("SetUnsaved", isBrief: true) { (request: UnsavedRequest, peer) in
                    try sessions.find(request.session, peer).setUnsavedChanges(request.unsaved, of: request.presenter)
                    return Empty()
                },
                VarlinkMethod("Answer", isBrief: true) { (request: AnswerRequest, peer) in
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

    static let text = """
        # Programs that show documents of one mounted store. They are asked before
        # others read or write what they show, and told when it changes. Paths and
        # errors are as in org.quire.Mount, events as in org.quire.Events.
        #
        # One connection attends; the other calls go over a second one of the same
        # process. All presenters of a client end with the connection that attends.
        interface org.quire.Presenters

        # access: reading or writing. saves: save what is not saved yet. deletes: the
        # item will be gone. To be answered, by Answer, when the presenter is done, which
        # it is given some seconds for (presenter-timeout).
        type Question (id: int, path: string, access: string, saves: bool, deletes: bool)

        \(EventInterface.eventType)

        # One of question, over and event. over: what that question was asked for is
        # done, and the presenter may go on with its item.
        type Message (presenter: ?int, question: ?Question, over: ?int, event: ?Event)

        # To be called with more; answered until the connection is closed. session, in
        # the first reply: names the client in the other calls. overflow: events were
        # missed, so look at everything again.
        method Attend() -> (session: ?string, messages: []Message, overflow: bool)

        # contents: what is in the folder is presented too. unsaved: it shows what is
        # not in the document yet, so that whoever reads it has to ask first.
        method Present(session: string, path: string, contents: ?bool, unsaved: ?bool)
          -> (presenter: int)

        method Withdraw(session: string, presenter: int) -> ()

        method SetUnsaved(session: string, presenter: int, unsaved: bool) -> ()

        # failure: why the presenter could not do what it was asked.
        method Answer(session: string, presenter: int, question: int, failure: ?string)
          -> ()

        """
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
