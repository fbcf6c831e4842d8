/// What people are shown.
extension LockTable {
    /// Every lock held: the documents in no order, each one's record locks before its flock locks. Linear in the table.
    public var heldLocks: [AdvisoryLock] {
        documents.values.flatMap { $0.record.locks + $0.whole.locks }
    }

    /// Every request that waits, in the order they came. Linear in the table, but for the sorting.
    public var waitingLocks: [WaitingLock] {
        waiters.values.sorted { $0.id.rawValue < $1.id.rawValue }
    }
}
