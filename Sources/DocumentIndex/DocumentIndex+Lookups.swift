internal import GRDB
public import StorePrimitives

extension DocumentIndex {
    /// The document at the path; nil if none is known there. O(log n).
    public func document(at path: StorePath) throws(IndexError) -> Document? {
        try read { try DocumentTable(db: $0).row(at: path)?.document }
    }

    /// The document whose file this is: the one at the path, else one elsewhere; nil if none is known. O(log n).
    public func document(of identity: DocumentIdentity, at path: StorePath) throws(IndexError) -> Document? {
        try read { try DocumentTable(db: $0).row(of: identity, at: path)?.document }
    }

    /// The document of this id; nil if it is gone or never was. O(log n).
    public func document(id: DocumentID) throws(IndexError) -> Document? {
        try read { try DocumentTable(db: $0).row(id: id.rawValue)?.document }
    }

    /// The number of this index's ids: an index that was made anew gives the same ids to other documents.
    public func epoch() throws(IndexError) -> Int64 { try read { try $0.integer("SELECT number FROM epoch") ?? 0 } }

    /// Whether a document is known at the path or, if that is a folder, inside it. O(log n).
    public func knows(at path: StorePath) throws(IndexError) -> Bool {
        try read { db in
            // Between transactions there is something in each folder.
            let table = DocumentTable(db: db)
            return try table.folders.id(of: path).map { $0 != FolderTable.root } ?? false || table.knows(at: path, inside: path.isRoot)
        }
    }

    /// How many documents are known. O(n): about 5 ms for 100,000.
    public func count() throws(IndexError) -> Int {
        try read { try Int($0.integer("SELECT count(*) FROM document WHERE folder >= 0") ?? 0) }
    }

    /// What the user used last, newest first. O(limit).
    public func recents(of user: UserID, limit: Int) throws(IndexError) -> [RecentUse] {
        try read { db in
            let folders = FolderTable(db: db)
            let rows = try db.rows(
                """
                SELECT d.id, r.used, r.written, d.folder, d.name FROM recent r JOIN document d ON d.id = r.document
                WHERE r.uid = ? AND d.folder IS NOT NULL ORDER BY r.used DESC, r.document DESC LIMIT ?
                """, [Int64(user.rawValue), limit])
            try folders.read(pathsOf: rows.map { try $0.value(3) })
            return try rows.map { row in
                RecentUse(
                    id: DocumentID(rawValue: try row.value(0)),
                    path: try folders.path(of: row.value(3)).appending(blob: row.bytes(4) ?? []),
                    used: Timestamp(nanoseconds: try row.value(1)), written: try row.value(2))
            }
        }
    }

    /// When the user used the document last; nil if it is not in the recents.
    public func recentUse(of path: StorePath, by user: UserID) throws(IndexError) -> RecentUse? {
        try read { db in
            guard !path.isRoot, let folder = try FolderTable(db: db).id(of: path.parent) else { return nil }
            return try db.firstRow(
                """
                SELECT d.id, r.used, r.written FROM document d JOIN recent r ON r.document = d.id
                WHERE d.folder = ? AND d.name = ? AND r.uid = ?
                """, [folder, path.nameBlob, Int64(user.rawValue)]
            ).map { row in
                RecentUse(
                    id: DocumentID(rawValue: try row.value(0)), path: path, used: Timestamp(nanoseconds: try row.value(1)), written: try row.value(2))
            }
        }
    }

    /// Until when uses of the document by the user, told of by others, are old: those that the index knows, or that the user has had forgotten.
    public func lastKnownUse(of path: StorePath, by user: UserID) throws(IndexError) -> Timestamp? {
        let used = try recentUse(of: path, by: user)?.used
        return try read { db in
            guard let row = try DocumentTable(db: db).row(at: path) else { return used }
            let forgotten = try db.integer("SELECT at FROM recent_forgotten WHERE uid = ? AND document = ?", [Int64(user.rawValue), row.id])
            return [used, forgotten.map { Timestamp(nanoseconds: $0) }].compactMap { $0 }.max()
        }
    }

    /// Takes the document out of the user's recents. Returns whether it was there.
    @discardableResult
    public func forgetRecent(_ id: DocumentID, of user: UserID) throws(IndexError) -> Bool {
        try write { db in
            try RecentTable(db: db).forget(id.rawValue, by: user)
            return db.changesCount > 0
        }
    }

    /// As `forgetRecent(_:of:)`, by path.
    @discardableResult
    public func forgetRecent(at path: StorePath, of user: UserID) throws(IndexError) -> Bool {
        try write { db in
            guard let row = try DocumentTable(db: db).row(at: path) else { return false }
            try RecentTable(db: db).forget(row.id, by: user)
            return db.changesCount > 0
        }
    }

    public func forgetAllRecents(of user: UserID) throws(IndexError) {
        try write { try $0.run("DELETE FROM recent WHERE uid = ?", [Int64(user.rawValue)]) }
    }
}
