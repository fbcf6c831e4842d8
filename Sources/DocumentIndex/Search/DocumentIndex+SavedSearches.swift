internal import Foundation
internal import GRDB
public import StorePrimitives

/// A query that a user keeps under a name.
public struct SavedSearch: Hashable, Sendable {
    public let name: EntryName
    public let query: String

    public init(name: EntryName, query: String) { (self.name, self.query) = (name, query) }
}

/// The queries that users keep; `.search` lists them.
extension DocumentIndex {
    /// In the order of their names' bytes.
    public func savedSearches(of user: UserID) throws(IndexError) -> [SavedSearch] {
        try read { db in
            try db.rows("SELECT name, query FROM saved_search WHERE uid = ? ORDER BY name", [Int64(user.rawValue)]).compactMap { row in
                let query = String(decoding: try row.bytes(1) ?? [], as: UTF8.self)
                return EntryName(try row.bytes(0) ?? []).map { SavedSearch(name: $0, query: query) }
            }
        }
    }

    /// The query that a user keeps under a name; nil if there is none. O(log n).
    public func savedSearch(_ name: EntryName, of user: UserID) throws(IndexError) -> String? {
        try read { db in
            try db.firstRow("SELECT query FROM saved_search WHERE uid = ? AND name = ?", [Int64(user.rawValue), Data(name.bytes)])
                .map { String(decoding: try $0.bytes(0) ?? [], as: UTF8.self) }
        }
    }

    /// Whether the user may keep one more.
    public func maySaveSearch(_ user: UserID) throws(IndexError) -> Bool {
        let (own, all) = (try use(of: .savedSearches, by: user), try use(of: .savedSearches, by: nil))
        return BoundedResource.savedSearches.bound.hasRoom(for: 1, beside: own, of: all, user: bounds.accounts.owner(of: user.rawValue))
    }

    /// A query that was kept under the name goes.
    public func saveSearch(_ search: SavedSearch, by user: UserID) throws(IndexError) {
        try write { try Self.save(search, by: user, $0) }
    }

    private static func save(_ search: SavedSearch, by user: UserID, _ db: Database) throws {
        try db.run(
            "INSERT OR REPLACE INTO saved_search (uid, name, query) VALUES (?, ?, ?)",
            [Int64(user.rawValue), Data(search.name.bytes), Data(search.query.utf8)])
    }

    /// Keeps a query in place of the one under `name`. Returns whether there was one; if not, nothing is changed.
    public func replaceSearch(_ name: EntryName, by search: SavedSearch, of user: UserID) throws(IndexError) -> Bool {
        try write { db in
            guard try Self.forget(name, of: user, db) else { return false }
            try Self.save(search, by: user, db)
            return true
        }
    }

    /// Returns whether there was one.
    public func forgetSearch(_ name: EntryName, of user: UserID) throws(IndexError) -> Bool {
        try write { try Self.forget(name, of: user, $0) }
    }

    private static func forget(_ name: EntryName, of user: UserID, _ db: Database) throws -> Bool {
        try db.run("DELETE FROM saved_search WHERE uid = ? AND name = ?", [Int64(user.rawValue), Data(name.bytes)])
        return db.changesCount > 0
    }
}
