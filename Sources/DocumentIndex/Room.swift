internal import GRDB
public import StorePrimitives

/// Whether users may have more in the index. What their rows take is counted by the database (`Schema`), so that nothing is missed, but
/// for rows of documents that are made.
///
/// Of one transaction: what others have at its beginning stays as it is.
final class Room {
    private let db: Database
    private let bounds: IndexBounds
    private var bytes: [UInt32: Int] = [:]
    private var bytesOfAll: Int?
    private var tags: [UInt32: Int] = [:]
    private var tagsOfAll: Int?
    /// Bytes of rows made.
    private var made: [UInt32: Int] = [:]

    init(db: Database, bounds: IndexBounds) {
        self.db = db
        self.bounds = bounds
    }

    /// Counts `more` bytes for the owner. False, and nothing counted, if there is no room for them. Root has its own share alone.
    func take(bytes more: Int, for owner: UInt32) throws -> Bool {
        let own = try bytes[owner] ?? bounds.bytes.forUser - Self.use("bytes", by: owner, db)
        let all = owner == 0 ? Int.max : try bytesOfAll ?? bounds.bytes.forAll - Self.fileSize(db)
        (bytes[owner], bytesOfAll) = (own, owner == 0 ? bytesOfAll : all)
        guard more <= own, more <= all else { return false }
        bytes[owner] = own - more
        if owner != 0 { bytesOfAll = all - more }
        return true
    }

    /// Counts a row that was made, which the database does not: it would take a tenth of the time of a gather.
    func charge(_ bytes: Int, to owner: UInt32) { made[owner] = (made[owner] ?? 0).adding(clamping: bytes) }

    /// Writes down what was charged. To be called at the end of a transaction.
    func finish() throws {
        for (owner, bytes) in made {
            try db.run(
                "INSERT INTO share (uid, bytes, tags) VALUES (?, ?, 0) ON CONFLICT (uid) DO UPDATE SET bytes = bytes + excluded.bytes",
                [Int64(owner), bytes])
        }
        made = [:]
    }

    /// The same for a tag that no document had.
    func take(_ tag: Tag, for owner: UInt32) throws -> Bool {
        let own = try tags[owner] ?? bounds.tags.forUser - Self.use("tags", by: owner, db)
        let all = owner == 0 ? Int.max : try tagsOfAll ?? bounds.tags.forAll - Int(clamping: db.integer("SELECT count(*) FROM tag") ?? 0)
        (tags[owner], tagsOfAll) = (own, owner == 0 ? tagsOfAll : all)
        guard own > 0, all > 0, try take(bytes: 100 + 2 * tag.bytes.count, for: owner) else { return false }
        tags[owner] = own - 1
        if owner != 0 { tagsOfAll = all - 1 }
        return true
    }

    /// What is counted for a user.
    static func use(_ column: String, by user: UInt32, _ db: Database) throws -> Int {
        // Less than nothing is had in a damaged file alone.
        max(0, try Int(clamping: db.integer("SELECT \(column) FROM share WHERE uid = ?", [Int64(user)]) ?? 0))
    }

    /// In bytes, without what is free.
    static func fileSize(_ db: Database) throws -> Int {
        let pages = try (db.integer("PRAGMA page_count") ?? 0) - (db.integer("PRAGMA freelist_count") ?? 0)
        return try Int(clamping: pages.multiplied(clamping: db.integer("PRAGMA page_size") ?? 4_096))
    }
}

/// What users may have in an index; see `SharedResource`.
public struct IndexBounds: Sendable {
    /// In bytes. What a user has is reckoned from the rows of their documents, what all have is what the file has in use.
    public var bytes = SharedResource.indexBytes.bound
    /// Different tags that came with documents.
    public var tags = SharedResource.tags.bound

    public init() {}
}
