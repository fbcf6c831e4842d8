internal import GRDB
public import StorePrimitives
internal import Synchronization

/// What users have in the index; see `IndexBounds`.
extension DocumentIndex {
    /// How much of a resource the user's account has, or with nil all users; 0 for a resource that the index does not count.
    public func use(of resource: BoundedResource, by user: UserID?) throws(IndexError) -> Int {
        try read { try use(of: resource, by: user, $0) }
    }

    func use(of resource: BoundedResource, by user: UserID?, _ db: Database) throws -> Int {
        let accounts = bounds.accounts
        return switch (resource, user.map { accounts.owner(of: $0.rawValue) }) {
        case (.indexBytes, let account?): try Room.use("bytes", by: account, accounts, db)
        case (.indexBytes, nil): try Room.fileSize(db)
        case (.tags, let account?): try Room.use("tags", by: account, accounts, db)
        case (.tags, nil): Int(clamping: try db.integer("SELECT count(*) FROM tag") ?? 0)
        case (.keptTags, let account?): try Room.sum("count(*)", "tag_keeper", of: account, accounts, db)
        case (.keptTags, nil): Int(clamping: try db.integer("SELECT count(*) FROM tag_keeper") ?? 0)
        case (.savedSearches, let account?): try Room.sum("count(*)", "saved_search", of: account, accounts, db)
        case (.savedSearches, nil): Int(clamping: try db.integer("SELECT count(*) FROM saved_search") ?? 0)
        case (.favorites, let account?): try Room.sum("count(*)", "favorite", of: account, accounts, db)
        case (.favorites, nil): Int(clamping: try db.integer("SELECT count(*) FROM favorite") ?? 0)
        default: 0
        }
    }

    /// Documents of which the index does not know all, as it has no room for more of their owners', since the last scan of the
    /// whole store began.
    public var documentsLeftOut: Int { leftOut.load(ordering: .relaxed) }
}
