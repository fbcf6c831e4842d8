internal import GRDB

/// What can go wrong with the index.
public enum IndexError: Error, Equatable, Sendable {
    /// The index was written by a newer version; it is left as it is.
    case newerVersion(found: Int, supported: Int)
    /// The state folder or the index in it cannot be opened or written; the path and the database's words.
    case unusable(path: String, reason: String)
    /// No room left, or the quota is used up. Nothing of the transaction remains.
    case diskFull
    /// The file turned out damaged while in use. The next opening checks it and builds it anew.
    case corrupt(reason: String)
    /// Reading or writing failed below the database.
    case inputOutput(reason: String)
    /// Another process has the index locked.
    case busy
    /// The index was closed.
    case closed
    /// The scan pass is no longer the current one.
    case scanSuperseded
    case noSuchTag(Tag)
    /// A tag cannot be renamed to one nested in itself.
    case tagInsideItself(Tag)
    /// The index of texts turned out damaged in a search.
    case textCorrupt
    /// A search was given up.
    case searchTooLong
    /// Any other answer of the database.
    case database(code: Int32, message: String)

    /// Sorts an error of the database; `path` is the index, for the messages.
    init(_ error: any Error, path: String) {
        if let error = error as? IndexError {
            self = error
            return
        }
        // A value that no version of this index has written.
        if error is RowDecodingError {
            self = .corrupt(reason: "a value of another kind than its column has")
            return
        }
        guard let error = error as? DatabaseError else {
            self = .database(code: -1, message: "\(error)")
            return
        }
        let message = error.message ?? error.resultCode.description
        switch error.resultCode {
        case .SQLITE_FULL: self = .diskFull
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .corrupt(reason: message)
        case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH: self = .unusable(path: path, reason: message)
        case .SQLITE_IOERR:
            // The shared memory file could not grow: tmpfs and ext4 say so when they are full.
            if error.extendedResultCode == .SQLITE_IOERR_SHMSIZE {
                self = .diskFull
            } else {
                self = .inputOutput(reason: message)
            }
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .busy
        case .SQLITE_MISUSE: self = .closed
        default: self = .database(code: error.extendedResultCode.rawValue, message: message)
        }
    }
}

extension IndexError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .newerVersion(let found, let supported):
            "the index is of version \(found), from a newer Quire; this one knows versions up to \(supported)"
        case .unusable(let path, let reason): "\(path) cannot be opened or written: \(reason)"
        case .diskFull: "no room left for the index"
        case .corrupt(let reason): "the index is damaged: \(reason)"
        case .inputOutput(let reason): "reading or writing the index failed: \(reason)"
        case .busy: "another process has the index locked"
        case .closed: "the index is closed"
        case .scanSuperseded: "a newer scan pass has begun"
        case .noSuchTag(let tag): "no such tag: \(tag)"
        case .tagInsideItself(let tag): "a tag cannot be renamed into itself: \(tag)"
        case .textCorrupt: "the index of texts is damaged"
        case .searchTooLong: "the search took too long and was given up: make the query narrower"
        case .database(let code, let message): "the index's database answered \(code): \(message)"
        }
    }
}
