internal import Foundation
internal import GRDB
internal import StorePrimitives

/// The tags, who keeps them, and which documents have them, on the connection it was made for, inside the caller's
/// transaction.
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
    func index(_ value: [UInt8], of document: Int64, at path: StorePath, modified: Int64) throws {
        let name = Self.name(of: path)
        for tag in Tag.parse(value) {
            try db.run(
                "INSERT INTO document_tag (tag, document, mtime, name) VALUES (?, ?, ?, ?)",
                [id(making: tag), document, modified, name])
        }
    }

    func unindex(_ document: Int64) throws { try db.run("DELETE FROM document_tag WHERE document = ?", [document]) }

    /// The document has another name now.
    func rename(_ document: Int64, to path: StorePath) throws {
        try db.run("UPDATE document_tag SET name = ? WHERE document = ?", [Self.name(of: path), document])
    }

    private static func name(of path: StorePath) -> Data { Data(path.lastName?.bytes ?? []) }

    /// Makes a tag shown to a user though it is empty.
    func keep(_ tag: Tag, by user: UserID) throws {
        try db.run("INSERT OR IGNORE INTO tag_keeper (tag, uid) VALUES (?, ?)", [id(making: tag), Int64(user.rawValue)])
    }

    /// Forgets tags that nobody keeps and no document has.
    func dropUnused() throws {
        try db.run(
            """
            DELETE FROM tag WHERE NOT EXISTS (SELECT 1 FROM tag_keeper WHERE tag = tag.id)
                AND NOT EXISTS (SELECT 1 FROM document_tag WHERE tag = tag.id)
            """)
    }
}
