internal import GRDB
internal import StorePrimitives

/// The journal that lets a bulk removal of tags (`rm -r .tags`) be undone.
extension DocumentIndex {
    /// A removal this much later than the user's last one begins a batch of its own.
    public static let tagRemovalPause: Duration = .seconds(5)

    /// Batches kept for each user.
    static let tagRemovalBatchLimit = 20

    /// The user's last batch in which anything can still be brought back; nil if there is none.
    public func lastTagRemovalBatch(of user: UserID) throws(IndexError) -> TagRemovalBatch? {
        try read { db in
            let batches = try db.rows(
                "SELECT id, last FROM tag_removal_batch WHERE uid = ? ORDER BY id DESC", [Int64(user.rawValue)])
            for row in batches {
                let batch = try Self.batch(db, id: row.value(0), last: row.value(1))
                if !batch.removals.isEmpty || !batch.tags.isEmpty { return batch }
            }
            return nil
        }
    }

    private static func batch(_ db: Database, id: Int64, last: Int64) throws -> TagRemovalBatch {
        let documents = DocumentTable(db: db)
        var order: [Int64] = []
        var removed: [Int64: [Tag]] = [:]
        var tags: [Tag] = []
        for row in try db.rows("SELECT document, tag FROM tag_removal WHERE batch = ? ORDER BY id", [id]) {
            let tag = Tag(unchecked: try row.bytes(1) ?? [])
            if let document: Int64 = try row.optional(0) {
                if removed[document] == nil { order.append(document) }
                if !removed[document, default: []].contains(tag) { removed[document, default: []].append(tag) }
            } else if !tags.contains(tag) {
                tags.append(tag)
            }
        }
        let removals = try order.compactMap { id in
            try documents.row(id: id)?.document.map { TagRemovalBatch.Removal(document: $0, tags: removed[id] ?? []) }
        }
        return TagRemovalBatch(
            id: TagRemovalBatch.ID(rawValue: id), time: Timestamp(nanoseconds: last), removals: removals, tags: tags)
    }

    /// Forgets a batch: it was undone.
    public func clearBatch(_ id: TagRemovalBatch.ID) throws(IndexError) {
        try write { try $0.run("DELETE FROM tag_removal_batch WHERE id = ?", [id.rawValue]) }
    }
}

/// The removals of one transaction, which ends with `finish`.
struct TagRemovals {
    private let db: Database
    /// The batch of each user who has removed something.
    private var batches: [UserID: (id: Int64, last: Timestamp)] = [:]

    init(db: Database) { self.db = db }

    /// - Parameter document: the row that had the tags; nil for tags that were kept.
    mutating func note(_ tags: [Tag], from document: Int64?, by user: UserID, at now: Timestamp) throws {
        let batch = try batch(of: user, at: now)
        for tag in tags { try db.run("INSERT INTO tag_removal (batch, document, tag) VALUES (?, ?, ?)", [batch, document, tag.blob]) }
    }

    func finish() throws {
        for batch in batches.values { try db.run("UPDATE tag_removal_batch SET last = ? WHERE id = ?", [batch.last.nanoseconds, batch.id]) }
    }

    /// The user's batch this moment belongs to, made if there is none.
    private mutating func batch(of user: UserID, at now: Timestamp) throws -> Int64 {
        let last = try batches[user] ?? lastBatch(of: user)
        // A clock set back far is a pause, too.
        let goesOn = last.map { $0.last.advanced(by: DocumentIndex.tagRemovalPause) > now && now.advanced(by: DocumentIndex.tagRemovalPause) > $0.last }
        let id = if let last, goesOn == true { last.id } else { try newBatch(of: user, at: now) }
        batches[user] = (id, now)
        return id
    }

    private func lastBatch(of user: UserID) throws -> (id: Int64, last: Timestamp)? {
        try db.firstRow("SELECT id, last FROM tag_removal_batch WHERE uid = ? ORDER BY id DESC LIMIT 1", [Int64(user.rawValue)])
            .map { (try $0.value(0), Timestamp(nanoseconds: try $0.value(1))) }
    }

    private func newBatch(of user: UserID, at now: Timestamp) throws -> Int64 {
        let uid = Int64(user.rawValue)
        try db.run("INSERT INTO tag_removal_batch (uid, last) VALUES (?, ?)", [uid, now.nanoseconds])
        let id = db.lastInsertedRowID
        try db.run(
            """
            DELETE FROM tag_removal_batch WHERE uid = ?1 AND id NOT IN (
                SELECT id FROM tag_removal_batch WHERE uid = ?1 ORDER BY id DESC LIMIT ?2)
            """, [uid, DocumentIndex.tagRemovalBatchLimit])
        return id
    }
}
