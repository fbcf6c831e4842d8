internal import Foundation
internal import GRDB
internal import StorePrimitives

/// The marks of users, on the connection it was made for, inside the caller's transaction. A document is known by its id; a folder by
/// its path, as only folders that hold documents have rows.
struct FavoriteTable {
    let db: Database

    /// No error if it is one already.
    func add(document: Int64?, folder: StorePath?, by user: UserID, at time: Int64) throws {
        try db.run(
            "INSERT OR IGNORE INTO favorite (uid, document, folder, added) VALUES (?, ?, ?, ?)",
            [Int64(user.rawValue), document, folder?.blob, time])
    }

    func remove(document: Int64?, folder: StorePath, of user: UserID) throws -> Bool {
        try db.run("DELETE FROM favorite WHERE folder = ? AND uid = ?", [folder.blob, Int64(user.rawValue)])
        if db.changesCount > 0 { return true }
        guard let document else { return false }
        try db.run("DELETE FROM favorite WHERE document = ? AND uid = ?", [document, Int64(user.rawValue)])
        return db.changesCount > 0
    }

    /// A folder moved. What was marked at its new path is gone, if anything of it was marked.
    func move(_ from: StorePath, to: StorePath) throws {
        for mark in try marks(at: from) {
            try db.run("UPDATE OR REPLACE favorite SET folder = ? WHERE rowid = ?", [mark.folder.moved(from: from, to: to)?.blob, mark.id])
        }
    }

    /// Two entries changed places.
    func exchange(_ one: StorePath, _ other: StorePath) throws {
        let marks = (try marks(at: one).map { ($0, one, other) }) + (try marks(at: other).map { ($0, other, one) })
        // Each place is free before another mark takes it: no path has a NUL.
        for (mark, _, _) in marks { try db.run("UPDATE favorite SET folder = ? WHERE rowid = ?", [Data([0]) + mark.folder.blob, mark.id]) }
        for (mark, from, to) in marks {
            try db.run("UPDATE favorite SET folder = ? WHERE rowid = ?", [mark.folder.moved(from: from, to: to)?.blob, mark.id])
        }
    }

    /// The document or folder at a path is gone, with all in it. Documents that left keep their marks until they are forgotten.
    func drop(_ path: StorePath) throws {
        let range = path.rangeInside
        try db.run(
            "DELETE FROM favorite WHERE folder IS NOT NULL AND (folder = ? OR (folder >= ? AND folder < ?))", [path.blob, range.lower, range.upper])
    }

    /// Gives the marks of `other` to `document`.
    func merge(_ other: Int64, into document: Int64) throws {
        try db.run("UPDATE OR IGNORE favorite SET document = ? WHERE document = ?", [document, other])
    }

    private func marks(at path: StorePath) throws -> [(id: Int64, folder: StorePath)] {
        let range = path.rangeInside
        return try db.rows(
            "SELECT rowid, folder FROM favorite WHERE folder IS NOT NULL AND (folder = ? OR (folder >= ? AND folder < ?))",
            [path.blob, range.lower, range.upper]
        ).map { (try $0.value(0), StorePath(unchecked: try $0.bytes(1) ?? [])) }
    }
}

extension StorePath {
    var blob: Data { Data(bytes) }

    /// The first path inside this one, and the first that is behind them all: `lower <= path < upper`.
    fileprivate var rangeInside: (lower: Data, upper: Data) {
        let slash = UInt8(ascii: "/")
        return (Data(bytes + [slash]), Data(bytes + [slash + 1]))
    }
}
