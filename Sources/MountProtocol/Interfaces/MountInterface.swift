/// `org.quire.Mount`: status, tags, recents and favorites of one mount.
public enum MountInterface {
    package static let name = "org.quire.Mount"

    public static let status = ServiceMethod<Empty, StatusReply>(name, "Status", isLong: true, timeout: .seconds(60))
    public static let renameTag = ServiceMethod<RenameTag, Empty>(name, "RenameTag", isLong: true, timeout: .seconds(60))
    public static let changeTags = ServiceMethod<ChangeTags, FailedPaths>(name, "ChangeTags", isLong: true, timeout: .seconds(60))
    public static let undoTagRemoval = ServiceMethod<Empty, UndoReply>(name, "UndoTagRemoval", isLong: true, timeout: .seconds(60))
    public static let recents = ServiceMethod<RecentsRequest, RecentsReply>(name, "Recents", timeout: .seconds(60))
    public static let forgetRecents = ServiceMethod<ForgetRecents, Empty>(name, "ForgetRecents", timeout: .seconds(60))
    public static let noteUses = ServiceMethod<NoteUses, Empty>(name, "NoteUses", isLong: true, timeout: .seconds(60))
    public static let favorites = ServiceMethod<Empty, FavoritesReply>(name, "Favorites", timeout: .seconds(60))
    public static let addFavorites = ServiceMethod<FavoritePaths, FailedPaths>(name, "AddFavorites", isLong: true, timeout: .seconds(60))
    public static let removeFavorites = ServiceMethod<FavoritePaths, FailedPaths>(name, "RemoveFavorites", isLong: true, timeout: .seconds(60))
    public static let tags = ServiceMethod<Empty, TagsReply>(name, "ListTags", isLong: true, timeout: .seconds(60))

    public struct StatusReply: Codable, Sendable {
        public let status: MountStatus
        package init(status: MountStatus) { self.status = status }
    }
    public struct RenameTag: Codable, Sendable {
        package let old, new: String
        package let merge: Bool?
        public init(_ old: String, to new: String, merge: Bool? = nil) { (self.old, self.new, self.merge) = (old, new, merge) }
    }
    public struct ChangeTags: Codable, Sendable {
        package let paths: [DocumentPath]
        package let add, remove: [String]
        public init(_ paths: [DocumentPath], add: [String], remove: [String]) { (self.paths, self.add, self.remove) = (paths, add, remove) }
    }
    public struct UndoReply: Codable, Sendable {
        /// Documents that have their tags again.
        public let restored: Int
        package init(restored: Int) { self.restored = restored }
    }
    public struct RecentsRequest: Codable, Sendable {
        /// Nil: `defaultRecents`.
        package let limit: Int?
        public init(limit: Int? = nil) { self.limit = limit }
    }
    public struct RecentsReply: Codable, Sendable {
        /// Newest first.
        public let entries: [RecentDocument]
        package init(entries: [RecentDocument]) { self.entries = entries }
    }
    public struct ForgetRecents: Codable, Sendable {
        package let paths: [DocumentPath]
        public init(_ paths: [DocumentPath]) { self.paths = paths }
    }
    public struct NoteUses: Codable, Sendable {
        package let entries: [RecentDocument]
        public init(_ entries: [RecentDocument]) { self.entries = entries }
    }
    public struct FavoritesReply: Codable, Sendable {
        /// The one that was marked last comes first.
        public let entries: [FavoriteItem]
        package init(entries: [FavoriteItem]) { self.entries = entries }
    }
    public struct FavoritePaths: Codable, Sendable {
        package let paths: [DocumentPath]
        public init(_ paths: [DocumentPath]) { self.paths = paths }
    }
    /// What was not done for some paths; the others are done.
    public struct FailedPaths: Codable, Sendable {
        public let failures: [PathFailure]
        package init(failures: [PathFailure]) { self.failures = failures }
    }
    public struct TagsReply: Codable, Sendable {
        public let tags: [TagCount]
        package init(tags: [TagCount]) { self.tags = tags }
    }

    /// How many recents are told when the caller names no limit: a screenful or two.
    package static let defaultRecents = 50
    /// The most recents one reply holds, so that a reply stays well under a client's message limit.
    package static let mostRecents = 1_000

