public import StorePrimitives

/// What happened to an item of the store, as presenters and watchers are told.
public struct StoreEvent: Hashable, Sendable {
    public enum Kind: String, CaseIterable, Hashable, Sendable {
        /// Something new is there: made, or moved here from outside.
        case appeared
        /// Its content is another.
        case changed
        case moved
        /// Gone, or moved to the outside.
        case deleted
        /// Tags, comments, owner, mode or dates.
        case attributesChanged
        /// One more version of it can be had back, or one less (`quire recover`). Told to the document's owner.
        case versionGained
        case versionLost
        /// A save came to nothing: its document is as it was.
        case saveAborted

        /// Whether a name may stand for something else than before.
        public var changesNames: Bool {
            switch self {
            case .appeared, .changed, .moved, .deleted: true
            case .attributesChanged, .versionGained, .versionLost, .saveAborted: false
            }
        }
    }

    /// Who did it.
    public enum Origin: Hashable, Sendable {
        case process(id: Int32, user: UInt32, name: String)
        /// One of a user's, that is gone by now.
        case user(UInt32)
        /// It was done beneath or beside the mount, or it is not known by whom.
        case outside
    }

    /// Rises by one from event to event of a mount.
    public let sequence: UInt64
    public let kind: Kind
    /// The document's id, which survives moves; nil for folders, and as long as the index does not know it.
    public let document: Int64?
    public let path: StorePath
    /// Where it was before it was moved.
    public let oldPath: StorePath?
    /// For what gives a document other content: a number that rises with each version of it in this mount. Else nil.
    public var generation: UInt64? { kind == .changed || kind == .appeared ? sequence : nil }
    /// In nanoseconds since 1970.
    public let time: Int64
    public let origin: Origin
    /// The folders that `path` and `oldPath` were in: another one may have their place by now. Nil: not known.
    public let folder: FileIdentity?
    public let oldFolder: FileIdentity?
    /// The one user, besides root and who mounted, who is told; nil: whoever may list the folder.
    public let audience: UInt32?
    /// The number of the grant by which it was done; 0: by none.
    public let view: UInt32
    /// Of `.moved`: another document had the name, and `.changed` is told next.
    public let replaces: Bool

    public init(
        sequence: UInt64, kind: Kind, document: Int64?, path: StorePath, oldPath: StorePath?, time: Int64, origin: Origin,
        folder: FileIdentity? = nil, oldFolder: FileIdentity? = nil, audience: UInt32? = nil, view: UInt32 = 0, replaces: Bool = false
    ) {
        self.audience = audience
        self.replaces = replaces
        self.view = view
        self.sequence = sequence
        self.kind = kind
        self.document = document
        self.path = path
        self.oldPath = oldPath
        self.time = time
        self.folder = folder
        self.oldFolder = oldFolder
        self.origin = origin
    }

    /// How much of the place for events it takes: 1, and 1 more for each 256 bytes of its paths.
    public var weight: Int { Self.weight(path, oldPath) }

    public static func weight(_ path: StorePath, _ oldPath: StorePath?) -> Int {
        1 + (path.bytes.count + (oldPath?.bytes.count ?? 0)) / 256
    }

    /// What it is about.
    var places: [StorePath] { Self.places(path, oldPath) }

    public static func places(_ path: StorePath, _ oldPath: StorePath?) -> [StorePath] { [path] + (oldPath.map { [$0] } ?? []) }

    /// What somebody is told of it who may know of one place only.
    public func told(as kind: Kind, at path: StorePath) -> StoreEvent {
        StoreEvent(sequence: sequence, kind: kind, document: document, path: path, oldPath: nil, time: time, origin: origin)
    }

    /// Whether it is about an item, or about something in that folder.
    public func concerns(_ item: StorePath, contents: Bool) -> Bool {
        for place in [path, oldPath].compactMap({ $0 }) where place == item || contents && place.isInside(item) { return true }
        // A folder that was moved or deleted takes what is in it along.
        return (kind == .moved || kind == .deleted) && item.isInside(oldPath ?? path)
    }
}
