import Coordination
import Testing

/// Non-blocking requests while the RELEASE of a conflicting lock may be on its way.
struct LateReleaseTests {
    static let now: UInt64 = 1_000_000_000
    static let limit = now + 20 * Locking.millisecond

    /// The waiter of a decision that parks for the default timeout and lets nobody in; nil for any other.
    static func parked(_ decision: LockDecision) -> WaiterID? {
        guard case .parked(let id, until: limit) = decision.outcome, decision.granted.isEmpty else { return nil }
        return id
    }

    @Test func aRequestWaitsForTheReleaseOfAFlushedHandle() throws {
        let table = TestTable()
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        let waiter = try #require(Self.parked(table.tryTake(Locking.whole(.exclusive, by: 2), now: Self.now)))
        #expect(table.state.nextDeadline == Self.limit)
        #expect(table.release(LockHandle(1)) == [waiter])
        #expect(table.state.nextDeadline == nil)
        #expect(table.expire(now: Self.limit) == [])
        #expect(table.held == ["2 w 0-"])
    }

    @Test func itIsRefusedWhenNoReleaseComes() throws {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 9, by: 1, through: 10)))
        #expect(table.flush(owner: 7, handle: 10) == [])
        let request = Locking.record(.shared, 5, 5, by: 2)
        let waiter = try #require(Self.parked(table.tryTake(request, now: Self.now)))
        #expect(table.expire(now: Self.limit - 1) == [])
        #expect(table.expire(now: Self.limit) == [waiter])
        #expect(table.release(LockHandle(10)) == [])
        #expect(table.state.isEmpty)
    }

    @Test func itIsRefusedAtOnceWhileTheHandleIsInUse() {
        let table = TestTable()
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        #expect(table.tryTake(Locking.whole(.exclusive, by: 2), now: Self.now) == .init(.refused))
    }

    @Test func itIsRefusedAtOnceIfOneHolderWouldStay() {
        let table = TestTable()
        #expect(table.take(Locking.whole(.shared, by: 1)))
        #expect(table.take(Locking.whole(.shared, by: 2)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        #expect(table.tryTake(Locking.whole(.exclusive, by: 3), now: Self.now) == .init(.refused))
        #expect(table.flush(owner: 7, handle: 2) == [])
        #expect(Self.parked(table.tryTake(Locking.whole(.exclusive, by: 3), now: Self.now)) != nil)
    }

    @Test func holdersThatDoNotConflictDoNotCount() {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 9, 9, by: 2)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        #expect(Self.parked(table.tryTake(Locking.record(.exclusive, 0, 0, by: 3), now: Self.now)) != nil)
        #expect(table.tryTake(Locking.record(.exclusive, 9, 9, by: 3), now: Self.now) == .init(.refused))
    }

    @Test func aFlushBeforeTheLockWasTakenDoesNotCount() {
        let table = TestTable()
        #expect(table.take(Locking.whole(.shared, by: 2)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        #expect(table.take(Locking.whole(.shared, by: 1)))
        #expect(table.unlockWhole(of: 2) == [])
        #expect(table.tryTake(Locking.whole(.exclusive, by: 3), now: Self.now) == .init(.refused))
    }

    @Test func askingThroughTheHandleAgainClearsTheMark() {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        #expect(table.take(Locking.record(.exclusive, 5, 5, by: 1)))
        #expect(table.tryTake(Locking.record(.exclusive, 0, 0, by: 2), now: Self.now) == .init(.refused))
    }

    @Test func evenARefusedRequestThroughTheHandleClearsTheMark() {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 5, 5, by: 2)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        #expect(table.tryTake(Locking.record(.exclusive, 5, 5, by: 1), now: Self.now) == .init(.refused))
        #expect(table.tryTake(Locking.record(.exclusive, 0, 0, by: 3), now: Self.now) == .init(.refused))
    }

    @Test func aWaiterGrantedThroughTheHandleClearsTheMark() throws {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 5, 5, by: 2)))
        let waiter = try #require(table.wait(Locking.record(.exclusive, 5, 5, by: 1)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        #expect(table.unlockRecord(5, 5, of: 2) == [waiter])
        #expect(table.tryTake(Locking.record(.exclusive, 0, 0, by: 3), now: Self.now) == .init(.refused))
    }

    @Test func theMarkOutlivesAnUnlockOfAPart() {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 9, by: 1)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        #expect(table.unlockRecord(4, 5, of: 1) == [])
        #expect(Self.parked(table.tryTake(Locking.record(.exclusive, 0, 0, by: 2), now: Self.now)) != nil)
    }

    @Test func aBlockingRequestHasNoLimit() {
        let table = TestTable()
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        #expect(table.wait(Locking.whole(.exclusive, by: 2), now: Self.now) != nil)
        #expect(table.state.nextDeadline == nil)
    }

    @Test func itKeepsItsPlaceAmongTheWaiters() throws {
        let table = TestTable()
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        let blocking = try #require(table.wait(Locking.whole(.exclusive, by: 2)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        let waiter = try #require(Self.parked(table.tryTake(Locking.whole(.exclusive, by: 3), now: Self.now)))
        #expect(table.release(LockHandle(1)) == [blocking])
        #expect(table.expire(now: Self.limit) == [waiter])
    }

    @Test func aParkedConversionHasGivenUpItsLock() throws {
        let table = TestTable()
        #expect(table.take(Locking.whole(.shared, by: 1)))
        #expect(table.take(Locking.whole(.shared, by: 2)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        let waiter = try #require(Self.parked(table.tryTake(Locking.whole(.exclusive, by: 2), now: Self.now)))
        #expect(table.held == ["1 r 0-"])
        #expect(table.release(LockHandle(1)) == [waiter])
        #expect(table.held == ["2 w 0-"])
    }

    @Test func waitsEndInTheOrderOfTheirLimits() throws {
        let table = TestTable(releaseTimeout: .milliseconds(5))
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        var waiters: [WaiterID] = []
        for time in [30, 10, 20] as [UInt64] {
            let decision = table.tryTake(Locking.whole(.exclusive, by: 2), now: time)
            guard case .parked(let id, until: time + 5 * Locking.millisecond) = decision.outcome else {
                Issue.record("not parked: \(decision)")
                return
            }
            waiters.append(id)
        }
        #expect(table.state.nextDeadline == 10 + 5 * Locking.millisecond)
        #expect(table.expire(now: 20 + 5 * Locking.millisecond) == [waiters[1], waiters[2]])
        #expect(table.expire(now: .max) == [waiters[0]])
    }

    /// Such a wait ends by itself, so it closes no cycle.
    @Test func aLimitedWaitMakesNoDeadlock() throws {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 1, 1, by: 2)))
        #expect(table.flush(owner: 7, handle: 1) == [])
        #expect(Self.parked(table.tryTake(Locking.record(.exclusive, 0, 0, by: 2), now: Self.now)) != nil)
        #expect(table.wait(Locking.record(.exclusive, 1, 1, by: 1)) != nil)
    }
}
