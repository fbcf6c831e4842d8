/// How locks and waits end other than by unlocking.
extension LockTable {
    /// FLUSH, a close(2) by a process: all record locks of this owner on the document go, whichever handle they were
    /// taken through, as POSIX has it. Other locks taken through the handle stay, marked as perhaps about to end.
    ///
    /// Returns the waiters granted by it, in the order they came. O(1) for a document without locks.
    public mutating func flush(
        _ document: LockedDocument, owner: LockOwner, handle: LockHandle
    ) -> [WaiterID] {
        guard hasLocks(document) else { return [] }
        handles[handle]?.isFlushed = true
        guard dropAll(.record, on: document, where: { $0.owner == owner }) else { return [] }
        return settle(document)
    }

    /// RELEASE: everything taken through the handle goes. This is how OFD and flock locks end that were not unlocked.
    ///
    /// Returns the waiters granted by it, each document's in the order they came. O(1) for a handle without locks.
    public mutating func release(_ handle: LockHandle) -> [WaiterID] {
        guard let use = handles[handle] else { return [] }
        var granted: [WaiterID] = []
        for document in use.held.keys {
            let record = dropAll(.record, on: document) { $0.handle == handle }
            let whole = dropAll(.whole, on: document) { $0.handle == handle }
            if record || whole { granted += settle(document) }
        }
        return granted
    }

    /// Gives up a wait, as when its thread is killed. Returns whether it was still parked; if not, its answer has been
    /// given by another call. Nobody else is granted by it, for waiters are in nobody's way.
    @discardableResult
    public mutating func cancel(_ waiter: WaiterID) -> Bool {
        withdraw(waiter)
    }

    /// Ends the waits whose time is over and returns them, to be answered as refused, in the order they end. O(1) if
    /// there are none.
    public mutating func expire(now: UInt64) -> [WaiterID] {
        let over = deadlines.prefix { $0.time <= now }.map(\.waiter)
        for waiter in over { withdraw(waiter) }
        return over
    }

    /// When `expire(now:)` has something to do next, nil if nobody waits with a time limit. O(1).
    public var nextDeadline: UInt64? { deadlines.first?.time }
}
