internal import Foundation
internal import GRDB
internal import StorePrimitives

/// Rows of documents, and the tag table's copy of their tags. Every method is one or a few statements on the connection it
/// was made for, inside the caller's transaction. A transaction in which documents come or leave folders ends with `finish`.
struct DocumentTable {
    let db: Database
    let folders: FolderTable
    /// Nil where nobody's rows become more.
    let room: Room?

    init(db: Database, room: Room? = nil) {
        self.db = db
        self.room = room
        folders = FolderTable(db: db)
    }

    /// To be called at the end of a transaction that may have changed what is where.
    func finish() throws {
        try folders.dropEmpty()
        try room?.finish()
    }

    private static let selectOfID = select + "d.id = ?"
    private static let select = "SELECT \(DocumentRow.columns) FROM document d WHERE "

    func row(at path: StorePath) throws -> DocumentRow? {
        guard !path.isRoot else { return nil }
        guard let (number, values) = folders.condition(holding: path) else {
            guard try folders.id(holding: path) != nil else { return nil }
            return try row(at: path)
        }
        guard let found = try db.firstRow(Self.selects[number], values + [path.nameBlob]) else { return nil }
        let row = try DocumentRow(found, path: path)
        if let folder = row.folder { folders.note(folder, holding: path) }
        return row
    }

    // Without the signs SQLite puts the values into the expression, which is then not that of the index.
    private static let selectOfFile = select + "\(DocumentRow.identityKey) = ? AND +d.inode = ? AND +d.birth = ?"
    private static let selects = FolderTable.places.map { select + "d.folder = \($0) AND d.name = ?" }

    func row(id: Int64) throws -> DocumentRow? {
        try db.firstRow(Self.selectOfID, [id]).map { try DocumentRow($0, folders) }
    }

    /// All rows with the file's inode and birth, those that left first (the last one ahead), then the oldest first.
    func rows(of identity: DocumentIdentity) throws -> [DocumentRow] {
        try db.rows(
            Self.selectOfFile,
            [DocumentRow.identityKey(of: identity), Int64(bitPattern: identity.inode), identity.birth]
        ).map { try DocumentRow($0, folders) }.sorted {
            $0.departed == $1.departed ? $0.id < $1.id : $0.departed ?? .min > $1.departed ?? .min
        }
    }

    /// The row whose file this is: the one at the path, else the oldest elsewhere.
    func row(of identity: DocumentIdentity, at path: StorePath) throws -> DocumentRow? {
        if let row = try row(at: path), row.identity.isSameFile(as: identity) { return row }
        return try rows(of: identity).first { $0.path != nil && $0.identity.isSameFile(as: identity) }
    }

    /// The path of what is in the folder of this number; nil for a document that left.
    func path(folder: Int64?, name: [UInt8]?) throws -> StorePath? {
        guard let folder, let name else { return nil }
        return try folders.path(of: folder).appending(blob: name)
    }

    /// A new row; its path must be free. Returns its id; nil if its owner has no room for it.
    @discardableResult
    func insert(_ facts: ScannedDocument) throws -> Int64? {
        let tags = facts.tags.map { Tag.format($0.prefix(Tag.mostOfDocument)) }
        let owner = facts.owner?.rawValue ?? 0
        let bytes = DocumentRow.cost(name: facts.path.nameBlob.count, handle: facts.identity.handle, tags: tags)
        if let room, try !room.take(bytes: bytes, for: owner) { return nil }
        try db.run(
            """
            INSERT INTO document (folder, name, inode, birth, handle, size, mtime, generation, tags, owner)
            VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
            """,
            [
                folders.id(makingHolderOf: facts.path, for: owner), facts.path.nameBlob, Int64(bitPattern: facts.identity.inode),
                facts.identity.birth, Self.blob(facts.identity.handle), facts.size, facts.modified.nanoseconds, tags.map { Data($0) },
                Int64(owner),
            ])
        let id = db.lastInsertedRowID
        room?.charge(bytes, to: owner)
        if let tags, !tags.isEmpty {
            try tagTable.index(tags, of: id, at: facts.path, modified: facts.modified.nanoseconds, for: owner)
        }
        return id
    }

    private var tagTable: TagTable { TagTable(db: db, room: room) }

