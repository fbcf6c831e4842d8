/// `org.quire.Search`: what `quire search` asks for.
public enum SearchInterface {
    package static let name = "org.quire.Search"

    public static let search = ServiceMethod<SearchRequest, FoundDocuments>(name, "Search", isLong: true, timeout: .seconds(60))

    public static let textState = ServiceMethod<Named, TextStateReply>(name, "TextState")
    public static let textStatus = ServiceMethod<Empty, TextStatusReply>(name, "TextStatus")
    public static let pauseTexts = ServiceMethod<Pause, Empty>(name, "PauseTexts")
    public static let rebuildTexts = ServiceMethod<Empty, Empty>(name, "RebuildTexts", isLong: true, timeout: .seconds(60))

    public struct Named: Codable, Sendable {
        package let path: DocumentPath
        public init(_ path: DocumentPath) { self.path = path }
    }
    public struct Pause: Codable, Sendable {
        package let paused: Bool
        public init(_ paused: Bool) { self.paused = paused }
    }

    /// How many documents are told when the caller names no limit.
    public static let defaultLimit = 100
    /// The most documents in one reply.
    public static let mostDocuments = 20_000

    package static let text = """
        # Searches in one mounted store.
        #
        # Paths are as in org.quire.Mount. Only documents that the caller's user may read
        # are found.
        interface org.quire.Search

        # size in bytes; modified in seconds since 1970.
        type Document (path: string, size: int, modified: float)

        # query: in the language of 'quire help search'. limit: 100 unless given, 20000 at
        # most. order: newest, oldest, largest, smallest or name; newest unless given.
        # more: there are more than limit. What was written through the mount before the
        # call is found.
        method Search(query: string, limit: ?int, order: ?string)
          -> (documents: []Document, more: bool)

        # What is known of a document's text. state: indexed, nothing (there is nothing to be
        # read in it), failed (it could not be read; it is tried three times), waiting or
        # off. time: when it was read, in seconds since 1970. length: bytes of its words.
        method TextState(path: string)
          -> (state: string, reason: ?string, time: ?float, length: ?int, attempts: ?int)

        # How far texts are read. state: off, reading, paused or idle. indexed, nothing and
        # failed: documents. bytes: on disk. current is told to root and the user who mounted.
        method TextStatus() -> (
          state: string,
          indexed: int,
          nothing: int,
          failed: int,
          bytes: int,
          current: ?string,
          trouble: ?string
        )

        # For root and the user who mounted.
        method PauseTexts(paused: bool) -> ()

        # Forgets all texts, and reads them again. For root and the user who mounted.
        method RebuildTexts() -> ()

        # start and end: the bytes of the query, as UTF-8, that message is about.
        error InvalidQuery (message: string, start: int, end: int)

        """
}
