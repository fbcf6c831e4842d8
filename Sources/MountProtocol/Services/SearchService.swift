/// What the daemon answers for `org.quire.Search`.
public protocol SearchService: Sendable {
    /// The documents that meet a query and that the peer's user may read. Throws `.invalidQuery`.
    func search(_ request: SearchRequest, for peer: Peer) throws(ServiceFailure) -> FoundDocuments
}

/// What to search for.
public struct SearchRequest: Codable, Hashable, Sendable {
    /// In the language that `quire help search` describes.
    public var query: String
    /// How many documents at most; nil: `SearchInterface.defaultLimit`.
    public var limit: Int?
    /// `newest`, `oldest`, `largest`, `smallest` or `name`; nil: `newest`.
    public var order: String?

    public init(query: String, limit: Int? = nil, order: String? = nil) {
        (self.query, self.limit, self.order) = (query, limit, order)
    }
}

public struct FoundDocuments: Codable, Hashable, Sendable {
    public var documents: [FoundDocument]
    /// There are more than the limit.
    public var more: Bool

    public init(documents: [FoundDocument], more: Bool) { (self.documents, self.more) = (documents, more) }
}

public struct FoundDocument: Codable, Hashable, Sendable {
    public var path: DocumentPath
    /// In bytes.
    public var size: Int64
    /// When its content changed last, in seconds since 1970.
    public var modified: Double

    public init(path: DocumentPath, size: Int64, modified: Double) { (self.path, self.size, self.modified) = (path, size, modified) }
}