    /// Writes a row back; a path given makes a document that left be there again. `before` is the row as it was read. Returns whether
    /// all of it was: tags for which the owner has no room are not.
    @discardableResult
    func update(_ new: DocumentRow, before: DocumentRow) throws -> Bool {
        var row = new
        if let room, row.tags != before.tags, row.cost > before.cost, try !room.take(bytes: row.cost - before.cost, for: row.owner) {
            row.tags = before.tags
        }
        var folder = before.folder
        if row.path != before.path {
            folder = try row.path.map { try folders.id(makingHolderOf: $0, for: row.owner) }
            if let old = before.folder, old != folder { folders.noteLoss(from: old) }
        }
        if row.differsInTags(from: before) {
            try db.run("UPDATE document SET tags = ? WHERE id = ?", [row.tags.map { Data($0) }, row.id])
        } else {
            try writeBack(row, in: folder)
        }
        let indexed = before.path == nil ? [] : before.tags ?? []
        let tags = row.tags ?? []
        if indexed != tags || before.path != row.path {
            if !indexed.isEmpty { try tagTable.unindex(row.id) }
            if !tags.isEmpty, let path = row.path {
                try tagTable.index(tags, of: row.id, at: path, modified: row.modified, for: row.owner)
            }
        } else if !tags.isEmpty, before.modified != row.modified {
            try db.run("UPDATE document_tag SET mtime = ? WHERE document = ?", [row.modified, row.id])
        }
        return row.tags == new.tags
    }

    private func writeBack(_ row: DocumentRow, in folder: Int64?) throws {
        try db.run(
            """
            UPDATE document SET folder = ?, name = ?, inode = ?, birth = ?, handle = ?, size = ?, mtime = ?, generation = ?, tags = ?,
                departed = NULL, owner = ?, writer = ?
            WHERE id = ?
            """,
            [
                folder, row.path?.nameBlob, Int64(bitPattern: row.identity.inode), row.identity.birth, Self.blob(row.identity.handle),
                row.size, row.modified, row.generation, row.tags.map { Data($0) }, Int64(row.owner), row.writer, row.id,
            ])
    }

    /// - Parameter row: as it was read.
    func setWriter(_ user: UserID, of row: DocumentRow) throws {
        let writer = Int64(user.rawValue)
        if row.writer != writer { try db.run("UPDATE document SET writer = ? WHERE id = ?", [writer, row.id]) }
    }

    /// Ends the row `other` in favour of `id`, which gets its uses, marks and the tag removals to be undone.
    func merge(_ other: Int64, into id: Int64) throws {
        try RecentTable(db: db).merge(other, into: id)
        try db.run("UPDATE tag_removal SET document = ? WHERE document = ?", [id, other])
        try FavoriteTable(db: db).merge(other, into: id)
        try noteLoss(of: other)
        try db.run("DELETE FROM document WHERE id = ?", [other])
    }

    func depart(_ id: Int64) throws {
        try TagTable(db: db).unindex(id)
        try noteLoss(of: id)
        try db.run("UPDATE document SET folder = NULL, name = NULL, departed = ? WHERE id = ?", [nextDeparture(), id])
    }

    private func noteLoss(of id: Int64) throws {
        if let folder = try db.integer("SELECT folder FROM document WHERE id = ?", [id]) { folders.noteLoss(from: folder) }
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

    static func blob(_ handle: [UInt8]) -> Data? { handle.isEmpty ? nil : Data(handle) }
}

/// Whole folders.
extension DocumentTable {
    private func id(at path: StorePath) throws -> Int64? {
        guard !path.isRoot, let folder = try folders.id(holding: path) else { return nil }
        return try db.integer("SELECT id FROM document WHERE folder = ? AND name = ?", [folder, path.nameBlob])
    }

    /// Behind `FolderTable.inside`.
    private static let documentsInside = "inside i CROSS JOIN document d ON d.folder = i.id"

    /// The ids at the path and, if `inside`, under it.
    func ids(at path: StorePath, inside: Bool) throws -> [Int64] {
        // The index of places has all of them, in a small part of the pages.
        if path.isRoot { return inside ? try db.integers("SELECT id FROM document WHERE folder >= 0") : [] }
        var ids = try id(at: path).map { [$0] } ?? []
        if inside, let folder = try folders.id(of: path) {
            ids += try db.integers(FolderTable.inside + "SELECT d.id FROM \(Self.documentsInside)", [folder])
        }
        return ids
    }

