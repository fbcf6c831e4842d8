/// The methods of `org.quire.Bookmarks`, as the daemon carries them out.
public protocol BookmarkService: Sendable {
    /// A text by which a document is found again. Throws `.notFound` for what is no document that the peer's user may read.
    func createBookmark(_ path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> String

    /// Where the document of a bookmark is now, for the peer's user.
    func resolveBookmark(_ bookmark: String, for peer: Peer) throws(ServiceFailure) -> ResolvedBookmark
}

/// Where the document of a bookmark is.
public struct ResolvedBookmark: Codable, Hashable, Sendable {
    public enum State: String, Codable, Hashable, Sendable {
        case found
        /// A document of the same content and time, or else of the same path. A new bookmark is to be made of it.
        case stale
        /// No such document is there, or none that the user may read.
        case deleted
        /// It is none that this store has made.
        case forged
    }
    public var state: State
    public var path: DocumentPath?

    public init(state: State, path: DocumentPath? = nil) { (self.state, self.path) = (state, path) }
}
