/// `org.quire.Search`: what `quire search` asks for.
public enum SearchInterface {
    package static let name = "org.quire.Search"

    public static let search = ServiceMethod<SearchRequest, FoundDocuments>(name, "Search", isLong: true, timeout: .seconds(60))

    /// Answered until the client closes the connection or the mount ends.
    public static let watch = ServiceMethod<SearchRequest, ResultChanges>(name, "Watch")

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

        # size in bytes; modified in seconds since 1970. id stays the document's own when
        # it is moved, or saved.
        type Document (id: int, path: string, size: int, modified: float)

        type Placed (at: int, document: Document)
        type Move (from: int, to: int)

        # query: in the language of 'quire help search'. limit: 100 unless given, 20000 at
        # most. order: newest, oldest, largest, smallest or name; newest unless given.
        # more: there are more than limit. What was written through the mount before the
        # call is found. folder: where to search, at any depth; else everywhere.
        method Search(query: string, limit: ?int, order: ?string, folder: ?string)
          -> (documents: []Document, more: bool)

        # To be called with more; parameters as those of Search. The first reply inserts all
        # results, and each further one leads from the list before to the new one: take out
        # what is at the places removed and moved.from of the list before, the last one
        # first; put in what is inserted, and what was moved at moved.to, the first one
        # first: these are places of the new list. changed: documents that were in the list
        # before and have another path, size or time, with their places in the new list.
        # complete: the first scan of the store has met all documents. An error ends it.
        method Watch(query: string, limit: ?int, order: ?string, folder: ?string) -> (
          complete: bool,
          more: bool,
          removed: []int,
          moved: []Move,
          inserted: []Placed,
          changed: []Placed
        )

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
