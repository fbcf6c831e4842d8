/// `org.quire.Bookmarks`: what `quire bookmark` asks for.
public enum BookmarkInterface {
    package static let name = "org.quire.Bookmarks"

    public static let create = ServiceMethod<Create, Token>(name, "Create")
    public static let resolve = ServiceMethod<Token, ResolvedBookmark>(name, "Resolve", isLong: true, timeout: .seconds(60))

    public struct Create: Codable, Sendable {
        package let path: DocumentPath
        public init(_ path: DocumentPath) { self.path = path }
    }
    public struct Token: Codable, Sendable {
        public let bookmark: String
        public init(_ bookmark: String) { self.bookmark = bookmark }
    }

    package static let text = """
        # Bookmarks of documents in one mounted store: texts that are kept, and by which a
        # document is found again wherever it was moved.
        #
        # Paths are as in org.quire.Mount. Only documents that the caller's user may read
        # are found.
        interface org.quire.Bookmarks

        # A bookmark has letters, digits, - and _. It is signed: this store alone makes it.
        method Create(path: string) -> (bookmark: string)

        # state: found; stale (a document of the same content and time, or else of the
        # same path: make a new bookmark); deleted; or forged (none of this store's).
        method Resolve(bookmark: string) -> (state: string, path: ?string)

        """
}
