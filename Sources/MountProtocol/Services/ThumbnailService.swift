/// What the daemon answers for `org.quire.Thumbnails`.
public protocol ThumbnailService: Sendable {
    /// Why the document at a path that the peer may read has no thumbnail; nil if it has one, or nobody has tried to render it.
    func refusal(of path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> String?

    /// Forgets the thumbnails of a document, or of all in a folder, and that some cannot be rendered: of what the peer may write.
    /// Returns of how many documents there was something to forget.
    func clearThumbnails(in path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> Int
}
