internal import GRDB
internal import StorePrimitives

/// A row of the table of documents.
struct DocumentRow {
    let id: Int64
    /// Nil for a document that left.
    var path: StorePath?
    /// Where it is, as it was read.
    let folder: Int64?
    var identity: DocumentIdentity
    var size: Int64
    var modified: Int64
    var generation: Int64
    /// The attribute's value; nil if never told.
    var tags: [UInt8]?
    /// The user who owns the file, 0 if never told.
    var owner: UInt32
    /// The user who wrote the content through a mount; nil if that is not known.
    var writer: Int64?

    /// Grows with each document that leaves; nil for those that are there.
    let departed: Int64?

    /// The columns, in the order `init` takes them.
    static let columns = "d.id, d.inode, d.birth, d.handle, d.size, d.mtime, d.generation, d.tags, d.owner, d.folder, d.name, d.departed, d.writer"

    static let nameColumn: Int = 10

    /// - Parameter path: nil if it is still to be found out.
    init(_ row: Row, path: StorePath?) throws {
        id = try row.value(0)
        identity = DocumentIdentity(inode: UInt64(bitPattern: try row.value(1)), birth: try row.value(2), handle: try row.bytes(3) ?? [])
        size = try row.value(4)
        modified = try row.value(5)
        generation = try row.value(6)
        tags = try row.bytes(7)
        owner = UInt32(clamping: try row.value(8) as Int64)
        folder = try row.optional(9)
        departed = try row.optional(11)
        writer = try row.optional(12)
        self.path = path
    }

    init(_ row: Row, _ folders: FolderTable) throws {
        try self.init(row, path: nil)
        if let folder, let name = try row.bytes(Self.nameColumn) { path = try folders.path(of: folder).appending(blob: name) }
    }

    /// What the index of identities is made of: 21 bits of the inode and 10 of the birth, in units of about a millisecond. As a column
    /// of its own it would be kept twice, and the two whole would take 16 bytes.
    static let identityKey = "((inode & 2097151) << 10 | (birth >> 20 & 1023))"

    static func identityKey(of identity: DocumentIdentity) -> Int64 {
        (Int64(bitPattern: identity.inode) & 0x1F_FFFF) << 10 | (identity.birth >> 20 & 0x3FF)
    }

    /// Nil for a document that left.
    var document: Document? {
        path.map {
            Document(
                id: DocumentID(rawValue: id), path: $0, identity: identity, owner: UserID(owner), size: size,
                modified: Timestamp(nanoseconds: modified), generation: ContentGeneration(rawValue: generation),
                tags: tags.map(Tag.parse) ?? [])
        }
    }

    /// What the row takes; see `Schema`, which counts the same.
    var cost: Int { Self.cost(name: path?.nameBlob.count, handle: identity.handle, tags: tags) }

    static func cost(name: Int?, handle: [UInt8], tags: [UInt8]?) -> Int {
        let bytes = 160 + 2 * (name ?? 0) + handle.count
        guard let name, let tags, !tags.isEmpty else { return bytes }
        return bytes + tags.count + (100 + 2 * name) * (1 + tags.count { $0 == UInt8(ascii: ",") })
    }

    /// Whether the tags are all that is another. Of documents that are there.
    func differsInTags(from other: DocumentRow) -> Bool {
        path != nil && path == other.path && tags != other.tags && identity == other.identity && size == other.size && modified == other.modified
            && generation == other.generation && owner == other.owner && writer == other.writer
    }

    /// Where the document is and what tags it has there; nil if it has none, or left.
    var tagsAndPath: [[UInt8]]? {
        guard let path, let tags, !tags.isEmpty else { return nil }
        return [path.bytes, tags]
    }

    /// Takes over what was seen of the file; changed content is a new generation. Returns whether anything changed that others are
    /// told of.
    mutating func take(_ facts: ScannedDocument) -> Bool {
        if let told = facts.owner { owner = told.rawValue }
        let sameFile = identity.isSameFile(as: facts.identity)
        let contentChanged = !sameFile || facts.isMeasured && (size != facts.size || modified != facts.modified.nanoseconds)
        let newTags = facts.tags.map { Tag.format($0.prefix(Tag.mostOfDocument)) } ?? tags
        let learntHandle = sameFile && identity.handle.isEmpty && !facts.identity.handle.isEmpty
        guard contentChanged || learntHandle || newTags != tags else { return false }
        if contentChanged {
            generation &+= 1
            writer = facts.changedBy.map { Int64($0.rawValue) } ?? (facts.isPackage ? writer : nil)
        }
        if !sameFile || learntHandle { identity = facts.identity }
        if facts.isMeasured { (size, modified) = (facts.size, facts.modified.nanoseconds) }
        tags = newTags
        return true
    }

    /// Whether a file of this identity is this row's file; see `DocumentIndex`.
    func isFile(of other: DocumentIdentity, size: Int64, modified: Int64) -> Bool {
        guard identity.isSameFile(as: other) else { return false }
        let haveHandles = !identity.handle.isEmpty && !other.handle.isEmpty
        // Clocks tick in milliseconds: a file and the next one in its inode can have the same birth time.
        return haveHandles || (path != nil && identity.birth != 0) || (self.size == size && self.modified == modified)
    }

    func isFile(of facts: ScannedDocument) -> Bool {
        isFile(of: facts.identity, size: facts.size, modified: facts.modified.nanoseconds)
    }
}
