/// A parked request. Made by the table, never used twice.
public struct WaiterID: Hashable, Sendable {
    public let rawValue: UInt64
    init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// What becomes of a request for a lock.
public enum LockOutcome: Hashable, Sendable {
    case granted
    /// EAGAIN: another owner holds a conflicting lock.
    case refused
    /// EDEADLK: the owners of the conflicting locks wait, directly or through others, for the one who asks.
    case deadlock
    /// No answer yet. It comes when another call reports the waiter as granted, or, where `until` is set, when
    /// `LockTable.expire(now:)` reports it as refused. The caller owes the kernel exactly one answer.
    case parked(WaiterID, until: UInt64?)
}

/// The answer to one request, and what it did to others.
public struct LockDecision: Hashable, Sendable {
    public let outcome: LockOutcome
    /// Waiters granted by the way, in the order they came: a downgrade lets others in, and so does a failed flock(2)
    /// conversion, which gives up the lock it had.
    public let granted: [WaiterID]

    public init(outcome: LockOutcome, granted: [WaiterID]) {
        self.outcome = outcome
        self.granted = granted
    }
}

/// A request that is parked, for listings.
public struct WaitingLock: Hashable, Sendable {
    public let id: WaiterID
    public let lock: AdvisoryLock
    /// When it is refused, in nanoseconds of the caller's clock; nil for a request that waits until it is granted.
    public let until: UInt64?

    public init(id: WaiterID, lock: AdvisoryLock, until: UInt64?) {
        self.id = id
        self.lock = lock
        self.until = until
    }
}
