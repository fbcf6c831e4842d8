internal import Foundation
internal import GRDB
public import QueryLanguage
public import StorePrimitives

/// The words of documents' texts: SQLite's full-text index (FTS5) in a file of its own, which can be thrown away, as all in it can be read
/// again. So neither what it costs to write nor damage to it concerns the index of documents.
///
/// A text is that of a version of a document, told by size and time; whether the document is still of that version is for who asks.
///
/// **Threads.** As `DocumentIndex`: every method may be called from any thread and blocks until it is done.
public final class TextIndex: Sendable {
    public static let fileName = "text.sqlite"

    /// The most bytes of a text's words; what is more is left out.
    public static let longestText = 4 << 20
    /// How often a version is tried that could not be read.
    public static let mostAttempts = 3

    /// The most that users may have in it, in bytes of words; the bound for all applies to the file.
    public let bounds: BoundedResource.Bound
    let accounts: Accounts
    let pool: DatabasePool
    private let path: String

    /// Opens or makes the file in a folder. One that is damaged, or of another version, is thrown away.
    public init(
        folder: String, bounds: BoundedResource.Bound = BoundedResource.textBytes.bound, accounts: Accounts = Accounts()
    ) throws(IndexError) {
        self.bounds = bounds
        self.accounts = accounts
        path = folder + "/" + Self.fileName
        do {
            pool = try Self.open(path)
        } catch {
            guard Self.isToBeThrownAway(IndexError(error, path: path)) else { throw IndexError(error, path: path) }
            Self.remove(in: folder)
            do { pool = try Self.open(path) } catch { throw IndexError(error, path: path) }
        }
    }

    /// Removes the file, which nobody may have open.
    public static func remove(in folder: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink("\(folder)/\(fileName)\(suffix)") }
    }

    private static func isToBeThrownAway(_ error: IndexError) -> Bool {
        switch error {
        case .corrupt, .newerVersion, .database: true
        default: false
        }
    }

    /// Grows whenever texts that are kept would be taken apart into other words.
    private static let version = 2

    private static func open(_ path: String) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.maximumReaderCount = 2
        configuration.busyMode = .timeout(5)
        configuration.label = "quire.text"
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = \(db.configuration.readonly ? -1_024 : -4_096)")
            guard !db.configuration.readonly else { return }
            try db.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304")
        }
        // Names and texts of documents are private.
        let file = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if file >= 0 { Glibc.close(file) }
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.write { db in
            let found = try db.integer("PRAGMA user_version") ?? 0
            if found == version { return }
            guard found == 0 else { throw IndexError.newerVersion(found: Int(clamping: found), supported: version) }
            try db.execute(sql: schema)
        }
        return pool
    }

    private static let schema = """
        -- state: 0 indexed; 1 there is nothing to read in it; 2 it could not be read, so often as attempts says. words: compressed, and as
        -- many bytes as length says.
        CREATE TABLE text (
            document INTEGER PRIMARY KEY,
            owner INTEGER NOT NULL,
            size INTEGER NOT NULL,
            mtime INTEGER NOT NULL,
            state INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            length INTEGER NOT NULL,
            words BLOB,
            reason TEXT,
            time INTEGER NOT NULL
        );
        -- How many bytes of words the documents of a user have.
        CREATE TABLE share (uid INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
        CREATE TRIGGER text_added AFTER INSERT ON text WHEN NEW.length > 0 BEGIN
            INSERT INTO share (uid, bytes) VALUES (NEW.owner, NEW.length) ON CONFLICT (uid) DO UPDATE SET bytes = bytes + excluded.bytes;
        END;
        CREATE TRIGGER text_removed AFTER DELETE ON text WHEN OLD.length > 0 BEGIN
            UPDATE share SET bytes = bytes - OLD.length WHERE uid = OLD.owner;
        END;
        -- What is read of texts is taken apart already: words by spaces.
        CREATE VIRTUAL TABLE word USING fts5 (words, content = '', tokenize = 'ascii');
        PRAGMA user_version = \(version);
        """

    /// Closes the file; later calls throw `.closed`.
    public func close() throws(IndexError) { do { try pool.close() } catch { throw IndexError(error, path: path) } }

    func write<Result>(_ body: (Database) throws -> Result) throws(IndexError) -> Result {
        do { return try pool.write(body) } catch { throw IndexError(error, path: path) }
    }

    func read<Result>(_ body: (Database) throws -> Result) throws(IndexError) -> Result {
        do { return try pool.read(body) } catch { throw IndexError(error, path: path) }
    }
}
