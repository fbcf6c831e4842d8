import Coordination

/// A second, naive account of the locks: a mode for each byte and owner, and a list of who waits. It is told what the
/// table answered, and says where that breaks a rule.
///
/// Its owners are like processes of one thread: while one waits it does nothing else.
struct LockWorld {
    static let bytes: Int64 = 16

    struct Cell: Hashable {
        let document: LockedDocument
        let kind: LockKind
        let byte: Int64
    }

    private(set) var cells: [Cell: [LockOwner: LockMode]] = [:]
    private(set) var waiting: [(id: WaiterID, lock: AdvisoryLock, until: UInt64?)] = []

    func isWaiting(_ owner: LockOwner) -> Bool { waiting.contains { $0.lock.owner == owner } }

    private static func cells(_ lock: AdvisoryLock) -> [Cell] {
        cells(lock.document, lock.kind, lock.kind == .whole ? Locking.range(0, 0) : lock.range)
    }

    private static func cells(_ document: LockedDocument, _ kind: LockKind, _ range: LockRange) -> [Cell] {
        (range.start...min(range.end, bytes - 1)).map { Cell(document: document, kind: kind, byte: $0) }
    }

    /// The owners that keep `lock` from being held.
    func holders(against lock: AdvisoryLock) -> Set<LockOwner> {
        var owners: Set<LockOwner> = []
        for cell in Self.cells(lock) {
            for (owner, mode) in cells[cell] ?? [:] where owner != lock.owner {
                if mode == .exclusive || lock.mode == .exclusive { owners.insert(owner) }
            }
        }
        return owners
    }

    mutating func hold(_ lock: AdvisoryLock) {
        for cell in Self.cells(lock) { cells[cell, default: [:]][lock.owner] = lock.mode }
    }

    mutating func park(_ id: WaiterID, _ lock: AdvisoryLock, until: UInt64?) {
        waiting.append((id, lock, until))
    }

    mutating func drop(_ owner: LockOwner, _ document: LockedDocument, _ kind: LockKind, _ range: LockRange) {
        for cell in Self.cells(document, kind, kind == .whole ? Locking.range(0, 0) : range) {
            cells[cell]?[owner] = nil
        }
    }

    mutating func dropAll(_ owner: LockOwner) {
        for cell in cells.keys { cells[cell]?[owner] = nil }
    }

    /// Waits that ended without a lock.
    mutating func forget(_ ids: [WaiterID]) {
        waiting.removeAll { ids.contains($0.id) }
    }

    /// Waits that ended with the lock. Returns false if one of them was not waiting, or conflicts with what is held.
    mutating func grant(_ ids: [WaiterID]) -> Bool {
        for id in ids {
            guard let place = waiting.firstIndex(where: { $0.id == id }) else { return false }
            let lock = waiting.remove(at: place).lock
            guard holders(against: lock).isEmpty else { return false }
            hold(lock)
        }
        return true
    }

    /// Whether every waiter has something to wait for.
    var everyWaiterIsBlocked: Bool { waiting.allSatisfy { !holders(against: $0.lock).isEmpty } }

    /// Whether `lock`, if it waited, would wait for itself.
    func closesCycle(_ lock: AdvisoryLock) -> Bool {
        var seen: Set<LockOwner> = []
        var open = holders(against: lock)
        while let owner = open.popFirst() {
            if owner == lock.owner { return true }
            guard seen.insert(owner).inserted else { continue }
            for wait in waiting where wait.lock.owner == owner && wait.lock.kind == .record && wait.until == nil {
                open.formUnion(holders(against: wait.lock))
            }
        }
        return false
    }

    /// Whether the table lists exactly what is held here, by byte.
    func agrees(with held: [AdvisoryLock]) -> Bool {
        var listed: [Cell: [LockOwner: LockMode]] = [:]
        for lock in held {
            for cell in Self.cells(lock) {
                guard listed[cell, default: [:]].updateValue(lock.mode, forKey: lock.owner) == nil else { return false }
            }
        }
        return listed == cells.filter { !$0.value.isEmpty }
    }
}
