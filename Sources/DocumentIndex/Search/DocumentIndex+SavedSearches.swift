internal import Foundation
internal import GRDB
public import StorePrimitives

/// The queries that users keep, by which `.search` lists them.
extension DocumentIndex {
    /// In the order of their bytes.
    public func savedSearches(of user: UserID) throws(IndexError) -> [EntryName] {
        try read { db in
            try db.rows("SELECT name FROM saved_search WHERE uid = ? ORDER BY name", [Int64(user.rawValue)])
                .compactMap { EntryName(try $0.bytes(0) ?? []) }
        }
    }

    /// Whether the user may keep one more.
    public func maySaveSearch(_ user: UserID) throws(IndexError) -> Bool {
        let (own, all) = (try use(of: .savedSearches, by: user), try use(of: .savedSearches, by: nil))
        return BoundedResource.savedSearches.bound.hasRoom(for: 1, beside: own, of: all, user: bounds.accounts.owner(of: user.rawValue))
    }

    /// No error if it was kept before.
    public func saveSearch(_ name: EntryName, by user: UserID) throws(IndexError) {
        try write { try $0.run("INSERT OR IGNORE INTO saved_search (uid, name) VALUES (?, ?)", [Int64(user.rawValue), Data(name.bytes)]) }
    }

    /// Returns whether it was kept.
    public func forgetSearch(_ name: EntryName, of user: UserID) throws(IndexError) -> Bool {
        try write { db in
            try db.run("DELETE FROM saved_search WHERE uid = ? AND name = ?", [Int64(user.rawValue), Data(name.bytes)])
            return db.changesCount > 0
        }
    }
}
