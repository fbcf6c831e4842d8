internal import GRDB
public import StorePrimitives

/// A document or folder that a user has marked.
public struct Favorite: Sendable, Equatable {
    public let path: StorePath
    public let isFolder: Bool
    public let added: Timestamp

    public init(path: StorePath, isFolder: Bool, added: Timestamp) { (self.path, self.isFolder, self.added) = (path, isFolder, added) }
}

/// Favorites of users; `.favorites` lists them. A mark stays with its document or folder when that is moved or replaced by a save.
extension DocumentIndex {
    /// Documents that are there, and folders, which may be gone; the one that was marked last comes first. O(favorites).
    public func favorites(of user: UserID) throws(IndexError) -> [Favorite] {
        try read { db in
            let folders = FolderTable(db: db)
            let rows = try db.rows(
                """
                SELECT f.folder, f.added, d.folder, d.name FROM favorite f LEFT JOIN document d ON d.id = f.document
                WHERE f.uid = ? AND (f.folder IS NOT NULL OR d.folder IS NOT NULL) ORDER BY f.added DESC, f.rowid DESC
                """, [Int64(user.rawValue)])
            try folders.read(pathsOf: rows.compactMap { try $0.optional(2) })
            return try rows.compactMap { row in
                let added = Timestamp(nanoseconds: try row.value(1))
                if let folder = try row.bytes(0) { return Favorite(path: StorePath(unchecked: folder), isFolder: true, added: added) }
                guard let holder: Int64 = try row.optional(2), let name = try row.bytes(3) else { return nil }
                return Favorite(path: try folders.path(of: holder).appending(blob: name), isFolder: false, added: added)
            }
        }
    }

    /// When the user marked what is at a path; nil if it is not marked. O(log n).
    public func favorite(at path: StorePath, of user: UserID) throws(IndexError) -> Favorite? {
        try read { db in
            let uid = Int64(user.rawValue)
            if let added = try db.integer("SELECT added FROM favorite WHERE folder = ? AND uid = ?", [path.blob, uid]) {
                return Favorite(path: path, isFolder: true, added: Timestamp(nanoseconds: added))
            }
            guard let row = try DocumentTable(db: db).row(at: path) else { return nil }
            return try db.integer("SELECT added FROM favorite WHERE document = ? AND uid = ?", [row.id, uid])
                .map { Favorite(path: path, isFolder: false, added: Timestamp(nanoseconds: $0)) }
        }
    }

    /// Whether the user may mark one more.
    public func mayAddFavorite(_ user: UserID) throws(IndexError) -> Bool {
        let (own, all) = (try use(of: .favorites, by: user), try use(of: .favorites, by: nil))
        return BoundedResource.favorites.bound.hasRoom(for: 1, beside: own, of: all, user: bounds.accounts.owner(of: user.rawValue))
    }

    /// Marks a document, or a folder, which the caller has seen; no error if it is marked. Returns false for a document that is not known.
    public func addFavorite(_ favorite: Favorite, by user: UserID) throws(IndexError) -> Bool {
        try write { db in
            let document = favorite.isFolder ? nil : try DocumentTable(db: db).row(at: favorite.path)?.id
            guard favorite.isFolder || document != nil else { return false }
            try FavoriteTable(db: db).add(
                document: document, folder: favorite.isFolder ? favorite.path : nil, by: user, at: favorite.added.nanoseconds)
            return true
        }
    }

    /// Returns whether the document or folder was marked.
    public func removeFavorite(at path: StorePath, of user: UserID) throws(IndexError) -> Bool {
        try write { db in
            try FavoriteTable(db: db).remove(document: try DocumentTable(db: db).row(at: path)?.id, folder: path, of: user)
        }
    }
}
