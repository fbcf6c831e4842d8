/// What the daemon answers for `org.quire.Recover`: versions that did not become, or did not stay, a document's content. Each
/// method decides by `peer`: a version is its document's owner's, and root's; for others it is not there.
public protocol RecoverService: Sendable {
    /// Newest first, those older than version `before`, and only so many that a reply stays small: empty when there are no
    /// more.
    func keptVersions(before: UInt64?, for peer: Peer) throws(ServiceFailure) -> [RecoverableVersion]

    /// The content of a version from `offset` on, `count` bytes at most.
    func keptContent(of id: UInt64, from offset: Int64, count: Int, for peer: Peer) throws(ServiceFailure) -> RecoveredPart

    func dropKeptVersion(_ id: UInt64, for peer: Peer) throws(ServiceFailure)

    /// Keeps the present content of a document that the peer may write. Returns the id of the version; nil if it is too large.
    func keepPresentVersion(of document: DocumentPath, for peer: Peer) throws(ServiceFailure) -> UInt64?
}

/// A version that can be had back.
public struct RecoverableVersion: Codable, Hashable, Sendable {
    /// The process that wrote it.
    public struct Saver: Codable, Hashable, Sendable {
        public var pid: Int32
        public var process: String
        public var uid: UInt32

        public init(pid: Int32, process: String, uid: UInt32) {
            self.pid = pid
            self.process = process
            self.uid = uid
        }
    }

    /// Rises from version to version of a store.
    public var id: UInt64
    /// Where the document stood.
    public var path: DocumentPath
    /// When it was kept, in seconds since 1970.
    public var time: Double
    /// In bytes.
    public var size: Int64
    /// False if it was too large to be kept.
    public var hasContent: Bool
    /// Nil if it is not known.
    public var saver: Saver?
    /// One word.
    public var reason: String
    /// The same as a part of a sentence.
    public var explanation: String
    /// The document's.
    public var owner: UInt32
    public var group: UInt32
    public var mode: UInt32

    public init(
        id: UInt64, path: DocumentPath, time: Double, size: Int64, hasContent: Bool, saver: Saver?, reason: String,
        explanation: String, owner: UInt32, group: UInt32, mode: UInt32
    ) {
        self.id = id
        self.path = path
        self.time = time
        self.size = size
        self.hasContent = hasContent
        self.saver = saver
        self.reason = reason
        self.explanation = explanation
        self.owner = owner
        self.group = group
        self.mode = mode
    }
}

/// A part of a version's content.
public struct RecoveredPart: Codable, Hashable, Sendable {
    /// Where it begins: later than was asked for if there is a hole, which reads as zeros.
    public var offset: Int64
    private var content: Base64Bytes

    /// Empty at the end; `offset` is the size then.
    public var bytes: [UInt8] { content.bytes }

    public init(offset: Int64, bytes: [UInt8]) {
        self.offset = offset
        content = Base64Bytes(bytes)
    }
}
