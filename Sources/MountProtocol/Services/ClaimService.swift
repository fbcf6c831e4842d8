/// What the daemon answers for `org.quire.Coordination`.
public protocol ClaimService: Sendable {
    /// Whether asking for a claim waits for nothing, not even the disk.
    func isBrief(_ request: ClaimCall, for peer: Peer) -> Bool
    /// Asks for a claim. `wake` is called, on any thread, when it is decided.
    func claim(
        _ request: ClaimCall, for peer: Peer, wake: @escaping @Sendable () -> Void
    ) throws(ServiceFailure) -> any ServedClaim
}

/// A claim of one peer, from the request on.
public protocol ServedClaim: AnyObject, Sendable {
    /// Nil as long as it waits. Throws when it was refused: it has ended then.
    func outcome() throws(ServiceFailure) -> GrantedClaim?
    /// Ends it, also while it waits. Throws `.notPublished` if what was saved within it was to be published and was not.
    /// - Parameter pictures: of what is published, if the claim's holder has made any.
    func end(_ end: ClaimEnd, pictures: [DocumentPicture]) throws(ServiceFailure)
    /// Whether ending it waits for nothing, not even the disk.
    var endsAtOnce: Bool { get }
}

extension ServedClaim {
    package func end(_ end: ClaimEnd) throws(ServiceFailure) { try self.end(end, pictures: []) }
}

/// A picture of a document that who writes it has made: an image file.
public struct DocumentPicture: Codable, Hashable, Sendable {
    public var path: DocumentPath
    private var image: Base64Bytes

    public var bytes: [UInt8] { image.bytes }

    /// Bytes of all pictures of a claim: they are sent in one message.
    public static let mostBytes = 512 << 10

    public init(path: DocumentPath, bytes: [UInt8]) {
        self.path = path
        image = Base64Bytes(bytes)
    }
}

/// What becomes of what was saved within a claim.
public enum ClaimEnd: Sendable {
    case published
    case discarded
    /// The connection was lost, or what worked within the claim was killed.
    case lost
}

/// What is claimed.
public struct ClaimCall: Codable, Hashable, Sendable {
    public struct Intent: Codable, Hashable, Sendable {
        public enum Access: String, Codable, Hashable, Sendable {
            case reading
            case writing
        }

        public var path: DocumentPath
        public var access: Access
        /// `immediately`, `withoutChanges`, `metadataOnly`, `live`; of writers `merging`, `replacing`, `moving`, `deleting`,
        /// `contents`, `metadataOnly`.
        public var options: [String]?

        public init(path: DocumentPath, access: Access, options: [String]? = nil) {
            (self.path, self.access, self.options) = (path, access, options)
        }
    }

    public var intents: [Intent]
    /// Claims of one purpose and user never wait for each other.
    public var purpose: String?
    /// A claim of the same connection, which is held until this one is decided.
    public var within: UInt64?
    /// In seconds; nil: as long as the mount has opens wait.
    public var timeout: Double?

    /// How long a client waits for the answer. The mount's own timeout is not known to it: a day is longer.
    public var longestWait: Duration { .seconds((timeout ?? 86_400) + 10) }

    public init(intents: [Intent], purpose: String? = nil, within: UInt64? = nil, timeout: Double? = nil) {
        (self.intents, self.purpose, self.within, self.timeout) = (intents, purpose, within, timeout)
    }
}

public struct GrantedClaim: Codable, Hashable, Sendable {
    public var claim: UInt64
    /// Where the items to be read are, as they were when the claim was granted: for each intent in order; nil for one that has
    /// no snapshot.
    public var snapshots: [DocumentPath?]

    public init(claim: UInt64, snapshots: [DocumentPath?] = []) { (self.claim, self.snapshots) = (claim, snapshots) }
}
