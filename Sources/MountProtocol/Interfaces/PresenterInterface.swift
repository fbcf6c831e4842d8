/// `org.quire.Presenters`: for programs that show documents.
public enum PresenterInterface {
    package static let name = "org.quire.Presenters"

    /// What presenters are asked and told, until the client closes the connection or the mount ends. The first messages name the session.
    public static let attend = ServiceMethod<Empty, PresenterMessages>(name, "Attend")
    public static let present = ServiceMethod<PresentRequest, PresentReply>(name, "Present")
    public static let withdraw = ServiceMethod<Named, Empty>(name, "Withdraw")
    public static let setUnsaved = ServiceMethod<UnsavedRequest, Empty>(name, "SetUnsaved")
    public static let answer = ServiceMethod<AnswerRequest, Empty>(name, "Answer")

    /// Some 400 bytes each in a reply.
    package static let mostMessages = 200

    public struct PresentRequest: Codable, Sendable {
        package let session: String
        package let path: DocumentPath
        package let contents: Bool?
        package let unsaved: Bool?

        public init(_ item: PresentedItem, in session: String) {
            (self.session, path, contents, unsaved) = (session, item.path, item.contents, item.unsaved)
        }
    }
    public struct PresentReply: Codable, Sendable {
        public let presenter: UInt64
        package init(presenter: UInt64) { self.presenter = presenter }
    }
    public struct Named: Codable, Sendable {
        package let session: String
        package let presenter: UInt64
        public init(_ presenter: UInt64, in session: String) { (self.session, self.presenter) = (session, presenter) }
    }
    public struct UnsavedRequest: Codable, Sendable {
        package let session: String
        package let presenter: UInt64
        package let unsaved: Bool

        public init(_ hasChanges: Bool, of presenter: UInt64, in session: String) {
            (self.session, self.presenter, unsaved) = (session, presenter, hasChanges)
        }
    }
    public struct AnswerRequest: Codable, Sendable {
        package let session: String
        package let presenter: UInt64
        package let question: UInt64
        package let failure: String?

        /// - Parameter failure: why the presenter could not do what it was asked.
        public init(to question: UInt64, from presenter: UInt64, failure: String? = nil, in session: String) {
            (self.session, self.presenter, self.question, self.failure) = (session, presenter, question, failure)
        }
    }

    package static let text = """
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