    package static let text = """
        # One mounted store: its state, its tags, and what its user worked on last or has marked.
        #
        # A path is absolute. One that is not UTF-8 is a file:/// URI with its bytes
        # percent-encoded, in replies and in requests alike. Every request is
        # answered for the user of the calling process: it tells of, and changes,
        # only what that user may.
        interface org.quire.Mount

        type Gather (state: string, documents: int, folders: int)

        # A save under way. state: arriving, open or publishing; age and idle in
        # seconds, since it began and since the last write; bytes: written so far.
        type OpenSave (
          path: string,
          pid: int,
          process: string,
          state: string,
          age: float,
          idle: float,
          bytes: int
        )

        # A document that is written in place, and why it is no transaction.
        type OpenWriter (
          path: string,
          pid: int,
          process: string,
          reason: string,
          explanation: string
        )

        # state: queued (behind other claims), begun (waiting for presenters and
        # writers) or granted; age in seconds; behind: the claims it waits for.
        # unpublished: how many names were saved within it, to be everybody's when it ends.
        type Claim (
          id: int,
          state: string,
          paths: []string,
          writing: bool,
          pid: int,
          process: string,
          uid: int,
          purpose: ?string,
          age: float,
          behind: []int,
          unpublished: int
        )

        # contents: what is in the folder too. unsaved: it shows what is not in the
        # document yet. silent: it left a question unanswered.
        type Presenter (
          path: string,
          contents: bool,
          pid: int,
          process: string,
          uid: int,
          unsaved: bool,
          silent: bool
        )

        # kind: fcntl or flock; start and end: the first and last byte, no end: to the
        # end of the document. waits: it is not held yet.
        type Lock (
          path: string,
          kind: string,
          exclusive: bool,
          start: int,
          end: ?int,
          pid: int,
          waits: bool
        )

        # waitingOpens: opens that wait for a claim's end, or for presenters to save.
        # presenters: a hundred at most of presenterCount.
        type Coordination (
          claims: []Claim,
          waitingOpens: int,
          presenters: []Presenter,
          presenterCount: int,
          locks: []Lock
        )

        # What the caller's user has of something of which each user, and all together,
        # may have so much; usedByAll is told to root and to the user who mounted. answer:
        # what asking for more is answered.
        type Share (
          resource: string,
          used: int,
          limit: int,
          usedByAll: ?int,
          limitOfAll: int,
          answer: string,
          reason: string
        )
        # A daemon that ended unasked, of a signal or a fault; time: seconds since 1970.
        type Death (time: float, reason: string)

        # mode: inPlace (the mount covers the store) or beside. system: serves other
        # users too. counters: transactional and live.REASON count opens for writing,
        # knownFiles the files that the kernel knows, listingsMade the lists made of
        # virtual folders, thumbnailsDrawn, thumbnailsRefused and thumbnailsWaiting what
        # they say. thumbnailTrouble: why none can be drawn. passthroughReason: why the kernel cannot read and write the
        # documents by itself.
        # relays: programs of these names count as serving others' files.
        # deaths: of this store's daemons, the last twenty, oldest first.
        type Status (
          pid: int,
          version: string,
          mode: string,
          system: bool,
          readOnly: bool,
          store: string,
          mountpoint: string,
          passthrough: bool,
          passthroughReason: ?string,
          gather: Gather,
          openSaves: []OpenSave,
          openWriters: []OpenWriter,
          coordination: Coordination,
          shares: []Share,
          relays: []string,
          thumbnailTrouble: ?string,
          deaths: []Death,
          counters: [string]int
        )

        # used: seconds since 1970.
        type Recent (path: string, used: float)

        # added: when it was marked, in seconds since 1970.
        type Favorite (path: string, folder: bool, added: float)

        # claimed: a claim is on the document; it may be changed through the mount.
        type Failure (path: string, message: string, claimed: ?bool)

        type Tag (name: string, count: int)

        method Status() -> (status: Status)

        # Renames a tag on every document that has it and that the caller may
        # reach; all of these must be the caller's to write, else none is changed. merge:
        # the new tag may be in use; the two become one then.
        method RenameTag(old: string, new: string, merge: ?bool) -> ()

        # Adds tags to documents that the caller may write, and removes others. A path that
        # fails keeps none of the others back.
        method ChangeTags(paths: []string, add: []string, remove: []string)
          -> (failures: []Failure)

        # Brings back the tags that the last bulk removal took; restored is the
        # number of documents that have them again.
        method UndoTagRemoval() -> (restored: int)

        # Newest first; 50 unless a limit is given, 1000 at most.
        method Recents(limit: ?int) -> (entries: []Recent)

        # Paths that are not among the recents are no error.
        method ForgetRecents(paths: []string) -> ()

        # Documents and folders that are there and that the caller may read; the one that
        # was marked last comes first.
        method Favorites() -> (entries: []Favorite)

        # Marks documents and folders. One that is marked already is no error. A path that
        # fails keeps none of the others back.
        method AddFavorites(paths: []string) -> (failures: []Failure)

        # A path that is not marked is a failure.
        method RemoveFavorites(paths: []string) -> (failures: []Failure)

        # Documents that the caller's user has used with programs that note it elsewhere.
        # What is not there, or later than now, is passed over.
        method NoteUses(entries: []Recent) -> ()

        method ListTags() -> (tags: []Tag)

        # What was named does not exist, or the caller may not know of it.
        error NotFound (what: string)

        error PermissionDenied (what: string)

        error Failed (message: string)

        # A message was longer than limit bytes; the connection is closed.
        error MessageTooLarge (limit: int)

        # This service, or the caller's user, has its full number of connections;
        # the connection is closed.
        error TooManyConnections (limit: int)

        """
}
