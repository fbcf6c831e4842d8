/// The only places that change what is held and who waits, and keep the indexes true.
extension LockTable {
    /// Holds a lock that conflicts with nothing, in place of what its owner held there. Returns whether that may let
    /// others in.
    mutating func hold(_ lock: AdvisoryLock) -> Bool {
        let change = documents[lock.document, default: DocumentLocks()][lock.kind]
            .replace(lock.range, of: lock.owner, with: lock)
        count(change, on: lock.document)
        handles[lock.handle]?.isFlushed = false
        return change.weakens
    }

    /// Takes a range away from an owner. Returns whether that may let others in; then `settle` is due.
    mutating func drop(
        _ range: LockRange, of owner: LockOwner, _ kind: LockKind, on document: LockedDocument
    ) -> Bool {
        guard let change = documents[document]?[kind].replace(range, of: owner, with: nil) else { return false }
        count(change, on: document)
        return change.weakens
    }

    /// Takes away the locks of one kind that `isGone` picks. Returns whether that may let others in; then `settle` is
    /// due.
    mutating func dropAll(
        _ kind: LockKind, on document: LockedDocument, where isGone: (AdvisoryLock) -> Bool
    ) -> Bool {
        guard let change = documents[document]?[kind].removeAll(where: isGone) else { return false }
        count(change, on: document)
        return change.weakens
    }

    /// Grants every waiter that what is held now allows, in the order they came, and forgets the document if nothing is
    /// left of it. Returns the waiters granted.
    mutating func settle(_ document: LockedDocument) -> [WaiterID] {
        var granted: [WaiterID] = []
        var place = 0
        while let waiter = waiter(at: place, of: document) {
            guard firstConflict(with: waiter.lock) == nil else {
                place += 1
                continue
            }
            withdraw(waiter.id)
            granted.append(waiter.id)
            // A grant that weakens what its owner held may let in one who stands further ahead.
            if hold(waiter.lock) { place = 0 }
            if keepsOutAllWaiters(waiter.lock) { break }
        }
        if let left = documents[document], left.record.isEmpty, left.whole.isEmpty {
            documents[document] = nil
        }
        return granted
    }

    /// Whether a lock that was just granted holds all of its document alone, and nobody waits there whom that does not concern:
    /// with thousands of waiters not each is to be tried after each grant.
    private func keepsOutAllWaiters(_ lock: AdvisoryLock) -> Bool {
        guard lock.mode == .exclusive, lock.range == .all, let queue = documents[lock.document]?.queue else { return false }
        return queue.allSatisfy { id in
            waiters[id].map { $0.lock.kind == lock.kind && $0.lock.owner != lock.owner } ?? true
        }
    }

    /// Ends a wait without an answer. Returns whether the waiter was still parked. Linear in the waiters of its
    /// document and in those with a time limit.
    @discardableResult
    mutating func withdraw(_ id: WaiterID) -> Bool {
        guard let waiter = waiters.removeValue(forKey: id) else { return false }
        documents[waiter.lock.document]?.queue.removeAll { $0 == id }
        if waiter.until != nil {
            deadlines.removeAll { $0.waiter == id }
        } else if waiter.lock.kind == .record {
            let owner = waiter.lock.owner
            blockedOwners[owner]?.removeAll { $0 == id }
            if blockedOwners[owner]?.isEmpty == true { blockedOwners[owner] = nil }
        }
        return true
    }

    private func waiter(at place: Int, of document: LockedDocument) -> WaitingLock? {
        guard let queue = documents[document]?.queue, place < queue.count else { return nil }
        return waiters[queue[place]]
    }

    /// Counts a change into the use of handles. What was added counts first, so that a handle keeps its entry, and
    /// with it its mark, while one of its locks replaces another.
    private mutating func count(_ change: LockChange, on document: LockedDocument) {
        for lock in change.removed { count(-1, for: lock.user) }
        for lock in change.added {
            count(1, for: lock.user)
            handles[lock.handle, default: HandleUse()].held[document, default: 0] += 1
        }
        for lock in change.removed {
            guard let use = handles[lock.handle], let count = use.held[document] else { continue }
            if count > 1 {
                handles[lock.handle]?.held[document] = count - 1
            } else if use.held.count > 1 {
                handles[lock.handle]?.held[document] = nil
            } else {
                handles[lock.handle] = nil
            }
        }
    }
}
