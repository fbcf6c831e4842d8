/// What the daemon answers for `org.quire.Search`.
public protocol SearchService: Sendable {
    /// The documents that meet a query and that the peer's user may read. Throws `.invalidQuery`.
    func search(_ request: SearchRequest, for peer: Peer) throws(ServiceFailure) -> FoundDocuments

    /// Begins to tell a peer of the results of a query as they change; throws as `search`. `wake` is called, on any thread, when there may
    /// be something to be taken by `next`.
    func watchSearch(_ request: SearchRequest, for peer: Peer, wake: @escaping @Sendable () -> Void) throws(ServiceFailure) -> any SearchFeed

    /// What is known of the text of a document that the peer's user may read. Throws `.notFound`.
    func textState(of document: DocumentPath, for peer: Peer) throws(ServiceFailure) -> TextStateReply

    /// How far the texts of the mount's documents are read.
    func textStatus(for peer: Peer) throws(ServiceFailure) -> TextStatusReply

    /// Has no more texts read, or goes on; root and the user who mounted may.
    func pauseTexts(_ isPaused: Bool, for peer: Peer) throws(ServiceFailure)

    /// Forgets all texts, and has them read again; root and the user who mounted may.
    func rebuildTexts(for peer: Peer) throws(ServiceFailure)
}

/// The results of a query that one peer watches.
public protocol SearchFeed: Sendable {
    /// What has changed since the last call, or all results; nil if nothing has. Not called by two threads at once.
    func next() throws(ServiceFailure) -> ResultChanges?
    /// Nobody takes any more.
    func end()
}

public struct TextStateReply: Codable, Hashable, Sendable {
    /// `indexed`, `nothing` (there is nothing to be read in it), `failed` (it could not be read), `waiting` or `off`.
    public var state: String
    /// Why, for a person.
    public var reason: String?
    /// When it was read, in seconds since 1970.
    public var time: Double?
    /// Bytes of its words.
    public var length: Int?
    /// How often it was tried.
    public var attempts: Int?

    public init(state: String, reason: String? = nil, time: Double? = nil, length: Int? = nil, attempts: Int? = nil) {
        (self.state, self.reason, self.time, self.length, self.attempts) = (state, reason, time, length, attempts)
    }
}

public struct TextStatusReply: Codable, Hashable, Sendable {
    /// `off`, `reading`, `paused` or `idle`.
    public var state: String
    /// Documents with a text, without one, and such as could not be read.
    public var indexed, nothing, failed: Int
    /// Of the index of texts on disk.
    public var bytes: Int
    /// What is read just now; told to root and the user who mounted.
    public var current: DocumentPath?
    /// Why nothing is read, for a person.
    public var trouble: String?

    public init(state: String, indexed: Int = 0, nothing: Int = 0, failed: Int = 0, bytes: Int = 0, current: DocumentPath? = nil, trouble: String? = nil) {
        (self.state, self.indexed, self.nothing, self.failed) = (state, indexed, nothing, failed)
        (self.bytes, self.current, self.trouble) = (bytes, current, trouble)
    }
}

/// What to search for.
public struct SearchRequest: Codable, Hashable, Sendable {
    /// In the language that `quire help search` describes.
    public var query: String
    /// How many documents at most; nil: `SearchInterface.defaultLimit`.
    public var limit: Int?
    /// `newest`, `oldest`, `largest`, `smallest` or `name`; nil: `newest`.
    public var order: String?
    /// The folder in which to search, at any depth; nil: the whole mount.
    public var folder: DocumentPath?

    public init(query: String, limit: Int? = nil, order: String? = nil, folder: DocumentPath? = nil) {
        (self.query, self.limit, self.order, self.folder) = (query, limit, order, folder)
    }
}

public struct FoundDocuments: Codable, Hashable, Sendable {
    public var documents: [FoundDocument]
    /// There are more than the limit.
    public var more: Bool

    public init(documents: [FoundDocument], more: Bool) { (self.documents, self.more) = (documents, more) }
}

public struct FoundDocument: Codable, Hashable, Sendable {
    /// Stays the document's own when it is moved, or saved.
    public var id: Int64
    public var path: DocumentPath
    /// In bytes.
    public var size: Int64
    /// When its content changed last, in seconds since 1970.
    public var modified: Double

    public init(id: Int64, path: DocumentPath, size: Int64, modified: Double) {
        (self.id, self.path, self.size, self.modified) = (id, path, size, modified)
    }
}
