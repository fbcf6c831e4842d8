internal import GRDB
internal import Glibc
internal import Synchronization

/// The daemon's index of one store: documents with ids that survive rename, move and edit, their tags, each user's
/// recents, and what is needed to undo a bulk removal of tags.
///
/// The index never looks at the store; callers tell it what they saw (`IndexUpdate`). It can be thrown away and scanned anew
/// from the store, except recents, kept tags, and the tags of a store without extended attributes.
///
/// **Who a file is.** A path has one row and a row one id; the same file may be at several paths (hard links), each a
/// document of its own. A path that is known keeps its document whatever file is there now: that is an edit. A file at a
/// path not known is
/// 1. the document that left last with the same identity, if there is one;
/// 2. told as it happens (`apply` without a pass) and without other links: the document whose file it is, which moved;
/// 3. met by a scan pass: a new document at first; when the pass ends and a path known before was not met, while a new
///    one has its identity, the document moved there and takes its id along;
/// 4. else a new document.
///
/// Identity is inode and birth time, and the file handle where both have one. Without handles an inode number used again
/// could pass for the file: then without a birth time, and for documents that left, size and modification time must agree.
///
/// **Threads.** Every method may be called from any thread and blocks until it is done: writers one after the other, up to
/// two readers at a time, which never wait for a writer. Writing costs about 40 µs a transaction and 20 µs a change:
/// put many changes in one `apply`. A document takes some 150 bytes. A lookup costs about 20 µs. A transaction survives the daemon's crash;
/// after a power failure the last ones may be missing, never half of one (WAL, synchronous=NORMAL).
public final class DocumentIndex: Sendable {
    /// How the index was found.
    public enum OpenOutcome: Sendable, Equatable {
        case opened
        case created
        /// The file was damaged: it was moved to `aside`, and a new index has what could be read of recents, kept tags,
        /// removals to undo, and tagged documents. A scan brings the rest.
        case rebuilt(reason: String, aside: String)
    }

    public static let fileName = "index.sqlite"

    /// How many documents that left are remembered, to be known again when their file comes back.
    static let departedLimit = 10_000
    /// How many more there may be until the next trim.
    static let departedSlack = 1_000

    public let outcome: OpenOutcome
    public let bounds: IndexBounds
    let pool: DatabasePool
    let path: String
    /// Its folder goes when it is closed.
    private let temporaryFolder: String?

    /// Documents for which their owners had no room, since the last scan of the whole store began.
    let leftOut = Atomic<Int>(0)

    let searchTable = SearchTable()

    /// The scan pass under way. A leaf lock: nothing is taken under it. Changed only inside write transactions.
    let scan = Mutex(ScanState())

    /// Documents that left since the last trim to `departedLimit`. Changed only inside write transactions.
    let departures = Atomic<Int>(0)

    /// Told of what became of documents, after each transaction that changed something, on the thread that made it: it may not wait.
    /// Leaf lock.
    let followers = Mutex<[Follower]>([])

    /// A function that is a lock's value by itself is wrapped in two more with each access (Swift's reabstraction thunks), until a
    /// call overflows the stack.
    struct Follower: Sendable { let tell: @Sendable ([IndexedChange]) -> Void }

    /// Has what becomes of documents told to one more follower from now on; see `IndexedChange`. What two threads change at once may be
    /// told in either order.
    public func follow(_ follower: @escaping @Sendable ([IndexedChange]) -> Void) {
        followers.withLock { $0.append(Follower(tell: follower)) }
    }

    func tell(_ changes: [IndexedChange]) {
        guard !changes.isEmpty else { return }
        for follower in followers.withLock({ $0 }) { follower.tell(changes) }
    }

    /// Opens or makes `index.sqlite` in `folder`, the store's state folder, which must exist and be this process's alone.
    ///
    /// A damaged file is moved aside and built anew (`outcome` says so). Throws `.newerVersion` and leaves the file alone,
    /// `.unusable` if it cannot be opened or written, `.diskFull`. Checks the whole file (about 0.1 s with 100,000
    /// documents) if it is small, was not closed, or failed before; never longer than that otherwise.
    ///
    /// - Parameter bounds: what users may have in it. Half of the disk's free room is the most that all may have.
    public convenience init(folder: String, bounds: IndexBounds = IndexBounds()) throws(IndexError) {
        try self.init(folder: folder, bounds: bounds, pageLimit: nil)
    }

    /// Makes an index in a folder of its own, which is made, and removed by `close`: for as long as the state folder has no room.
    /// What an earlier process left there is removed.
    public convenience init(temporaryIn folder: String, bounds: IndexBounds) throws(IndexError) {
        Self.removeTemporary(folder)
        guard mkdir(folder, 0o700) == 0 else { throw .unusable(path: folder, reason: String(cString: strerror(errno))) }
        try self.init(folder: folder, bounds: bounds, pageLimit: nil, isTemporary: true)
    }

    /// In bytes: it takes memory, as a rule.
    private static let mostTemporary = 64 << 20

