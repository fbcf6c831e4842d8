internal import GRDB
public import StorePrimitives

/// Whether users may have more in the index. What their rows take is counted by the database (`Schema`), so that nothing is missed, but
/// for rows of documents that are made.
///
/// Of one transaction: what others have at its beginning stays as it is.
final class Room {
    private let db: Database
    private let bounds: IndexBounds
    /// The amounts of accounts, and of all together, with those taken here.
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
        let account = bounds.accounts.owner(of: owner)
        let own = try bytes[account] ?? Self.use("bytes", by: account, bounds.accounts, db)
        let all = account == 0 ? 0 : try bytesOfAll ?? Self.fileSize(db)
        let hasRoom = bounds.bytes.hasRoom(for: more, beside: own, of: all, user: account)
        bytes[account] = hasRoom ? own.adding(clamping: more) : own
        if account != 0 { bytesOfAll = hasRoom ? all.adding(clamping: more) : all }
        return hasRoom
    }

    /// Counts a row that was made, which the database does not: it would take a tenth of the time of a scan.
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
        let account = bounds.accounts.owner(of: owner)
        let own = try tags[account] ?? Self.use("tags", by: account, bounds.accounts, db)
        let all = account == 0 ? 0 : try tagsOfAll ?? Int(clamping: db.integer("SELECT count(*) FROM tag") ?? 0)
        (tags[account], tagsOfAll) = (own, account == 0 ? tagsOfAll : all)
        guard bounds.tags.hasRoom(for: 1, beside: own, of: all, user: account), try take(bytes: 100 + 2 * tag.bytes.count, for: owner)
        else { return false }
        tags[account] = own + 1
        if account != 0 { tagsOfAll = all + 1 }
        return true
    }

    /// The amount that is counted for the user ids of an account.
    static func use(_ column: String, by account: UInt32, _ accounts: Accounts, _ db: Database) throws -> Int {
        // Only a damaged file has negative amounts, or such whose sum does not fit.
        let amount = "sum(min(max(\(column), 0), \(Int64(1) << 40)))"
        return try sum(amount, "share", of: account, accounts, db)
    }

    /// The sum of something over a table's rows of an account's user ids.
    static func sum(_ amount: String, _ table: String, of account: UInt32, _ accounts: Accounts, _ db: Database) throws -> Int {
        try accounts.users(of: account).reduce(0) { sum, users in
            let values: [Value] = [Int64(users.lowerBound), Int64(users.upperBound)]
            let found = try db.integer("SELECT \(amount) FROM \(table) WHERE uid BETWEEN ? AND ?", values) ?? 0
            return sum.adding(clamping: Int(clamping: found))
        }
    }

    /// In bytes, without what is free.
    static func fileSize(_ db: Database) throws -> Int {
        let pages = try (db.integer("PRAGMA page_count") ?? 0) - (db.integer("PRAGMA freelist_count") ?? 0)
        return try Int(clamping: pages.multiplied(clamping: db.integer("PRAGMA page_size") ?? 4_096))
    }
}

/// What users may have in an index; see `BoundedResource`.
public struct IndexBounds: Sendable {
    /// In bytes. What a user has is reckoned from the rows of their documents, what all have is what the file has in use.
    public var bytes = BoundedResource.indexBytes.bound
    /// Different tags that came with documents.
    public var tags = BoundedResource.tags.bound
    /// User ids of one account have one share.
    public var accounts = Accounts()

    public init() {}
}
