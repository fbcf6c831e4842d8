/// What the daemon answers for `org.quire.Presenters`.
public protocol PresenterService: Sendable {
    /// A client that presents items. `wake` is called, on any thread, when there is something to tell it.
    func attend(for peer: Peer, wake: @escaping @Sendable () -> Void) throws(ServiceFailure) -> any ServedPresenters
}

/// The presenters of one client. Ids that are not its own are `notFound`.
public protocol ServedPresenters: AnyObject, Sendable {
    /// Returns the presenter's id.
    func present(_ item: PresentedItem) throws(ServiceFailure) -> UInt64
    func withdraw(_ presenter: UInt64) throws(ServiceFailure)
    func setUnsavedChanges(_ hasChanges: Bool, of presenter: UInt64) throws(ServiceFailure)
    func answer(_ question: UInt64, from presenter: UInt64, failure: String?) throws(ServiceFailure)
    /// The next messages, `limit` at most; none if there are none now. Not called by two threads at once.
    func next(limit: Int) -> PresenterMessages
    /// Whether `next` waits for nothing, the disk included.
    var isBrief: Bool { get }
    /// The client has gone.
    func end()
}

public struct PresentedItem: Codable, Hashable, Sendable {
    /// A document or folder; nothing needs to be there.
    public var path: DocumentPath
    /// Whether what is in the folder is presented too.
    public var contents: Bool?
    /// Whether it shows what is not in the document yet.
    public var unsaved: Bool?

    public init(path: DocumentPath, contents: Bool? = nil, unsaved: Bool? = nil) {
        (self.path, self.contents, self.unsaved) = (path, contents, unsaved)
    }
}

public struct PresenterMessages: Codable, Hashable, Sendable {
    /// Names the client in calls on other connections of its process; in the first reply only.
    public var session: String?
    public var messages: [PresenterMessage]
    /// Events were missed: look at everything again.
    public var overflow: Bool

    public init(session: String? = nil, messages: [PresenterMessage], overflow: Bool) {
        (self.session, self.messages, self.overflow) = (session, messages, overflow)
    }
}

/// What a presenter is asked or told.
public struct PresenterMessage: Codable, Hashable, Sendable {
    /// To be answered when done.
    public struct Question: Codable, Hashable, Sendable {
        public var id: UInt64
        /// What somebody wants to read or write: the presented item, one in it, or a folder that holds it.
        public var path: DocumentPath
        public var access: ClaimCall.Intent.Access
        /// Whether the presenter is to save what it has not saved.
        public var saves: Bool
        /// Whether the item will be gone.
        public var deletes: Bool

        public init(id: UInt64, path: DocumentPath, access: ClaimCall.Intent.Access, saves: Bool, deletes: Bool) {
            (self.id, self.path, self.access, self.saves, self.deletes) = (id, path, access, saves, deletes)
        }
    }

    /// Nil for the end of a question.
    public var presenter: UInt64?
    public var question: Question?
    /// What this question was asked for is over: the presenter may go on with its item.
    public var over: UInt64?
    public var event: WatchedEvent?

    public init(presenter: UInt64? = nil, question: Question? = nil, over: UInt64? = nil, event: WatchedEvent? = nil) {
        (self.presenter, self.question, self.over, self.event) = (presenter, question, over, event)
    }
}
