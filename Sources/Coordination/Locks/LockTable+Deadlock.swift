extension LockTable {
    /// How many owners in a row are followed, as many as the kernel follows: a longer cycle is not found. It bounds the
    /// work, and nothing that works runs into it.
    static let longestDeadlockChain = 11

    /// Whether the wait for `lock` would never end: an owner of a conflicting lock waits, directly or through others, for
    /// a record lock of the one who asks, on whatever document.
    ///
    /// As in the kernel only waits without a time limit count, and of an owner that waits in several threads only the
    /// newest wait. The kernel follows one conflicting lock and looks again whenever a waiter wakes; here all are
    /// followed, and once is enough as long as an owner does nothing else while it waits. A cycle closed later by
    /// another thread of a waiting process is not found. The kernel does not look for deadlocks among OFD locks, which
    /// its requests to a file system do not tell apart; here they are answered too.
    ///
    /// Linear in the waiters reached and in the locks of their documents.
    func wouldDeadlock(_ lock: AdvisoryLock) -> Bool {
        var seen: Set<LockOwner> = []
        var holders = owners(blocking: lock).filter { seen.insert($0).inserted }
        for _ in 0..<Self.longestDeadlockChain {
            var next: [LockOwner] = []
            for holder in holders {
                guard let wait = blockedOwners[holder]?.last, let waiter = waiters[wait] else { continue }
                for owner in owners(blocking: waiter.lock) {
                    if owner == lock.owner { return true }
                    if seen.insert(owner).inserted { next.append(owner) }
                }
            }
            if next.isEmpty { return false }
            holders = next
        }
        return false
    }

    private func owners(blocking lock: AdvisoryLock) -> [LockOwner] {
        documents[lock.document]?[lock.kind].locks.filter { $0.conflicts(with: lock) }.map(\.owner) ?? []
    }
}
