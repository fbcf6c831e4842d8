internal import Foundation
internal import GRDB
internal import StorePrimitives

/// A row of the table.
struct DocumentRow {
    let id: Int64
    /// Nil for a document that left.
    var path: StorePath?
    var identity: DocumentIdentity
    var size: Int64
    var modified: Int64
    var generation: Int64
    /// The attribute's value; nil if never told.
    var tags: [UInt8]?

    /// The columns, in the order `init(_:)` takes them.
    static let columns = "d.id, d.path, d.inode, d.birth, d.handle, d.size, d.mtime, d.generation, d.tags"

    init(_ row: Row) throws {
        id = try row.value(0)
        path = try row.bytes(1).map(StorePath.init(unchecked:))
        identity = DocumentIdentity(inode: UInt64(bitPattern: try row.value(2)), birth: try row.value(3), handle: try row.bytes(4) ?? [])
        size = try row.value(5)
        modified = try row.value(6)
        generation = try row.value(7)
        tags = try row.bytes(8)
    }

    /// Nil for a document that left.
    var document: Document? {
        path.map {
            Document(
                id: DocumentID(rawValue: id), path: $0, identity: identity, size: size,
                modified: Timestamp(nanoseconds: modified), generation: ContentGeneration(rawValue: generation),
                tags: tags.map(Tag.parse) ?? [])
        }
    }

    /// Where the document is and what tags it has there; nil if it has none, or left.
    var tagsAndPath: [[UInt8]]? {
        guard let path, let tags, !tags.isEmpty else { return nil }
        return [path.bytes, tags]
    }

    /// Takes over what was seen of the file; changed content is a new generation. Returns whether anything changed.
    mutating func take(_ facts: DocumentFacts) -> Bool {
        let sameFile = identity.isSameFile(as: facts.identity)
        let contentChanged = !sameFile || size != facts.size || modified != facts.modified.nanoseconds
        let newTags = facts.tags.map { Tag.format($0) } ?? tags
        let learntHandle = sameFile && identity.handle.isEmpty && !facts.identity.handle.isEmpty
        guard contentChanged || learntHandle || newTags != tags else { return false }
        if contentChanged { generation &+= 1 }
        if !sameFile || learntHandle { identity = facts.identity }
        size = facts.size
        modified = facts.modified.nanoseconds
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

    func isFile(of facts: DocumentFacts) -> Bool {
        isFile(of: facts.identity, size: facts.size, modified: facts.modified.nanoseconds)
    }
}

/// Rows of documents, and the tag table's copy of their tags. Every method is one or a few statements on the connection it
/// was made for, inside the caller's transaction.
struct DocumentTable {
    let db: Database

    private static let select = "SELECT \(DocumentRow.columns) FROM document d WHERE "

    func row(at path: StorePath) throws -> DocumentRow? {
        try db.firstRow(Self.select + "d.path = ?", [path.blob]).map(DocumentRow.init)
    }

    func row(id: Int64) throws -> DocumentRow? {
        try db.firstRow(Self.select + "d.id = ?", [id]).map(DocumentRow.init)
    }

    /// All rows with the file's inode and birth, those that left first (the last one ahead), then the oldest first.
    func rows(of identity: DocumentIdentity) throws -> [DocumentRow] {
        try db.rows(
            Self.select + "d.inode = ? AND d.birth = ? ORDER BY d.departed IS NULL, d.departed DESC, d.id",
            [Int64(bitPattern: identity.inode), identity.birth]
        ).map(DocumentRow.init)
    }

    /// A new row; its path must be free. Returns its id.
    @discardableResult
    func insert(_ facts: DocumentFacts) throws -> Int64 {
        let tags = facts.tags.map { Tag.format($0) }
        try db.run(
            """
            INSERT INTO document (path, inode, birth, handle, size, mtime, generation, tags)
            VALUES (?, ?, ?, ?, ?, ?, 1, ?)
            """,
            [
                facts.path.blob, Int64(bitPattern: facts.identity.inode), facts.identity.birth,
                Self.blob(facts.identity.handle),
                facts.size, facts.modified.nanoseconds, tags.map { Data($0) },
            ])
        let id = db.lastInsertedRowID
        if let tags, !tags.isEmpty {
            try TagTable(db: db).index(tags, of: id, at: facts.path, modified: facts.modified.nanoseconds)
        }
        return id
    }

    /// Writes a row back; a path given makes a document that left be there again. `before` is the row as it was read.
    func update(_ row: DocumentRow, before: DocumentRow) throws {
        try db.run(
            """
            UPDATE document SET path = ?, inode = ?, birth = ?, handle = ?, size = ?, mtime = ?, generation = ?, tags = ?,
                departed = NULL
            WHERE id = ?
            """,
            [
                row.path?.blob, Int64(bitPattern: row.identity.inode), row.identity.birth, Self.blob(row.identity.handle),
                row.size, row.modified, row.generation, row.tags.map { Data($0) }, row.id,
            ])
        let indexed = before.path == nil ? [] : before.tags ?? []
        let tags = row.tags ?? []
        if indexed != tags || before.path != row.path {
            let table = TagTable(db: db)
            if !indexed.isEmpty { try table.unindex(row.id) }
            if !tags.isEmpty, let path = row.path { try table.index(tags, of: row.id, at: path, modified: row.modified) }
        } else if !tags.isEmpty, before.modified != row.modified {
            try db.run("UPDATE document_tag SET mtime = ? WHERE document = ?", [row.modified, row.id])
        }
    }

