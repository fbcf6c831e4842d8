internal import Foundation
internal import GRDB
internal import StorePrimitives

/// The tags, who keeps them, and which documents have them, on the connection it was made for, inside the caller's
/// transaction.
struct TagTable {
    let db: Database
    /// Nil where users have no bounds.
    var room: Room?

    init(db: Database, room: Room? = nil) {
        self.db = db
        self.room = room
    }

    /// The row of a tag; made if there is none. Nil if the owner of the document it came with has no room for it.
    private func id(making tag: Tag, for owner: UInt32) throws -> Int64? {
        if let id = try id(of: tag) { return id }
        if let room, try !room.take(tag, for: owner) { return nil }
        if owner == 0 {
            // In the steps of `Schema` the table has no owners yet.
            try db.run("INSERT INTO tag (name) VALUES (?)", [tag.blob])
        } else {
            try db.run("INSERT INTO tag (name, owner) VALUES (?, ?)", [tag.blob, Int64(owner)])
        }
        return db.lastInsertedRowID
    }

    func id(of tag: Tag) throws -> Int64? { try db.integer("SELECT id FROM tag WHERE name = ?", [tag.blob]) }

    /// Enters a document that has none yet under the tags of the attribute's value.
    func index(_ value: [UInt8], of document: Int64, at path: StorePath, modified: Int64, for owner: UInt32) throws {
        let name = Self.name(of: path)
        for tag in Tag.parse(value).prefix(Tag.mostOfDocument) {
            guard let id = try id(making: tag, for: owner) else { continue }
            try db.run("INSERT INTO document_tag (tag, document, mtime, name) VALUES (?, ?, ?, ?)", [id, document, modified, name])
        }
    }

    func unindex(_ document: Int64) throws { try db.run("DELETE FROM document_tag WHERE document = ?", [document]) }

    /// The document has another name now.
    func rename(_ document: Int64, to path: StorePath) throws {
        try db.run("UPDATE document_tag SET name = ? WHERE document = ?", [Self.name(of: path), document])
    }

    private static func name(of path: StorePath) -> Data { Data(path.lastName?.bytes ?? []) }

    /// Makes a tag shown to a user though it is empty.
    ///
    /// - Parameter isOwned: false in the steps of `Schema`, where tags have no owners yet.
    func keep(_ tag: Tag, by user: UserID, isOwned: Bool = true) throws {
        // What users keep has bounds of its own, which the caller looks at.
        guard let id = try TagTable(db: db).id(making: tag, for: isOwned ? user.rawValue : 0) else { return }
        try db.run("INSERT OR IGNORE INTO tag_keeper (tag, uid) VALUES (?, ?)", [id, Int64(user.rawValue)])
    }

    /// The tag is no longer kept by the user, or with nil by anyone, and is gone if no document has it. No error if it was not kept.
    func stopKeeping(_ tag: Tag, by user: UserID?) throws {
        guard let id = try id(of: tag) else { return }
        try db.run("DELETE FROM tag_keeper WHERE tag = ?1 AND (?2 IS NULL OR uid = ?2)", [id, user.map { Int64($0.rawValue) }])
        try dropUnused("id = ?", [id])
    }

    /// Whether a tag, or one nested in it, is there.
    func isInUse(_ tag: Tag) throws -> Bool {
        let range = tag.nestedRange
        return try db.integer("SELECT 1 FROM tag WHERE name = ? OR (name >= ? AND name < ?) LIMIT 1", [tag.blob, range.lower, range.upper]) != nil
    }

    /// Renames a tag and those nested in it on all documents and for all who keep them. None of the new names is there.
    func renameAll(_ old: Tag, to new: Tag) throws {
        let range = old.nestedRange
        let affected = "SELECT id FROM tag WHERE name = ?1 OR (name >= ?2 AND name < ?3)"
        let values: [Value] = [old.blob, range.lower, range.upper]
        // One statement for all: a value that is read, renamed and written back by statements of its own costs twice the time.
        let renamed = DatabaseFunction("renamed_tags", argumentCount: 1) { values in
            values.first.flatMap { Data.fromDatabaseValue($0) }.map { value in Data(Tag.format(Tag.parse(Array(value)).map { $0.renamed(from: old, to: new) ?? $0 })) }
        }
        db.add(function: renamed)
        defer { db.remove(function: renamed) }
        try db.run(
            """
            UPDATE document SET tags = renamed_tags(tags)
            WHERE tags IS NOT NULL AND id IN (SELECT document FROM document_tag WHERE tag IN (\(affected)))
            """, values)
        for row in try db.rows("SELECT id, name FROM tag WHERE id IN (\(affected))", values) {
            let id: Int64 = try row.value(0)
            guard let name = Tag(unchecked: try row.bytes(1) ?? []).renamed(from: old, to: new) else { continue }
            // A row of its own, as the database counts what tags take when they come and go.
            try db.run("INSERT INTO tag (name, owner) SELECT ?, owner FROM tag WHERE id = ?", [name.blob, id])
            let renamed = db.lastInsertedRowID
            try db.run("UPDATE document_tag SET tag = ? WHERE tag = ?", [renamed, id])
            try db.run("UPDATE tag_keeper SET tag = ? WHERE tag = ?", [renamed, id])
            try db.run("DELETE FROM tag WHERE id = ?", [id])
        }
    }

    /// Forgets tags that nobody keeps and no document has.
    func dropUnused(_ condition: String = "TRUE", _ values: [Value] = []) throws {
        try db.run(
            """
            DELETE FROM tag WHERE \(condition) AND NOT EXISTS (SELECT 1 FROM tag_keeper WHERE tag = tag.id)
                AND NOT EXISTS (SELECT 1 FROM document_tag WHERE tag = tag.id)
            """, values)
    }
}
