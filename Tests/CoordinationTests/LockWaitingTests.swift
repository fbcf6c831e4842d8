import Coordination
import Testing

/// Waiters: their order, deadlocks, cancelling.
struct LockWaitingTests {
    @Test func waitersAreGrantedInTheOrderTheyCame() throws {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 9, by: 1)))
        let second = try #require(table.wait(Locking.record(.exclusive, 0, 9, by: 2)))
        let third = try #require(table.wait(Locking.record(.exclusive, 0, 9, by: 3)))
        #expect(table.unlockRecord(0, 9, of: 1) == [second])
        #expect(table.unlockRecord(0, 9, of: 2) == [third])
        #expect(table.unlockRecord(0, 9, of: 3) == [])
        #expect(table.state.isEmpty)
    }

    @Test func everyWaiterThatFitsIsGrantedAtOnce() throws {
        let table = TestTable()
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        let readerA = try #require(table.wait(Locking.whole(.shared, by: 2)))
        let writer = try #require(table.wait(Locking.whole(.exclusive, by: 3)))
        let readerB = try #require(table.wait(Locking.whole(.shared, by: 4)))
        #expect(table.unlockWhole(of: 1) == [readerA, readerB])
        #expect(table.take(Locking.whole(.shared, by: 5)))
        #expect(table.unlockWhole(of: 5) == [])
        #expect(table.unlockWhole(of: 2) == [])
        #expect(table.unlockWhole(of: 4) == [writer])
    }

    @Test func unlockingAPartGrantsWhoNeedsThatPart() throws {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 9, by: 1)))
        let all = try #require(table.wait(Locking.record(.shared, 0, 9, by: 2)))
        let part = try #require(table.wait(Locking.record(.shared, 4, 5, by: 3)))
        #expect(table.unlockRecord(4, 5, of: 1) == [part])
        let decision = table.tryTake(Locking.record(.shared, 0, 9, by: 1))
        #expect(decision.outcome == .granted)
        #expect(decision.granted == [all])
    }

    /// The grant is a downgrade of what the waiter's owner holds, so it lets in one who came earlier.
    @Test func aGrantThatWeakensLetsInAnEarlierWaiter() throws {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 4, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 5, 9, by: 2)))
        let early = try #require(table.wait(Locking.record(.shared, 0, 4, by: 3)))
        let late = try #require(table.wait(Locking.record(.shared, 0, 9, by: 1)))
        #expect(table.unlockRecord(5, 9, of: 2) == [late, early])
    }

    @Test func flushAndReleaseGrantWaiters() throws {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 9, by: 1)))
        let first = try #require(table.wait(Locking.record(.exclusive, 0, 9, by: 2)))
        let second = try #require(table.wait(Locking.record(.exclusive, 0, 9, by: 3)))
        #expect(table.flush(owner: 1) == [first])
        #expect(table.release(LockHandle(1)) == [])
        #expect(table.release(LockHandle(2)) == [second])
    }

    @Test func aCancelledWaiterIsNeverGranted() throws {
        let table = TestTable()
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        let cancelled = try #require(table.wait(Locking.whole(.exclusive, by: 2)))
        let kept = try #require(table.wait(Locking.whole(.exclusive, by: 3)))
        #expect(table.cancel(cancelled))
        #expect(!table.cancel(cancelled))
        #expect(table.state.waitingLocks.map(\.id) == [kept])
        #expect(table.unlockWhole(of: 1) == [kept])
        #expect(!table.cancel(kept))
        #expect(table.release(LockHandle(3)) == [])
        #expect(table.state.isEmpty)
    }

    @Test func waitersAreListedWithWhatTheyAskedFor() throws {
        let table = TestTable()
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        let lock = Locking.whole(.shared, by: 2)
        let id = try #require(table.wait(lock))
        #expect(table.state.waitingLocks == [WaitingLock(id: id, lock: lock, until: nil)])
        #expect(table.state.heldLocks == [Locking.whole(.exclusive, by: 1)])
    }

    /// Owners 1 to `length` hold a byte each and wait for the next one's; the last asks for the first byte.
    static func closeCycle(of length: UInt64) -> LockOutcome {
        let table = TestTable()
        for owner in 1...length {
            _ = table.take(Locking.record(.exclusive, Int64(owner), Int64(owner), by: owner))
        }
        for owner in 1..<length {
            _ = table.wait(Locking.record(.exclusive, Int64(owner + 1), Int64(owner + 1), by: owner))
        }
        return table.request(Locking.record(.exclusive, 1, 1, by: length), blocking: true).outcome
    }

    @Test(arguments: [2, 3, 12] as [UInt64])
    func aCycleIsADeadlock(length: UInt64) {
        #expect(Self.closeCycle(of: length) == .deadlock)
    }

    @Test func aCycleBeyondTheKernelsLimitIsNotLookedFor() {
        guard case .parked = Self.closeCycle(of: 13) else {
            Issue.record("expected to be parked")
            return
        }
    }

    @Test func aCycleOverTwoDocumentsIsADeadlock() {
        let table = TestTable()
        let other = LockedDocument(2)
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 2, on: other)))
        #expect(table.wait(Locking.record(.shared, 0, 0, by: 1, on: other)) != nil)
        #expect(table.request(Locking.record(.shared, 0, 0, by: 2), blocking: true) == .init(.deadlock))
    }

    @Test func twoUpgradesOfOneRangeAreADeadlock() throws {
        let table = TestTable()
        #expect(table.take(Locking.record(.shared, 0, 0, by: 1)))
        #expect(table.take(Locking.record(.shared, 0, 0, by: 2)))
        let first = try #require(table.wait(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.request(Locking.record(.exclusive, 0, 0, by: 2), blocking: true) == .init(.deadlock))
        #expect(table.unlockRecord(0, 0, of: 2) == [first])
    }

    /// The cycle does not run through the first of two conflicting locks.
    @Test func aCycleThroughAnyHolderIsADeadlock() {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 1, 1, by: 2)))
        #expect(table.take(Locking.record(.exclusive, 2, 2, by: 3)))
        #expect(table.wait(Locking.record(.exclusive, 0, 1, by: 3)) != nil)
        #expect(table.request(Locking.record(.exclusive, 2, 2, by: 2), blocking: true) == .init(.deadlock))
    }

    @Test func aWaitThatEndedMakesNoDeadlock() throws {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 1, 1, by: 2)))
        let wait = try #require(table.wait(Locking.record(.exclusive, 1, 1, by: 1)))
        #expect(table.cancel(wait))
        #expect(table.wait(Locking.record(.exclusive, 0, 0, by: 2)) != nil)
    }

    @Test func aNonBlockingRequestInACycleIsRefused() {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 0, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 1, 1, by: 2)))
        #expect(table.wait(Locking.record(.exclusive, 1, 1, by: 1)) != nil)
        #expect(table.tryTake(Locking.record(.exclusive, 0, 0, by: 2)) == .init(.refused))
    }
}
