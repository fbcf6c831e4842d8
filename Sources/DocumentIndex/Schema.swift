internal import GRDB
internal import StorePrimitives

/// The tables, and the steps from each version to the next.
///
/// Names and paths are BLOBs: they compare by bytes. Times are nanoseconds since 1970.
enum Schema {
    /// Marks the file as Quire's: "Quir".
    static let applicationID = 0x5175_6972

    static var version: Int { steps.count }

    static let tables: Set<String> = [
        "document", "tag", "tag_keeper", "document_tag", "recent", "recent_before", "tag_removal_batch", "tag_removal",
    ]

    /// Step n leads from version n to n + 1. A step that was ever released is never changed.
    private static let steps: [@Sendable (Database) throws -> Void] = [
        { try $0.execute(sql: documentsTagsAndRecents) },
        { try addKeepersAndNames(to: $0) },
        { try $0.execute(sql: "CREATE INDEX tag_keeper_user ON tag_keeper (uid)") },
    ]

    private static let documentsTagsAndRecents = """
        -- path is NULL for a document that left: if its file comes back, it is known again.
        -- tags is the attribute's value: NULL if never told, empty if there are none.
        CREATE TABLE document (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            path BLOB UNIQUE,
            inode INTEGER NOT NULL,
            birth INTEGER NOT NULL,
            handle BLOB,
            size INTEGER NOT NULL,
            mtime INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            tags BLOB,
            departed INTEGER
        );
        CREATE INDEX document_identity ON document (inode, birth);
        CREATE INDEX document_departed ON document (departed) WHERE departed IS NOT NULL;

        CREATE TABLE tag (
            id INTEGER PRIMARY KEY,
            name BLOB NOT NULL UNIQUE,
            -- 0, or one more than the uid of who keeps the tag though it may be empty.
            kept INTEGER NOT NULL DEFAULT 0
        );

        -- The tags of documents that are there, once more the other way round; mtime is the sort key.
        CREATE TABLE document_tag (
            tag INTEGER NOT NULL REFERENCES tag (id) ON DELETE CASCADE,
            document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
            mtime INTEGER NOT NULL,
            PRIMARY KEY (tag, document)
        ) WITHOUT ROWID;
        CREATE INDEX document_tag_document ON document_tag (document);
        CREATE INDEX document_tag_newest ON document_tag (tag, mtime, document);

        CREATE TABLE recent (
            uid INTEGER NOT NULL,
            document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
            used INTEGER NOT NULL,
            written INTEGER NOT NULL,
            PRIMARY KEY (uid, document)
        ) WITHOUT ROWID;
        CREATE INDEX recent_newest ON recent (uid, used, document);
        CREATE INDEX recent_document ON recent (document);

        -- Earlier uses, to go back to when the newest is retracted.
        CREATE TABLE recent_before (
            uid INTEGER NOT NULL,
            document INTEGER NOT NULL,
            used INTEGER NOT NULL,
            written INTEGER NOT NULL,
            PRIMARY KEY (uid, document, used),
            FOREIGN KEY (uid, document) REFERENCES recent (uid, document) ON DELETE CASCADE
        ) WITHOUT ROWID;

        CREATE TABLE tag_removal_batch (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            uid INTEGER NOT NULL,
            last INTEGER NOT NULL
        );
        CREATE INDEX tag_removal_batch_uid ON tag_removal_batch (uid, id);

        -- document is NULL where the tag itself was removed.
        CREATE TABLE tag_removal (
            id INTEGER PRIMARY KEY,
            batch INTEGER NOT NULL REFERENCES tag_removal_batch (id) ON DELETE CASCADE,
            document INTEGER REFERENCES document (id) ON DELETE CASCADE,
            tag BLOB NOT NULL
        );
        CREATE INDEX tag_removal_of_batch ON tag_removal (batch);
        CREATE INDEX tag_removal_document ON tag_removal (document);
        """

    /// A tag is kept by any number of users, and a document is found by its name in a tag.
    private static func addKeepersAndNames(to db: Database) throws {
        let kept = try db.rows("SELECT name, kept - 1 FROM tag WHERE kept").map { (try $0.bytes(0) ?? [], UserID(try $0.value(1))) }
        try db.execute(
            sql: """
                DROP TABLE document_tag;
                DROP TABLE tag;
                CREATE TABLE tag (
                    id INTEGER PRIMARY KEY,
                    name BLOB NOT NULL UNIQUE
                );

                -- Who keeps a tag though it may be empty.
                CREATE TABLE tag_keeper (
                    tag INTEGER NOT NULL REFERENCES tag (id) ON DELETE CASCADE,
                    uid INTEGER NOT NULL,
                    PRIMARY KEY (tag, uid)
                ) WITHOUT ROWID;

                -- The tags of documents that are there, once more the other way round; mtime is the sort key, name the
                -- path's last name.
                CREATE TABLE document_tag (
                    tag INTEGER NOT NULL REFERENCES tag (id) ON DELETE CASCADE,
                    document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
                    mtime INTEGER NOT NULL,
                    name BLOB NOT NULL,
                    PRIMARY KEY (tag, document)
                ) WITHOUT ROWID;
                CREATE INDEX document_tag_document ON document_tag (document);
                CREATE INDEX document_tag_newest ON document_tag (tag, mtime, document);
                CREATE INDEX document_tag_name ON document_tag (tag, name);
                """)
        let table = TagTable(db: db)
        for (tag, user) in kept { try table.keep(Tag(unchecked: tag), by: user) }
        for row in try db.rows("SELECT id, path, mtime, tags FROM document WHERE path IS NOT NULL AND tags <> x''") {
            try table.index(
                try row.bytes(3) ?? [], of: try row.value(0), at: StorePath(unchecked: try row.bytes(1) ?? []), modified: try row.value(2))
        }
    }

    /// Brings the file to the current version, a step a transaction. Throws `.newerVersion`, and `.corrupt` for a database
    /// that is not an index.
    static func migrate(_ pool: DatabasePool) throws {
        let found = try pool.read { try foundVersion($0) }
        for step in found..<version {
            try pool.write { db in
                try steps[step](db)
                try db.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(step + 1)")
            }
        }
        let names = try pool.read {
            try Set(String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table'"))
        }
        guard names.isSuperset(of: tables) else { throw IndexError.corrupt(reason: "tables are missing") }
    }

    /// The version the file has. Throws as `migrate` does.
    static func foundVersion(_ db: Database) throws -> Int {
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if found > version { throw IndexError.newerVersion(found: found, supported: version) }
        if found == 0, try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") != 0 {
            throw IndexError.corrupt(reason: "a database, but not an index")
        }
        if found < 0 { throw IndexError.corrupt(reason: "version \(found)") }
        return found
    }
}
