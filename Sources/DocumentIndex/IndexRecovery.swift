internal import Foundation
internal import GRDB
internal import StorePrimitives

/// What can be read from a damaged index of what a scan would not bring back: recents, kept tags, tag removals to undo,
/// and the documents these are about or that have tags (which in a store without extended attributes are nowhere else).
struct IndexRecovery {
    private struct Use {
        let uid: Int64
        let document: Int64
        let used: Int64
        let written: Bool
    }

    private struct Removal {
        let batch: Int64
        let document: Int64?
        let tag: [UInt8]
    }

    private var documents: [Int64: DocumentRow] = [:]
    private var keptTags: [(name: [UInt8], creator: Int64)] = []
    private var savedSearches: [(name: [UInt8], query: [UInt8], uid: Int64)] = []
    private var favorites: [(uid: Int64, document: Int64?, folder: [UInt8]?, added: Int64)] = []
    private var uses: [Use] = []
    private var batches: [(id: Int64, uid: Int64, last: Int64)] = []
    private var removals: [Removal] = []
    private var lastID: Int64 = 0
    private var epoch: Int64?

    /// Ids possibly given out that could not be read, a generous guess.
    private static let idGap: Int64 = 1 << 20

    /// Reads what can be read of the file; nothing, if it is no database or of another version.
    init(readingFrom path: String) {
        var configuration = Configuration()
        configuration.busyMode = .timeout(1)
        configuration.foreignKeysEnabled = false
        guard let queue = try? DatabaseQueue(path: path, configuration: configuration) else { return }
        queue.inDatabase { db in
            guard let version = try? Int.fetchOne(db, sql: "PRAGMA user_version"), (1...Schema.version).contains(version)
            else { return }
            read(db, version)
        }
        try? queue.close()
    }

    private mutating func read(_ db: Database, _ version: Int) {
        // The second is how version 1 had it.
        for select in ["SELECT name, uid FROM tag JOIN tag_keeper ON tag = id", "SELECT name, kept - 1 FROM tag WHERE kept"] {
            Self.each(db, select) { row in
                if let name = try row.bytes(0), Tag(name) != nil { keptTags.append((name, try row.value(1))) }
            }
        }
        Self.each(db, "SELECT name, query, uid FROM saved_search") { row in
            guard let name = try row.bytes(0), let query = try row.bytes(1), EntryName(name) != nil else { return }
            savedSearches.append((name, query, try row.value(2)))
        }
        Self.each(db, "SELECT uid, document, folder, added FROM favorite") {
            favorites.append((uid: try $0.value(0), document: try $0.optional(1), folder: try $0.bytes(2), added: try $0.value(3)))
        }
        Self.each(db, "SELECT uid, document, used, written FROM recent ORDER BY used DESC") {
            uses.append(Use(uid: try $0.value(0), document: try $0.value(1), used: try $0.value(2), written: try $0.value(3)))
        }
        if uses.isEmpty {
            // The sorting index may be what is damaged.
            Self.each(db, "SELECT uid, document, used, written FROM recent NOT INDEXED") {
                uses.append(Use(uid: try $0.value(0), document: try $0.value(1), used: try $0.value(2), written: try $0.value(3)))
            }
        }
        Self.each(db, "SELECT id, uid, last FROM tag_removal_batch") {
            batches.append((id: try $0.value(0), uid: try $0.value(1), last: try $0.value(2)))
        }
        Self.each(db, "SELECT batch, document, tag FROM tag_removal ORDER BY id") { row in
            if let tag = try row.bytes(2), Tag(tag) != nil {
                removals.append(Removal(batch: try row.value(0), document: try row.optional(1), tag: tag))
            }
        }
        // Until version 3 the path was in one column, and until version 5 there was none for the writer.
        var columns = DocumentRow.columns
        if version < 4 { columns = columns.replacing("d.owner, d.folder, d.name", with: "0, NULL, d.path") }
        if version < 6 { columns = columns.replacing("d.writer", with: "NULL") }
        let select = "SELECT \(columns) FROM document d NOT INDEXED WHERE "
        let folders = FolderTable(db: db)
        func document(_ row: Row) throws -> DocumentRow {
            // Where its folder cannot be told, the document is known again by its file.
            guard version < 4 else { return try (try? DocumentRow(row, folders)) ?? DocumentRow(row, path: nil) }
            return try DocumentRow(row, path: row.bytes(DocumentRow.nameColumn).map(StorePath.init(unchecked:)))
        }
        Self.each(db, select + "\(version < 4 ? "d.path" : "d.folder") IS NOT NULL AND d.tags <> x''") { row in
            let found = try document(row)
            documents[found.id] = found
        }
        for id in uses.map(\.document) + removals.compactMap(\.document) + favorites.compactMap(\.document) where documents[id] == nil {
            Self.each(db, select + "d.id = \(id)") { documents[id] = try document($0) }
        }
        Self.each(db, "SELECT seq FROM sqlite_sequence WHERE name = 'document'") { lastID = try $0.value(0) }
        // Ids go on from the last one, or far behind it: they mean the same documents as before.
        Self.each(db, "SELECT number FROM epoch") { epoch = try $0.value(0) }
        if lastID <= 0 { lastID = (documents.keys.max() ?? 0).adding(clamping: Self.idGap) }
    }

