import Coordination

/// Short names for what the tests of locks say over and over. Owner and handle of a person are the same number unless
/// the handle is given.
enum Locking {
    static let document = LockedDocument(1)
    static let millisecond: UInt64 = 1_000_000

    static func range(_ start: Int64, _ end: Int64) -> LockRange { LockRange(start: start, end: end)! }

    static func record(
        _ mode: LockMode, _ start: Int64, _ end: Int64, by owner: UInt64, through handle: UInt64? = nil,
        on document: LockedDocument = document
    ) -> AdvisoryLock {
        .record(
            mode, range(start, end), of: document, owner: LockOwner(owner), handle: LockHandle(handle ?? owner),
            pid: Int32(owner))
    }

    static func whole(
        _ mode: LockMode, by owner: UInt64, on document: LockedDocument = document
    ) -> AdvisoryLock {
        .whole(mode, of: document, owner: LockOwner(owner), handle: LockHandle(owner), pid: Int32(owner))
    }
}

/// A lock table by reference, as `#expect` takes no mutating calls.
final class TestTable {
    private(set) var state: LockTable

    init(releaseTimeout: Duration? = nil) {
        state = releaseTimeout.map { LockTable(releaseTimeout: $0) } ?? LockTable()
    }

    func request(_ lock: AdvisoryLock, blocking: Bool, now: UInt64 = 0) -> LockDecision {
        state.request(lock, blocking: blocking, now: now)
    }

    func unlock(
        _ range: LockRange, of owner: LockOwner, _ kind: LockKind, on document: LockedDocument
    ) -> [WaiterID] {
        state.unlock(range, of: owner, kind, on: document)
    }

    func flush(_ document: LockedDocument, owner: LockOwner, handle: LockHandle) -> [WaiterID] {
        state.flush(document, owner: owner, handle: handle)
    }

    func release(_ handle: LockHandle) -> [WaiterID] { state.release(handle) }

    func cancel(_ waiter: WaiterID) -> Bool { state.cancel(waiter) }

    func expire(now: UInt64) -> [WaiterID] { state.expire(now: now) }

    /// A request that is to be granted, without letting others in.
    func take(_ lock: AdvisoryLock) -> Bool {
        request(lock, blocking: false) == LockDecision(.granted)
    }

    func tryTake(_ lock: AdvisoryLock, now: UInt64 = 0) -> LockDecision {
        request(lock, blocking: false, now: now)
    }

    /// A request that has to wait; nil if it does not.
    func wait(_ lock: AdvisoryLock, now: UInt64 = 0) -> WaiterID? {
        guard case .parked(let id, until: nil) = request(lock, blocking: true, now: now).outcome else { return nil }
        return id
    }

    func unlockRecord(
        _ start: Int64, _ end: Int64, of owner: UInt64, on document: LockedDocument = Locking.document
    ) -> [WaiterID] {
        unlock(Locking.range(start, end), of: LockOwner(owner), .record, on: document)
    }

    func unlockWhole(of owner: UInt64, on document: LockedDocument = Locking.document) -> [WaiterID] {
        unlock(.all, of: LockOwner(owner), .whole, on: document)
    }

    /// FLUSH by the process `owner` of a handle, its own unless another is given.
    func flush(owner: UInt64, handle: UInt64? = nil) -> [WaiterID] {
        flush(Locking.document, owner: LockOwner(owner), handle: LockHandle(handle ?? owner))
    }

    /// The held locks as "owner mode start-end", in the table's order.
    var held: [String] {
        state.heldLocks.map { lock in
            let mode = lock.mode == .shared ? "r" : "w"
            let end = lock.range.end == .max ? "" : "\(lock.range.end)"
            return "\(lock.owner.rawValue) \(mode) \(lock.range.start)-\(end)"
        }
    }
}

extension LockDecision {
    /// An outcome that let nobody else in.
    init(_ outcome: LockOutcome) { self.init(outcome: outcome, granted: []) }
}