    /// Whether there is a document at the path or, if `inside`, under it.
    func knows(at path: StorePath, inside: Bool) throws -> Bool {
        if try id(at: path) != nil { return true }
        guard inside, let folder = try folders.id(of: path) else { return false }
        return try db.integer(FolderTable.inside + "SELECT 1 FROM \(Self.documentsInside) LIMIT 1", [folder]) != nil
    }

    /// The paths of the documents under a path.
    func paths(inside path: StorePath) throws -> [StorePath] {
        guard let folder = try folders.id(of: path) else { return [] }
        let rows = try db.rows(FolderTable.inside + "SELECT d.folder, d.name FROM \(Self.documentsInside)", [folder])
        try folders.read(pathsOf: rows.compactMap { try $0.optional(0) })
        return try rows.compactMap { try self.path(folder: $0.optional(0), name: $0.bytes(1)) }
    }

    /// Makes the documents at the path and inside it ones that left. Returns how many, and whether any had tags.
    func depart(at path: StorePath) throws -> (count: Int, hadTags: Bool) {
        let next = try nextDeparture()
        var count = 0
        var hadTags = false
        if let id = try id(at: path) {
            try TagTable(db: db).unindex(id)
            hadTags = db.changesCount > 0
            try noteLoss(of: id)
            try db.run("UPDATE document SET folder = NULL, name = NULL, departed = ? WHERE id = ?", [next, id])
            count += 1
        }
        guard let folder = try folders.id(of: path) else { return (count, hadTags) }
        try db.run(
            """
            DELETE FROM document_tag WHERE document IN (
                \(FolderTable.inside) SELECT d.id FROM \(Self.documentsInside) WHERE d.tags <> x'')
            """, [folder])
        if db.changesCount > 0 { hadTags = true }
        try db.run(
            """
            UPDATE document SET folder = NULL, name = NULL, departed = ?2
            WHERE id IN (\(FolderTable.inside.replacing("(?)", with: "(?1)")) SELECT d.id FROM \(Self.documentsInside))
            """, [folder, next])
        count += db.changesCount
        try folders.drop(path)
        return (count, hadTags)
    }

    /// Deletes the documents at the path and, if `inside`, under it: another file took their place.
    func delete(at path: StorePath, inside: Bool) throws {
        if let id = try id(at: path) {
            try noteLoss(of: id)
            try db.run("DELETE FROM document WHERE id = ?", [id])
        }
        guard inside, let folder = try folders.id(of: path) else { return }
        try db.run("DELETE FROM document WHERE id IN (\(FolderTable.inside) SELECT d.id FROM \(Self.documentsInside))", [folder])
        try folders.drop(path)
    }

    /// Gives the documents at `old` and, if `inside`, under it their places at `new`, where none may be. Those whose paths become
    /// longer than any may be depart; returns how many. O(folders in it) for a path that grows, else O(1).
    @discardableResult
    func move(_ old: StorePath, to new: StorePath, inside: Bool) throws -> Int {
        var departed = 0
        if let moved = try row(at: old) {
            var there = moved
            there.path = new
            let folder = try folders.id(makingHolderOf: new, for: moved.owner)
            try db.run("UPDATE document SET folder = ?, name = ? WHERE id = ?", [folder, new.nameBlob, moved.id])
            if let old = moved.folder { folders.noteLoss(from: old) }
            try TagTable(db: db).rename(moved.id, to: new)
            if new.bytes.count > StorePath.longest {
                try depart(moved.id)
                departed += 1
            }
        }
        guard inside else { return departed }
        try folders.move(old, to: new)
        return new.bytes.count > old.bytes.count ? departed + (try departTooLong(inside: new)) : departed
    }

    /// Returns how many.
    private func departTooLong(inside path: StorePath) throws -> Int {
        guard let folder = try folders.id(of: path) else { return 0 }
        let ids = try db.integers(
            FolderTable.insideWithLengths + """
                SELECT d.id FROM \(Self.documentsInside)
                WHERE i.length >= \(StorePath.longest - EntryName.maximumLength) AND i.length + 1 + length(d.name) > \(StorePath.longest)
                """, [folder, path.bytes.count])
        for id in ids { try depart(id) }
        return ids.count
    }
}
