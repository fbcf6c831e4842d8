public import StorePrimitives

/// Which file, as far as it can be told again after the machine was started anew: device numbers change, so there is none.
public struct DocumentIdentity: Hashable, Sendable {
    public let inode: UInt64
    /// Birth time in nanoseconds since 1970, 0 where the file system keeps none.
    public let birth: Int64
    /// The kernel's file handle (name_to_handle_at), empty where there is none.
    public let handle: [UInt8]

    public init(inode: UInt64, birth: Int64, handle: [UInt8] = []) {
        self.inode = inode
        self.birth = birth
        self.handle = handle
    }

    public init(_ identity: FileIdentity, handle: [UInt8] = []) {
        self.init(inode: identity.inode, birth: identity.birth, handle: handle)
    }

    /// Whether both name one file: inode and birth agree, and the handles do where both have one.
    public func isSameFile(as other: DocumentIdentity) -> Bool {
        inode == other.inode && birth == other.birth
            && (handle.isEmpty || other.handle.isEmpty || handle == other.handle)
    }
}

/// What a scan or a check of a document found: the caller reads it from the store, the index never does.
public struct ScannedDocument: Sendable, Equatable {
    public var path: StorePath
    public var identity: DocumentIdentity
    /// Hard links to the file.
    public var linkCount: UInt64
    /// The user who owns the file; nil if that was not read: what the index knew then stays.
    public var owner: UserID?
    /// In bytes.
    public var size: Int64
    public var modified: Timestamp
    /// Whether it is a package. Who wrote it last is known of writing through the mount alone.
    public var isPackage: Bool
    /// False for a package whose contents nobody has looked at: size and time of the index then stay.
    public var isMeasured: Bool
    /// In their order; nil if they were not read or the store keeps none: those of the index then stay.
    public var tags: [Tag]?
    /// The user who changed it, if it is another version than the one known; nil if that is not known.
    public var changedBy: UserID?

    public init(
        path: StorePath, identity: DocumentIdentity, linkCount: UInt64 = 1, owner: UserID? = nil, size: Int64,
        modified: Timestamp, isPackage: Bool = false, isMeasured: Bool = true, tags: [Tag]? = nil, changedBy: UserID? = nil
    ) {
        self.path = path
        self.identity = identity
        self.linkCount = linkCount
        self.owner = owner
        self.size = size
        self.modified = modified
        self.isPackage = isPackage
        self.isMeasured = isMeasured
        self.tags = tags
        self.changedBy = changedBy
    }
}

/// A document as the index knows it.
public struct Document: Sendable, Equatable {
    public let id: DocumentID
    public let path: StorePath
    public let identity: DocumentIdentity
    /// The user who owns the file.
    public let owner: UserID
    /// In bytes.
    public let size: Int64
    public let modified: Timestamp
    public let generation: ContentGeneration
    public let tags: [Tag]
}

/// A document in one user's recents.
public struct RecentUse: Sendable, Equatable {
    public let id: DocumentID
    public let path: StorePath
    public let used: Timestamp
    /// Whether the newest use was writing.
    public let written: Bool
}

/// A document that has a tag, as far as the tag's folder shows it.
public struct TagEntry: Sendable, Equatable {
    public let id: DocumentID
    public let path: StorePath
    public let modified: Timestamp
}

/// A tag, with how many documents have it.
public struct TagSummary: Sendable, Equatable {
    public let tag: Tag
    public let count: Int
    /// Who made it by hand: it shows to them though it is empty.
    public let creators: Set<UserID>

    public init(tag: Tag, count: Int, creators: Set<UserID> = []) {
        self.tag = tag
        self.count = count
        self.creators = creators
    }
}

/// How much of a tag a user may change.
public enum TagShare: Sendable {
    case all
    /// What the user keeps, and these documents.
    case of(UserID, documents: Set<DocumentID>)
}

/// Tags removed by one user without a pause, to be brought back together.
public struct TagRemovalBatch: Sendable, Equatable {
    public struct Removal: Sendable, Equatable {
        public let document: Document
        public let tags: [Tag]
    }

    public struct ID: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int64

        public init(rawValue: Int64) { self.rawValue = rawValue }
    }

    public let id: ID
    /// When its last removal was made.
    public let time: Timestamp
    /// The documents that are still there, in the order of the first removal from each.
    public let removals: [Removal]
    /// Tags themselves removed: those kept by hand, in the order of removal.
    public let tags: [Tag]
}