    /// Its ids hold for this mount alone.
    public var isTemporary: Bool { temporaryFolder != nil }

    public static func removeTemporary(_ folder: String) { IndexFiles.remove(folder) }

    /// `pageLimit` bounds the file, in pages of 4 KiB, so that a full disk can be met on purpose.
    package init(folder: String, bounds: IndexBounds = IndexBounds(), pageLimit: Int?, isTemporary: Bool = false) throws(IndexError) {
        let path = folder + "/" + Self.fileName
        self.path = path
        temporaryFolder = isTemporary ? folder : nil
        let files = IndexFiles(path: path)
        var limited = bounds
        limited.bytes.forAll = min(bounds.bytes.forAll, files.halfOfRoom, isTemporary ? Self.mostTemporary : .max)
        // On a small disk too one user's share is not all.
        if bounds.bytes.forUser < bounds.bytes.forAll { limited.bytes.forUser = min(bounds.bytes.forUser, limited.bytes.forAll / 2) }
        self.bounds = limited
        do {
            guard files.haveRoom else { throw IndexError.diskFull }
            let existed = try files.prepare()
            var damage: String?
            var opened: DatabasePool?
            do {
                opened = try Self.openPool(files, pageLimit: pageLimit, checking: existed)
            } catch let error where existed {
                guard case .corrupt(let reason) = IndexError(error, path: path) else { throw error }
                damage = reason
            }
            if let opened {
                pool = opened
                outcome = existed ? .opened : .created
            } else {
                let aside = try files.moveAside()
                let recovery = IndexRecovery(readingFrom: aside)
                _ = try files.prepare()
                pool = try Self.openPool(files, pageLimit: pageLimit, checking: false)
                try pool.write { try recovery.restore(into: $0) }
                outcome = .rebuilt(reason: damage ?? "", aside: aside)
            }
            try pool.write { db in
                try DocumentTable(db: db).trimDeparted(to: Self.departedLimit)
                try TagTable(db: db).dropUnused()
            }
            pool.writeWithoutTransaction { Schema.giveRoomBack($0) }
        } catch {
            throw IndexError(error, path: path)
        }
    }

    private static func openPool(_ files: IndexFiles, pageLimit: Int?, checking: Bool) throws -> DatabasePool {
        let mustCheck = checking && files.needsCheck
        var configuration = Configuration()
        configuration.maximumReaderCount = 2
        configuration.busyMode = .timeout(5)
        configuration.label = "quire.index"
        configuration.prepareDatabase { db in
            // Refused before anything is written to it.
            _ = try Schema.foundVersion(db)
            // Negative: in KiB. The file's pages are in the kernel's cache anyway.
            try db.execute(sql: "PRAGMA cache_size = \(db.configuration.readonly ? -1_024 : -2_048)")
            guard !db.configuration.readonly else { return }
            try db.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304")
            if let pageLimit { try db.execute(sql: "PRAGMA max_page_count = \(pageLimit)") }
        }
        let pool = try DatabasePool(path: files.path, configuration: configuration)
        try Schema.migrate(pool)
        if mustCheck {
            let answer = try pool.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") } ?? ""
            let isWhole = try answer == "ok" && pool.read { try FolderTable.isWhole($0) }
            guard isWhole else {
                try? pool.close()
                throw IndexError.corrupt(reason: answer == "ok" ? "documents are in no folder" : answer)
            }
            files.clearSuspicion()
        }
        return pool
    }

    /// Writes the log back into the file and empties it. For after a bulk load, and when idle. Readers at work make it do
    /// less; that is no error.
    public func checkpoint() throws(IndexError) {
        do { try emptyLog() } catch { throw report(error) }
    }

    /// Writes the log back and closes the file; later calls throw `.closed`. Closing twice is no error.
    public func close() throws(IndexError) {
        // Readers are closed last and cannot write it back. Should it fail, the next opening reads the log.
        try? emptyLog()
        do { try pool.close() } catch { throw report(error) }
        if let temporaryFolder { Self.removeTemporary(temporaryFolder) }
    }

    private func emptyLog() throws {
        try pool.writeWithoutTransaction { db in
            // SQLite's own check for it is not compiled in everywhere.
            guard db.sqliteConnection != nil else { throw IndexError.closed }
            do { try db.checkpoint(.truncate) } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
        }
    }

    /// Runs `body` in one transaction, rolled back if it throws.
    func write<Result>(_ body: (Database) throws -> Result) throws(IndexError) -> Result {
        do { return try pool.write(body) } catch { throw report(error) }
    }

    /// Runs `body` on one unchanging state of the index.
    func read<Result>(_ body: (Database) throws -> Result) throws(IndexError) -> Result {
        do { return try pool.read(body) } catch { throw report(error) }
    }

    /// Sorts the error; damage met in use is noted beside the file so that the next opening checks it.
    func report(_ error: any Error) -> IndexError {
        let error = IndexError(error, path: path)
        if case .corrupt = error { IndexFiles(path: path).suspect() }
        return error
    }
}
