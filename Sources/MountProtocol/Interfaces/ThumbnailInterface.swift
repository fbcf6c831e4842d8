/// `org.quire.Thumbnails`: what `quire thumbnail` cannot see in the folder `.thumbnails`.
public enum ThumbnailInterface {
    package static let name = "org.quire.Thumbnails"

    public static let why = ServiceMethod<Named, WhyReply>(name, "Why")
    public static let clear = ServiceMethod<Named, ClearReply>(name, "Clear", isLong: true, timeout: .seconds(60))

    public struct Named: Codable, Sendable {
        package let path: DocumentPath
        public init(_ path: DocumentPath) { self.path = path }
    }
    public struct WhyReply: Codable, Sendable {
        /// Nil if there is a thumbnail, or nobody has looked.
        public let reason: String?
        package init(reason: String?) { self.reason = reason }
    }
    public struct ClearReply: Codable, Sendable {
        /// Of how many documents there were thumbnails.
        public let documents: Int
        package init(documents: Int) { self.documents = documents }
    }

    package static let text = """
        # Thumbnails of one mounted store, beside the folder .thumbnails.
        #
        # Paths are as in org.quire.Mount.
        interface org.quire.Thumbnails

        # Why a document has no thumbnail; no reason if it has one, or nobody has looked.
        method Why(path: string) -> (reason: ?string)

        # Forgets the thumbnails of a document, or of all in a folder, so that they are
        # drawn anew. documents: of how many there were any.
        method Clear(path: string) -> (documents: int)

        """
}
