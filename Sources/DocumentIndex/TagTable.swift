internal import Foundation
internal import GRDB

/// The tags, and which documents have them, on the connection it was made for, inside the caller's transaction.
struct TagTable {
    let db: Database

    /// The row of a tag; made if there is none.
    func id(making tag: Tag) throws -> Int64 {
        if let id = try id(of: tag) { return id }
        try db.run("INSERT INTO tag (name) VALUES (?)", [tag.blob])
        return db.lastInsertedRowID
    }

    func id(of tag: Tag) throws -> Int64? { try db.integer("SELECT id FROM tag WHERE name = ?", [tag.blob]) }

    /// Enters a document that has none yet under the tags of the attribute's value.
    func index(_ value: [UInt8], of document: Int64, modified: Int64) throws {
        for tag in Tag.parse(value) {
            try db.run(
                "INSERT INTO document_tag (tag, document, mtime) VALUES (?, ?, ?)", [id(making: tag), document, modified])
        }
    }

    func unindex(_ document: Int64) throws { try db.run("DELETE FROM document_tag WHERE document = ?", [document]) }

    /// Makes a tag shown to a user though it is empty. The first who keeps it is remembered.
    func keep(_ tag: Tag, by user: UserID) throws {
        try db.run("UPDATE tag SET kept = ? WHERE id = ? AND NOT kept", [Int64(user.rawValue) + 1, id(making: tag)])
    }

    /// Whether the tag itself shows: it is kept, or documents have it.
    func isShown(_ tag: Tag) throws -> Bool {
        try db.integer(
            "SELECT 1 FROM tag t WHERE name = ? AND (kept OR EXISTS (SELECT 1 FROM document_tag WHERE tag = t.id))",
            [tag.blob]) != nil
    }

    func hasDocuments(_ tag: Tag) throws -> Bool {
        try db.integer("SELECT 1 FROM document_tag WHERE tag = (SELECT id FROM tag WHERE name = ?) LIMIT 1", [tag.blob])
            != nil
    }

    /// Whether a tag that shows nests in `tag`.
    func hasNested(_ tag: Tag) throws -> Bool {
        let range = tag.nestedRange
        return try db.integer(
            """
            SELECT 1 FROM tag t WHERE name >= ? AND name < ?
                AND (kept OR EXISTS (SELECT 1 FROM document_tag WHERE tag = t.id)) LIMIT 1
            """, [range.lower, range.upper]) != nil
    }

    /// Forgets tags that are neither kept nor had by a document.
    func dropUnused() throws {
        try db.run("DELETE FROM tag WHERE NOT kept AND NOT EXISTS (SELECT 1 FROM document_tag WHERE tag = tag.id)")
    }
}
