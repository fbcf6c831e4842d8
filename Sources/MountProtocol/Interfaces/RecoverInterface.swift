/// `org.quire.Recover`: what `quire recover` asks for. A large document may have to be copied: clients wait for a minute.
public enum RecoverInterface {
    package static let name = "org.quire.Recover"

    public static let list = ServiceMethod<ListRequest, ListReply>(name, "List", timeout: .seconds(60))
    public static let read = ServiceMethod<ReadRequest, RecoveredPart>(name, "Read", timeout: .seconds(60))
    public static let drop = ServiceMethod<Named, Empty>(name, "Drop", timeout: .seconds(60))
    public static let keep = ServiceMethod<KeepRequest, KeepReply>(name, "Keep", isLong: true, timeout: .seconds(60))

    public struct ListRequest: Codable, Sendable {
        /// Versions older than this one; nil: all.
        package let before: UInt64?
        public init(before: UInt64? = nil) { self.before = before }
    }
    public struct ListReply: Codable, Sendable {
        /// Newest first; empty when there are no more.
        public let versions: [RecoverableVersion]
        package init(versions: [RecoverableVersion]) { self.versions = versions }
    }
    public struct ReadRequest: Codable, Sendable {
        package let id: UInt64
        package let offset: Int64
        package let count: Int?
        public init(_ id: UInt64, from offset: Int64, count: Int? = nil) { (self.id, self.offset, self.count) = (id, offset, count) }
    }
    public struct Named: Codable, Sendable {
        package let id: UInt64
        public init(_ id: UInt64) { self.id = id }
    }
    public struct KeepRequest: Codable, Sendable {
        package let path: DocumentPath
        public init(_ path: DocumentPath) { self.path = path }
    }
    public struct KeepReply: Codable, Sendable {
        /// Of the version; nil if the document is too large.
        public let id: UInt64?
        package init(id: UInt64?) { self.id = id }
    }

    /// What one reply holds at most: a third more in base64.
    package static let mostBytes = 256 << 10

    package static let text = """
        # Versions of documents that can be had back for some days: what was written
        # by saves that failed or were killed, and what lost against another save.
        #
        # A version is its document's owner's, and root's; for others there is none.
        # Paths are as in org.quire.Mount, errors are those of org.quire.Mount.
        #
        # To restore a version, read it and write it to the document through the
        # mount, as any program would.
        interface org.quire.Recover

        type Saver (pid: int, process: string, uid: int)

        # path: where the document stood. time: seconds since 1970. hasContent: false
        # if it was too large to be kept. saver: who wrote it, if that is known.
        # reason: killed, relay-ended, write-error, publish-error, overtaken, relayed,
        # replaced, removed, unpublished, unfinished, edited, restored. explanation: the same in words.
        # owner, group, mode: the document's.
        type Version (
          id: int,
          path: string,
          time: float,
          size: int,
          hasContent: bool,
          saver: ?Saver,
          reason: string,
          explanation: string,
          owner: int,
          group: int,
          mode: int
        )

        # Newest first; those older than the version before, if it is given. A reply
        # holds some hundred; an empty one says that there are no more.
        method List(before: ?int) -> (versions: []Version)

        # Content from offset on, in base64: count bytes at most, 262144 unless given.
        # The reply's offset is later than the one asked for if there is a hole in
        # between, which reads as zeros. At the end content is empty, and offset is
        # the size.
        method Read(id: int, offset: int, count: ?int) -> (offset: int, content: string)

        method Drop(id: int) -> ()

        # Keeps the present content of a document which the caller may write, for
        # its owner, before another version is restored over it. No id: it is too
        # large.
        method Keep(path: string) -> (id: ?int)

        """
}
