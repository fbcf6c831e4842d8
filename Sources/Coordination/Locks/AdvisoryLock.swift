
/// The document a lock is on. Two versions of one document are one key, so that they exclude each other.
public struct LockedDocument: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// Who holds a lock, as the kernel names it in the `lock_owner` of a request: a process's descriptor table for fcntl's
/// POSIX locks, an open file description for OFD locks and flock(2).
public struct LockOwner: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// The open file handle a lock was taken through.
public struct LockHandle: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// The two kinds of advisory lock. As on every local file system of Linux they never conflict with one another.
public enum LockKind: Hashable, Sendable {
    /// fcntl(2): byte ranges, POSIX locks and OFD locks alike.
    case record
    /// flock(2): the whole document.
    case whole
}

public enum LockMode: Hashable, Sendable {
    case shared
    case exclusive
}

/// A range of bytes, both ends included, counted from 0.
public struct LockRange: Hashable, Sendable {
    public let start: Int64
    /// The last byte; `Int64.max` means to the end of the document, however long it gets.
    public let end: Int64

    /// Every byte there can be.
    public static let all = LockRange(unchecked: 0, .max)

    /// A range as the kernel's protocol gives it; nil if `start` is negative or after `end`.
    public init?(start: Int64, end: Int64) {
        guard start >= 0, start <= end else { return nil }
        self.init(unchecked: start, end)
    }

    /// A range as `struct flock` gives it, where length 0 means to the end; nil if it starts or ends outside a file.
    public init?(start: Int64, length: Int64) {
        guard start >= 0, length >= 0 else { return nil }
        guard length > 0 else {
            self.init(unchecked: start, .max)
            return
        }
        let (end, overflow) = start.addingReportingOverflow(length - 1)
        guard !overflow else { return nil }
        self.init(unchecked: start, end)
    }

    init(unchecked start: Int64, _ end: Int64) {
        self.start = start
        self.end = end
    }

    /// The length as `struct flock` gives it: 0 for a range to the end.
    public var length: Int64 { end == .max ? 0 : end - start + 1 }

    public func overlaps(_ other: LockRange) -> Bool { start <= other.end && other.start <= end }
}

/// One lock, as it is asked for, held or waited for.
public struct AdvisoryLock: Hashable, Sendable {
    public let document: LockedDocument
    public let kind: LockKind
    public let mode: LockMode
    /// The bytes locked; `.all` for a lock of the whole document.
    public internal(set) var range: LockRange
    public let owner: LockOwner
    public let handle: LockHandle
    /// The thread group that took it, for F_GETLK and for people; 0 if it is not known.
    public let pid: Int32
    /// For whom it counts (`LockTable.takeCountChanges`).
    public let user: UInt32

    /// A lock of a byte range, as fcntl(2) takes.
    public static func record(
        _ mode: LockMode, _ range: LockRange, of document: LockedDocument,
        owner: LockOwner, handle: LockHandle, pid: Int32, user: UInt32 = 0
    ) -> AdvisoryLock {
        AdvisoryLock(
            document: document, kind: .record, mode: mode, range: range, owner: owner, handle: handle, pid: pid, user: user)
    }

    /// A lock of a whole document, as flock(2) takes.
    public static func whole(
        _ mode: LockMode, of document: LockedDocument, owner: LockOwner, handle: LockHandle, pid: Int32, user: UInt32 = 0
    ) -> AdvisoryLock {
        AdvisoryLock(
            document: document, kind: .whole, mode: mode, range: .all, owner: owner, handle: handle, pid: pid, user: user)
    }

    /// Whether the two cannot be held at once, both being of one document and one kind. An owner never conflicts with
    /// itself.
    func conflicts(with other: AdvisoryLock) -> Bool {
        owner != other.owner && (mode == .exclusive || other.mode == .exclusive) && range.overlaps(other.range)
    }
}
