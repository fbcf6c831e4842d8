internal import Foundation
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
        "document", "folder", "share", "tag", "tag_keeper", "document_tag", "recent", "recent_before", "tag_removal_batch", "tag_removal",
        "saved_search", "favorite", "epoch", "recent_forgotten",
    ]

    /// Step n leads from version n to n + 1. A step that was ever released is never changed.
    private static let steps: [@Sendable (Database) throws -> Void] = [
        { try $0.execute(sql: documentsTagsAndRecents) },
        { try addCreatorsAndNames(to: $0) },
        { try $0.execute(sql: "CREATE INDEX tag_keeper_user ON tag_keeper (uid)") },
        { try addFolders(to: $0) },
        {
            try $0.execute(
                sql: "CREATE TABLE saved_search (uid INTEGER NOT NULL, name BLOB NOT NULL, query BLOB NOT NULL, PRIMARY KEY (uid, name)) WITHOUT ROWID")
        },
        {
            try $0.execute(sql: writersAndFavorites)
            try $0.execute(sql: "CREATE TABLE epoch (number INTEGER NOT NULL); INSERT INTO epoch VALUES (random())")
        },
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
    private static func addCreatorsAndNames(to db: Database) throws {
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
        for (tag, user) in kept { try table.keep(Tag(unchecked: tag), by: user, isOwned: false) }
        for row in try db.rows("SELECT id, path, mtime, tags FROM document WHERE path IS NOT NULL AND tags <> x''") {
            try table.index(
                try row.bytes(3) ?? [], of: try row.value(0), at: StorePath(unchecked: try row.bytes(1) ?? []), modified: try row.value(2),
                for: 0)
        }
    }

    /// Each folder is kept once, and documents by folder and name. What the rows of a user's documents take is counted.
    private static func addFolders(to db: Database) throws {
        try db.execute(sql: folders)
        let folders = FolderTable(db: db)
        // In the order of the ids, which is that of the walk: the rows of a folder stand together.
        let paths = try Row.fetchCursor(db, sql: "SELECT id, path FROM document ORDER BY id")
        while let row = try paths.next() {
            var place: (folder: Int64, name: Data)?
            if let path = try row.bytes(1).map(StorePath.init(unchecked:)), !path.isRoot, path.bytes.count <= StorePath.longest {
                place = (try folders.id(makingHolderOf: path, for: 0), path.nameBlob)
            }
            let id: Int64 = try row.value(0)
            try db.run(
                """
                INSERT OR IGNORE INTO document_of_folder
                SELECT id, ?1, ?2, inode, birth, handle, size, mtime, generation, tags, CASE WHEN ?1 IS NULL THEN coalesce(departed, 1) END, 0
                FROM document WHERE id = ?3
                """, [place?.folder, place?.name, id])
        }
        let last = try db.integer("SELECT seq FROM sqlite_sequence WHERE name = 'document'") ?? 0
        try db.execute(
            sql: """
                DROP TABLE document;
                ALTER TABLE document_of_folder RENAME TO document;
                DELETE FROM sqlite_sequence WHERE name = 'document';
                INSERT INTO sqlite_sequence (name, seq) VALUES ('document', \(last));
                \(places)
                \(shares)
                """)
    }

    private static let folders = """
        -- Those that hold documents, at any depth. parent is 0 in the root, which has no row.
        CREATE TABLE folder (
            id INTEGER PRIMARY KEY,
            parent INTEGER NOT NULL,
            name BLOB NOT NULL,
            -- The uid of whose document it was entered for.
            owner INTEGER NOT NULL
        );
        CREATE UNIQUE INDEX folder_place ON folder (parent, name);

        -- folder and name are NULL for a document that left: if its file comes back, it is known again. folder is 0 in the root.
        -- tags is the attribute's value: NULL if never told, empty if there are none. owner is a uid, 0 if never told.
        CREATE TABLE document_of_folder (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            folder INTEGER,
            name BLOB,
            inode INTEGER NOT NULL,
            birth INTEGER NOT NULL,
            handle BLOB,
            size INTEGER NOT NULL,
            mtime INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            tags BLOB,
            departed INTEGER,
            owner INTEGER NOT NULL
        );
        """

    private static let writersAndFavorites = """
        -- The uid of whoever wrote the content through a mount; NULL if that is not known.
        ALTER TABLE document ADD COLUMN writer INTEGER;
        CREATE INDEX document_writer ON document (writer) WHERE writer IS NOT NULL;

        -- When a user has taken a document off the recents: uses before that are not to come back.
        CREATE TABLE recent_forgotten (
            uid INTEGER NOT NULL,
            document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
            at INTEGER NOT NULL,
            PRIMARY KEY (uid, document)
        ) WITHOUT ROWID;
        CREATE INDEX recent_forgotten_document ON recent_forgotten (document);

        -- A document that a user has marked, or by its path a folder.
        CREATE TABLE favorite (
            uid INTEGER NOT NULL,
            document INTEGER REFERENCES document (id) ON DELETE CASCADE,
            folder BLOB,
            added INTEGER NOT NULL,
            CHECK ((document IS NULL) <> (folder IS NULL))
        );
        CREATE INDEX favorite_uid ON favorite (uid);
        CREATE UNIQUE INDEX favorite_document ON favorite (document, uid) WHERE document IS NOT NULL;
        CREATE UNIQUE INDEX favorite_folder ON favorite (folder, uid) WHERE folder IS NOT NULL;
        """

    private static let places = """
        CREATE UNIQUE INDEX document_place ON document (folder, name);
        CREATE INDEX document_identity ON document (\(DocumentRow.identityKey));
        CREATE INDEX document_departed ON document (departed) WHERE departed IS NOT NULL;
        """

    /// About what a row takes, with what is in the indexes and in the tables of tags; names are there twice.
    private static func cost(_ document: String) -> String {
        """
        (160 + 2 * coalesce(length(\(document).name), 0) + coalesce(length(\(document).handle), 0)
            + CASE WHEN \(document).name IS NULL OR \(document).tags IS NULL OR \(document).tags = x'' THEN 0 ELSE
                length(\(document).tags) + (100 + 2 * length(\(document).name))
                    * (1 + length(\(document).tags) - length(CAST(replace(\(document).tags, ',', '') AS BLOB))) END)
        """
    }
    private static func costOfFolder(_ folder: String) -> String { "(60 + 2 * length(\(folder).name))" }
    private static func costOfTag(_ tag: String) -> String { "(100 + 2 * length(\(tag).name))" }

    private static func charge(_ row: String, _ bytes: String, tags: String = "0") -> String {
        """
        INSERT INTO share (uid, bytes, tags) VALUES (\(row).owner, \(bytes), \(tags))
            ON CONFLICT (uid) DO UPDATE SET bytes = bytes + excluded.bytes, tags = tags + excluded.tags;
        """
    }

    /// Counts the rows there are, into an empty table.
    private static let counting = """
        INSERT INTO share (uid, bytes, tags) SELECT owner, sum(bytes), sum(tags) FROM (
            SELECT d.owner, \(cost("d")) AS bytes, 0 AS tags FROM document d
            UNION ALL SELECT f.owner, \(costOfFolder("f")), 0 FROM folder f
            UNION ALL SELECT t.owner, \(costOfTag("t")), 1 FROM tag t)
            GROUP BY owner;
        """

    /// For when rows were made that nobody counted.
    static func countAnew(_ db: Database) throws { try db.execute(sql: "DELETE FROM share; \(counting)") }

    private static let shares = """
        ALTER TABLE tag ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;

        -- What the rows of each owner take, in bytes, and how many tags there are for them.
        CREATE TABLE share (uid INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, tags INTEGER NOT NULL);
        \(counting)

        -- Rows of documents that are made are counted by `Room`.
        CREATE TRIGGER document_dropped AFTER DELETE ON document BEGIN \(charge("OLD", "-" + cost("OLD"))) END;
        CREATE TRIGGER document_changed AFTER UPDATE OF name, handle, tags, owner ON document
            WHEN OLD.owner <> NEW.owner OR OLD.name IS NOT NEW.name OR OLD.tags IS NOT NEW.tags OR OLD.handle IS NOT NEW.handle
            BEGIN \(charge("OLD", "-" + cost("OLD"))) \(charge("NEW", cost("NEW"))) END;
        CREATE TRIGGER folder_made AFTER INSERT ON folder BEGIN \(charge("NEW", costOfFolder("NEW"))) END;
        CREATE TRIGGER folder_dropped AFTER DELETE ON folder BEGIN \(charge("OLD", "-" + costOfFolder("OLD"))) END;
        CREATE TRIGGER folder_renamed AFTER UPDATE OF name ON folder
            BEGIN \(charge("OLD", "-" + costOfFolder("OLD"))) \(charge("NEW", costOfFolder("NEW"))) END;
        CREATE TRIGGER tag_made AFTER INSERT ON tag BEGIN \(charge("NEW", costOfTag("NEW"), tags: "1")) END;
        CREATE TRIGGER tag_dropped AFTER DELETE ON tag BEGIN \(charge("OLD", "-" + costOfTag("OLD"), tags: "-1")) END;
        """

    /// Brings the file to the current version, a step a transaction. Throws `.newerVersion`, and `.corrupt` for a database
    /// that is not an index.
    static func migrate(_ pool: DatabasePool) throws {
        let found = try pool.read { try foundVersion($0) }
        for step in found..<version {
            try pool.writeWithoutTransaction { db in
                // A table that is made anew is dropped, and what refers to its rows must stay. Inside a transaction this does nothing.
                try db.execute(sql: "PRAGMA foreign_keys = OFF")
                defer { try? db.execute(sql: "PRAGMA foreign_keys = ON") }
                try db.inTransaction {
                    try steps[step](db)
                    try db.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(step + 1)")
                    return .commit
                }
            }
        }
        let names = try pool.read {
            try Set(String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table'"))
        }
        guard names.isSuperset(of: tables) else { throw IndexError.corrupt(reason: "tables are missing") }
    }

    /// Makes the file smaller if half of it is free. Without room for a copy it stays as it is.
    static func giveRoomBack(_ db: Database) {
        guard let pages = try? db.integer("PRAGMA page_count"), let free = try? db.integer("PRAGMA freelist_count"),
            pages > 4_096, free > pages / 2
        else { return }
        try? db.execute(sql: "VACUUM")
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
