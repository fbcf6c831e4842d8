internal import Foundation
internal import Glibc

/// The index's files in the state folder: the database, its log (`-wal`), the log's map (`-shm`), the note that it is
/// suspected (`.suspect`), and damaged ones moved aside (`.corrupt-TIME`).
struct IndexFiles {
    let path: String

    /// Files up to this size are checked at every opening: it takes under 0.1 s.
    private static let alwaysCheckedSize: Int64 = 32 << 20
    /// Damaged files kept; older ones are removed.
    private static let keptAside = 3

    /// Makes the file if there is none, readable by its owner only (names of documents are private; SQLite gives its other
    /// files the same mode). Returns whether there was one with something in it. Throws `.unusable` or `.diskFull`.
    func prepare() throws(IndexError) -> Bool {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        Glibc.close(descriptor)
        // An empty file with a log beside it is one whose first transactions were never written back.
        return size(of: path) > 0 || size(of: path + "-wal") > 0
    }

    /// Whether the file has to be read through before it is used: it is small, was not closed, or damage was met in it.
    var needsCheck: Bool {
        size(of: path) <= Self.alwaysCheckedSize || size(of: path + "-wal") > 0 || access(path + ".suspect", F_OK) == 0
    }

    func suspect() {
        let descriptor = open(path + ".suspect", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    func clearSuspicion() { unlink(path + ".suspect") }

    /// Moves the database out of the way, with its log, and returns where it is now. Throws `.unusable`.
    func moveAside() throws(IndexError) -> String {
        // Behind the newest, or it would be the oldest at once and removed before anything is read from it.
        let newest = asides.last.flatMap { Int($0.dropFirst(asidePrefix.count)) } ?? 0
        let aside = "\(path).corrupt-\(max(time(nil), newest.adding(clamping: 1)))"
        guard rename(path, aside) == 0 else { throw failure() }
        if size(of: path + "-wal") > 0 {
            guard rename(path + "-wal", aside + "-wal") == 0 else { throw failure() }
        } else {
            unlink(path + "-wal")
        }
        unlink(path + "-shm")
        clearSuspicion()
        removeOldest()
        return aside
    }

    /// Half of what the database may grow to before the disk is full, in bytes; no bound where that cannot be told.
    var halfOfRoom: Int {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return .max }
        let free = Int(clamping: UInt64(status.f_bavail).multiplied(clamping: UInt64(status.f_frsize)))
        return free.adding(clamping: Int(clamping: size(of: path))) / 2
    }

    /// Whether there is room for what an opening writes. SQLite maps a file that it makes then: on a full disk with small blocks a
    /// look at it would end the process (SIGBUS). Found by trying: statvfs(3) does not tell what is reserved for whom.
    var haveRoom: Bool {
        let trial = path + ".trial"
        let file = open(trial, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        // Another reason is met again, and told, when the index is opened.
        guard file >= 0 else { return errno != ENOSPC && errno != EDQUOT }
        defer {
            Glibc.close(file)
            unlink(trial)
        }
        let result = posix_fallocate(file, 0, Self.neededRoom)
        return result != ENOSPC && result != EDQUOT
    }

    /// In bytes.
    private static let neededRoom = 256 << 10

    /// Removes all of them, with their folder.
    static func remove(_ folder: String) {
        for suffix in ["", "-wal", "-shm", "-journal", ".suspect", ".trial"] { unlink("\(folder)/\(DocumentIndex.fileName)\(suffix)") }
        rmdir(folder)
    }

    private var folder: String { (path as NSString).deletingLastPathComponent }
    private var asidePrefix: String { (path as NSString).lastPathComponent + ".corrupt-" }

    /// The names of the databases moved aside, oldest first.
    private var asides: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // Same number of digits for the next two centuries: text order is time order.
        return names.filter { $0.hasPrefix(asidePrefix) && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted()
    }

    private func removeOldest() {
        for name in asides.dropLast(Self.keptAside) {
            for suffix in ["", "-wal", "-shm"] { unlink("\(folder)/\(name)\(suffix)") }
        }
    }

    /// In bytes; 0 if there is no such file.
    private func size(of path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    private func failure() -> IndexError {
        let code = errno
        return code == ENOSPC || code == EDQUOT ? .diskFull : .unusable(path: path, reason: String(cString: strerror(code)))
    }
}