    func delete(_ id: Int64) throws { try db.run("DELETE FROM document WHERE id = ?", [id]) }

    /// Ends the row `other` in favour of `id`, which gets its uses and the tag removals to be undone.
    func merge(_ other: Int64, into id: Int64) throws {
        try RecentTable(db: db).merge(other, into: id)
        try db.run("UPDATE tag_removal SET document = ? WHERE document = ?", [id, other])
        try delete(other)
    }
}

/// Whole folders: ranges of paths.
extension DocumentTable {
    /// The ids at the path and, if `inside`, under it.
    func ids(at path: StorePath, inside: Bool) throws -> [Int64] {
        var ids = path.isRoot ? [] : try db.integers("SELECT id FROM document WHERE path = ?", [path.blob])
        if inside {
            let range = path.insideRange
            ids += try db.integers("SELECT id FROM document WHERE path >= ? AND path < ?", [range.lower, range.upper])
        }
        return ids
    }

    /// Whether there is a document at the path or, if `inside`, under it.
    func knows(at path: StorePath, inside: Bool) throws -> Bool {
        guard inside else { return try db.integer("SELECT 1 FROM document WHERE path = ?", [path.blob]) != nil }
        let range = path.insideRange
        return try db.integer(
            "SELECT 1 FROM document WHERE path = ? OR (path >= ? AND path < ?) LIMIT 1",
            [path.blob, range.lower, range.upper]) != nil
    }

    /// The paths of the documents under a path.
    func paths(inside path: StorePath) throws -> [StorePath] {
        let range = path.insideRange
        return try db.rows("SELECT path FROM document WHERE path >= ? AND path < ?", [range.lower, range.upper])
            .map { StorePath(unchecked: try $0.bytes(0) ?? []) }
    }

    /// Makes the documents at the path and inside it ones that left. Returns how many, and whether any had tags.
    func depart(at path: StorePath) throws -> (count: Int, hadTags: Bool) {
        let range = path.insideRange
        let inside = "(path = ? OR (path >= ? AND path < ?))"
        let values: [Value] = [path.blob, range.lower, range.upper]
        try db.run(
            "DELETE FROM document_tag WHERE document IN (SELECT id FROM document WHERE tags <> x'' AND \(inside))", values)
        let hadTags = db.changesCount > 0
        let next = try nextDeparture()
        try db.run("UPDATE document SET path = NULL, departed = ? WHERE \(inside)", [next] + values)
        return (db.changesCount, hadTags)
    }

    /// The same for those inside whose paths have become longer than any may be. Returns how many.
    func departTooLong(inside path: StorePath) throws -> Int {
        let range = path.insideRange
        let ids = try db.integers(
            "SELECT id FROM document WHERE path >= ? AND path < ? AND length(path) > ?", [range.lower, range.upper, StorePath.longest])
        for id in ids { try depart(id) }
        return ids.count
    }

    func depart(_ id: Int64) throws {
        try TagTable(db: db).unindex(id)
        try db.run("UPDATE document SET path = NULL, departed = ? WHERE id = ?", [nextDeparture(), id])
    }

    private func nextDeparture() throws -> Int64 {
        // The condition makes the partial index usable.
        try (db.integer("SELECT max(departed) FROM document WHERE departed IS NOT NULL") ?? 0).adding(clamping: 1)
    }

    /// Forgets all but the last `limit` documents that left.
    func trimDeparted(to limit: Int) throws {
        try db.run(
            """
            DELETE FROM document WHERE id IN (
                SELECT id FROM document WHERE departed IS NOT NULL ORDER BY departed DESC, id DESC LIMIT -1 OFFSET ?)
            """, [limit])
    }

    /// Deletes the documents at the path and, if `inside`, under it: another file took their place.
    func delete(at path: StorePath, inside: Bool) throws {
        try db.run("DELETE FROM document WHERE path = ?", [path.blob])
        guard inside else { return }
        let range = path.insideRange
        try db.run("DELETE FROM document WHERE path >= ? AND path < ?", [range.lower, range.upper])
    }

    /// Gives the documents at `old` and, if `inside`, under it their places at `new`, where none may be.
    func move(_ old: Data, to new: Data, inside: Bool) throws {
        if let moved = try db.integer("SELECT id FROM document WHERE path = ?", [old]) {
            try db.run("UPDATE document SET path = ? WHERE id = ?", [new, moved])
            try TagTable(db: db).rename(moved, to: StorePath(unchecked: [UInt8](new)))
        }
        guard inside else { return }
        let range = StorePath(unchecked: [UInt8](old)).insideRange
        // Concatenating BLOBs gives text of the same bytes, whatever they are; the cast makes it a BLOB again.
        try db.run(
            "UPDATE document SET path = CAST(? || substr(path, ?) AS BLOB) WHERE path >= ? AND path < ?",
            [new, old.count + 1, range.lower, range.upper])
    }

    static func blob(_ handle: [UInt8]) -> Data? { handle.isEmpty ? nil : Data(handle) }
}