    /// Calls `body` for the rows before the first that cannot be read. Rows for which it throws, as their values are damaged, are
    /// passed over.
    private static func each(_ db: Database, _ sql: String, _ body: (Row) throws -> Void) {
        do {
            let rows = try Row.fetchCursor(db, sql: sql)
            while let row = try rows.next() { try? body(row) }
        } catch {}
    }

    /// Writes it into an empty index. Rows that contradict each other are left out.
    func restore(into db: Database) throws {
        let tags = TagTable(db: db)
        for (name, creator) in keptTags where creator >= 0 && creator <= UInt32.max {
            try tags.keep(Tag(unchecked: name), by: UserID(UInt32(clamping: creator)))
        }
        for (name, query, uid) in savedSearches where uid >= 0 && uid <= UInt32.max {
            try db.run("INSERT OR IGNORE INTO saved_search (uid, name, query) VALUES (?, ?, ?)", [uid, Data(name), Data(query)])
        }
        for document in documents.values.sorted(by: { $0.id < $1.id }) where document.id > 0 {
            try restore(document, into: db)
        }
        for use in uses where use.uid >= 0 && use.uid <= UInt32.max {
            try db.run(
                """
                INSERT OR IGNORE INTO recent (uid, document, used, written) SELECT ?, id, ?, ? FROM document WHERE id = ?
                """, [use.uid, use.used, use.written, use.document])
        }
        for mark in favorites where mark.uid >= 0 && mark.uid <= UInt32.max && (mark.folder.map { StorePath(parsing: $0)?.bytes == $0 } ?? true) {
            try db.run(
                """
                INSERT OR IGNORE INTO favorite (uid, document, folder, added) SELECT ?1, ?2, ?3, ?4
                WHERE ?2 IS NULL OR EXISTS (SELECT 1 FROM document WHERE id = ?2)
                """, [mark.uid, mark.document, mark.folder.map { Data($0) }, mark.added])
        }
        for batch in batches {
            try db.run(
                "INSERT OR IGNORE INTO tag_removal_batch (id, uid, last) VALUES (?, ?, ?)",
                [batch.id, batch.uid, batch.last])
        }
        for removal in removals {
            try db.run(
                """
                INSERT INTO tag_removal (batch, document, tag) SELECT ?1, ?2, ?3
                WHERE EXISTS (SELECT 1 FROM tag_removal_batch WHERE id = ?1)
                    AND (?2 IS NULL OR EXISTS (SELECT 1 FROM document WHERE id = ?2))
                """, [removal.batch, removal.document, Data(removal.tag)])
        }
        try db.run("DELETE FROM sqlite_sequence WHERE name = 'document'")
        try db.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('document', ?)", [lastID])
        if let epoch { try db.run("UPDATE epoch SET number = ?", [epoch]) }
        try Schema.countAnew(db)
    }

    /// With its id; as one that left, it is known again when its file is met. A path that is no path makes it one, too.
    private func restore(_ document: DocumentRow, into db: Database) throws {
        var row = document
        if let path = row.path, path.isRoot || StorePath(parsing: path.bytes) != path { row.path = nil }
        row.tags = row.tags.map { Tag.format(Tag.parse($0)) }
        try db.run(
            """
            INSERT OR IGNORE INTO document (id, inode, birth, size, mtime, generation, departed, owner)
            VALUES (?, 0, 0, 0, 0, 0, 1, 0)
            """, [row.id])
        if let path = row.path, try DocumentTable(db: db).row(at: path) != nil { row.path = nil }
        guard let empty = try DocumentTable(db: db).row(id: row.id) else { return }
        try DocumentTable(db: db).update(row, before: empty)
        if row.path == nil { try db.run("UPDATE document SET departed = 1 WHERE id = ?", [row.id]) }
    }
}
