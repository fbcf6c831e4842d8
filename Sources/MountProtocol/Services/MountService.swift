/// What the daemon answers for `org.quire.Mount`, and with it for the other interfaces. Methods are called on the service's own
/// threads, several at once, and may block for the length of an index query. Each decides by `peer` what may be shown or done.
public protocol MountService: RecoverService, EventService, ClaimService, PresenterService, ThumbnailService, SearchService, BookmarkService, GrantService {
    func status(for peer: Peer) throws(ServiceFailure) -> MountStatus

    /// Renames a tag on every document that has it and that the peer may access; unless the peer may write all of these, none
    /// is changed. With `merges`, the new tag may be in use. A tag of which the peer may access nothing is one that does not exist.
    func renameTag(_ old: String, to new: String, merges: Bool, for peer: Peer) throws(ServiceFailure)

    /// Adds tags to documents, and removes others. Returns those for which that failed; the others are changed.
    func changeTags(
        of paths: [DocumentPath], adding: [String], removing: [String], for peer: Peer
    ) throws(ServiceFailure) -> [PathFailure]

    /// Brings back the tags that the last bulk removal took. Returns the number of documents that got a tag back.
    func undoTagRemoval(for peer: Peer) throws(ServiceFailure) -> Int

    /// The documents the peer's user used last, newest first, `limit` at most.
    func recents(limit: Int, for peer: Peer) throws(ServiceFailure) -> [RecentDocument]

    /// Takes documents off the recents of the peer's user; paths that are not among them are no error.
    func forgetRecents(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure)

    /// Notes that the peer's user has used documents; what is not there, or the user may not read, or later than now, is passed over.
    func noteUses(_ uses: [RecentDocument], for peer: Peer) throws(ServiceFailure)

    /// The favorites of the peer's user; the one that was marked last comes first.
    func favorites(for peer: Peer) throws(ServiceFailure) -> [FavoriteItem]

    /// Marks documents and folders for the peer's user. Returns those for which that failed.
    func addFavorites(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) -> [PathFailure]

    /// Takes the marks away. Returns those for which that failed; a path that is not marked is one.
    func removeFavorites(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) -> [PathFailure]

    /// Every tag in use on a document that the peer may access, ordered by name.
    func tags(for peer: Peer) throws(ServiceFailure) -> [TagCount]
}

/// Why a request was not carried out, as the client is told.
public enum ServiceFailure: Error, Hashable, Sendable {
    /// The named tag, document or undo record does not exist, or the peer may not know of it.
    case notFound(String)
    /// The peer's user may not do this.
    case permissionDenied(String)
    /// The named parameter has a value out of its domain.
    case invalidParameter(String)
    /// A search query cannot be understood: why, and the bytes that it is about.
    case invalidQuery(String, Range<Int>)
    /// The operation was tried and failed; the message says why.
    case failed(String)
    /// A claim was not granted in time: the message says who is in the way.
    case timedOut(String)
    /// What was saved within a claim was not published: the message says why.
    case notPublished(String)
    /// What a claim is to read cannot be kept as it is: the message says why.
    case noSnapshot(String)
    /// Those who are in the way of a claim wait for its asker.
    case deadlock(String)
}
