internal import GRDB
public import StorePrimitives
internal import Synchronization

/// What users have in the index; see `IndexBounds`.
extension DocumentIndex {
    /// What the user has of a resource, and with nil all users; 0 of what is not the index's.
    public func use(of resource: SharedResource, by user: UserID?) throws(IndexError) -> Int {
        try read { db in
            switch (resource, user) {
            case (.indexBytes, let user?): try Room.use("bytes", by: user.rawValue, db)
            case (.indexBytes, nil): try Room.fileSize(db)
            case (.tags, let user?): try Room.use("tags", by: user.rawValue, db)
            case (.tags, nil): Int(clamping: try db.integer("SELECT count(*) FROM tag") ?? 0)
            case (.keptTags, let user?):
                Int(clamping: try db.integer("SELECT count(*) FROM tag_keeper WHERE uid = ?", [Int64(user.rawValue)]) ?? 0)
            case (.keptTags, nil): Int(clamping: try db.integer("SELECT count(*) FROM tag_keeper") ?? 0)
            default: 0
            }
        }
    }

    /// Documents of which the index does not know all, as it has no room for more of their owners', since the last gather of the whole
    /// store began.
    public var documentsLeftOut: Int { leftOut.load(ordering: .relaxed) }
}
