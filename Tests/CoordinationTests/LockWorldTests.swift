import Coordination
import TestSupport
import Testing

/// Random worlds of processes that lock, wait, close and are killed, against a naive account of the same.
struct LockWorldTests {
    static let owners: UInt64 = 6
    static let documents: UInt64 = 2

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func noGrantIsWrongLostOrLate(seed: UInt64) throws {
        var numbers = SeededNumbers(seed: seed)
        let table = TestTable()
        var world = LockWorld()
        var now: UInt64 = 0
        var lastWaiter: UInt64 = 0
        var seen = (granted: 0, refused: 0, deadlock: 0, parked: 0, limited: 0, expired: 0)

        for step in 0..<10_000 {
            now += UInt64.random(in: 0..<5, using: &numbers) * Locking.millisecond
            let expired = table.expire(now: now)
            let due = world.waiting.filter { $0.until.map { $0 <= now } ?? false }.map(\.id)
            try #require(expired == due, "step \(step)")
            world.forget(expired)
            seen.expired += expired.count

            let number = UInt64.random(in: 1...Self.owners, using: &numbers)
            let (owner, handle) = (LockOwner(number), LockHandle(number))
            let document = LockedDocument(UInt64.random(in: 1...Self.documents, using: &numbers))
            let kind: LockKind = Int.random(in: 0..<4, using: &numbers) == 0 ? .whole : .record
            let start = Int64.random(in: 0..<LockWorld.bytes, using: &numbers)
            let range = Locking.range(start, Int64.random(in: start..<LockWorld.bytes, using: &numbers))
            var granted: [WaiterID] = []

            if world.isWaiting(owner) {
                // All it can do is be killed: its wait ends, then its descriptors close.
                guard Int.random(in: 0..<10, using: &numbers) == 0 else { continue }
                for wait in world.waiting where wait.lock.owner == owner { #expect(table.cancel(wait.id)) }
                world.forget(world.waiting.filter { $0.lock.owner == owner }.map(\.id))
                world.dropAll(owner)
                granted = table.release(handle)
            } else {
                switch Int.random(in: 0..<100, using: &numbers) {
                case 0..<65:
                    let mode: LockMode = Bool.random(using: &numbers) ? .shared : .exclusive
                    let lock: AdvisoryLock =
                        kind == .whole
                        ? Locking.whole(mode, by: number, on: document)
                        : Locking.record(mode, range.start, range.end, by: number, on: document)
                    let blocking = Bool.random(using: &numbers)
                    let isFree = world.holders(against: lock).isEmpty
                    let isCycle = blocking && kind == .record && world.closesCycle(lock)
                    let decision = table.request(lock, blocking: blocking, now: now)
                    granted = decision.granted
                    if !isFree, kind == .whole { world.drop(owner, document, .whole, .all) }
                    switch decision.outcome {
                    case .granted:
                        try #require(isFree, "step \(step)")
                        world.hold(lock)
                        seen.granted += 1
                    case .refused:
                        try #require(!isFree && !blocking, "step \(step)")
                        seen.refused += 1
                    case .deadlock:
                        try #require(!isFree && isCycle, "step \(step)")
                        seen.deadlock += 1
                    case .parked(let id, let until):
                        try #require(!isFree && !isCycle && blocking == (until == nil), "step \(step)")
                        try #require(id.rawValue > lastWaiter, "step \(step)")
                        lastWaiter = id.rawValue
                        world.park(id, lock, until: until)
                        seen.parked += 1
                        if until != nil { seen.limited += 1 }
                    }
                case 65..<85:
                    world.drop(owner, document, kind, range)
                    granted = table.unlock(kind == .whole ? .all : range, of: owner, kind, on: document)
                case 85..<95:
                    world.drop(owner, document, .record, .all)
                    granted = table.flush(document, owner: owner, handle: handle)
                default:
                    world.dropAll(owner)
                    granted = table.release(handle)
                }
            }
            let isAllowed = world.grant(granted)
            try #require(isAllowed, "step \(step)")
            try #require(world.everyWaiterIsBlocked, "step \(step)")
            try #require(world.agrees(with: table.state.heldLocks), "step \(step)")
            try #require(table.state.waitingLocks.map(\.id) == world.waiting.map(\.id), "step \(step)")
            try #require(table.state.nextDeadline == world.waiting.compactMap(\.until).min(), "step \(step)")
        }

        // The run met every answer there is.
        #expect(seen.granted > 0 && seen.refused > 0 && seen.deadlock > 0)
        #expect(seen.parked > seen.limited && seen.limited > 0 && seen.expired > 0)

        for wait in world.waiting { #expect(table.cancel(wait.id)) }
        for number in 1...Self.owners { #expect(table.release(LockHandle(number)) == []) }
        #expect(table.state.isEmpty)
    }
}
