/// `org.quire.Search`: what `quire search` asks for.
public enum SearchInterface {
    package static let name = "org.quire.Search"

    public static let search = ServiceMethod<SearchRequest, FoundDocuments>(name, "Search", isLong: true, timeout: .seconds(60))

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

        # start and end: the bytes of the query, as UTF-8, that message is about.
        error InvalidQuery (message: string, start: int, end: int)

        """
}
