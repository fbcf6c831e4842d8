/// The locks of one kind held on one document.
///
/// They are kept in the order the kernel keeps its own, since F_GETLK and `/proc/locks` show it: grouped by owner, the
/// owner who has held something the longest first, each owner's locks by where they start. One owner's locks never
/// overlap, and neighbours of one mode are one lock. Every operation is linear in the number of locks.
struct HeldLocks: Sendable {
    private(set) var locks: [AdvisoryLock] = []

    var isEmpty: Bool { locks.isEmpty }

    func firstConflict(with lock: AdvisoryLock) -> AdvisoryLock? {
        locks.first { $0.conflicts(with: lock) }
    }

    /// Gives `owner` the lock `new` in `range`, or nothing if `new` is nil, in place of whatever it holds there. What
    /// sticks out of the range stays; what touches it in the mode of `new` becomes one lock with it, in the name of
    /// the handle and process of `new`.
    ///
    /// The caller has made sure that `new` conflicts with nothing.
    mutating func replace(_ range: LockRange, of owner: LockOwner, with new: AdvisoryLock?) -> LockChange {
        let own = stretch(of: owner)
        let window = touched(by: range, mode: new?.mode, in: own)
        let replaced = Array(locks[window])
        var (head, middle, tail): (AdvisoryLock?, AdvisoryLock?, AdvisoryLock?) = (nil, new, nil)
        if let first = replaced.first, first.range.start < range.start {
            if first.mode == new?.mode {
                middle = middle?.covering(first.range.start, range.end)
            } else {
                head = first.covering(first.range.start, range.start - 1)
            }
        }
        if let last = replaced.last, last.range.end > range.end {
            if last.mode == new?.mode {
                middle = middle.map { $0.covering($0.range.start, last.range.end) }
            } else {
                tail = last.covering(range.end + 1, last.range.end)
            }
        }
        let pieces = [head, middle, tail].compactMap { $0 }
        locks.replaceSubrange(window, with: pieces)
        return LockChange(removed: replaced, added: pieces, newMode: new?.mode)
    }

    /// Whether taking the range away from its owner leaves a piece of one lock on either side: one lock more.
    func splits(_ range: LockRange, of owner: LockOwner) -> Bool {
        locks.contains { $0.owner == owner && $0.range.start < range.start && $0.range.end > range.end }
    }

    /// Takes away every lock that `isGone` picks.
    mutating func removeAll(where isGone: (AdvisoryLock) -> Bool) -> LockChange {
        let removed = locks.filter(isGone)
        if !removed.isEmpty { locks.removeAll(where: isGone) }
        return LockChange(removed: removed, added: [], newMode: nil)
    }

    /// Where the owner's locks stand; for an owner without any, where its first one goes.
    private func stretch(of owner: LockOwner) -> Range<Int> {
        guard let first = locks.firstIndex(where: { $0.owner == owner }) else {
            return locks.endIndex..<locks.endIndex
        }
        return first..<(locks[first...].firstIndex { $0.owner != owner } ?? locks.endIndex)
    }

    /// Which of an owner's locks overlap the range, or touch it in the same mode. They stand side by side, as only the
    /// nearest on either side can touch without overlapping.
    private func touched(by range: LockRange, mode: LockMode?, in own: Range<Int>) -> Range<Int> {
        // Compared at start - 1, never at end + 1: start is at least 0, while end may be Int64.max.
        let first = locks[own].firstIndex { lock in
            lock.range.end >= (lock.mode == mode ? range.start - 1 : range.start)
        }
        guard let first else { return own.upperBound..<own.upperBound }
        let end = locks[first..<own.upperBound].firstIndex { lock in
            (lock.mode == mode ? lock.range.start - 1 : lock.range.start) > range.end
        }
        return first..<(end ?? own.upperBound)
    }
}

/// What an operation did to the locks of a document.
struct LockChange {
    let removed: [AdvisoryLock]
    let added: [AdvisoryLock]
    /// The mode that now holds where the removed locks held, nil if none does.
    let newMode: LockMode?

    /// Whether a request that conflicted before may be free of conflict now.
    var weakens: Bool {
        switch newMode {
        case nil: !removed.isEmpty
        case .shared: removed.contains { $0.mode == .exclusive }
        case .exclusive: false
        }
    }
}

extension AdvisoryLock {
    /// The same lock over other bytes.
    func covering(_ start: Int64, _ end: Int64) -> AdvisoryLock {
        var lock = self
        lock.range = LockRange(unchecked: start, end)
        return lock
    }
}
