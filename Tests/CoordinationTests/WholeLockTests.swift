import Coordination
import Testing

/// flock(2).
struct WholeLockTests {
    @Test(arguments: [
        (LockMode.shared, LockMode.shared, LockOutcome.granted),
        (.shared, .exclusive, .refused),
        (.exclusive, .shared, .refused),
        (.exclusive, .exclusive, .refused),
    ])
    func ownersConflictUnlessBothShare(held: LockMode, asked: LockMode, outcome: LockOutcome) {
        let table = TestTable()
        #expect(table.take(Locking.whole(held, by: 1)))
        #expect(table.tryTake(Locking.whole(asked, by: 2)) == .init(outcome))
    }

    @Test func anOwnerHasOneLock() {
        let table = TestTable()
        #expect(table.take(Locking.whole(.shared, by: 1)))
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        #expect(table.held == ["1 w 0-"])
        #expect(table.unlockWhole(of: 1) == [])
        #expect(table.state.isEmpty)
    }

    @Test func aRefusedConversionLosesTheLock() {
        let table = TestTable()
        #expect(table.take(Locking.whole(.shared, by: 1)))
        #expect(table.take(Locking.whole(.shared, by: 2)))
        #expect(table.tryTake(Locking.whole(.exclusive, by: 1)) == .init(.refused))
        #expect(table.held == ["2 r 0-"])
        #expect(table.take(Locking.whole(.exclusive, by: 2)))
    }

    @Test func twoConversionsThatWouldWaitForEachOtherDoNot() throws {
        let table = TestTable()
        #expect(table.take(Locking.whole(.shared, by: 1)))
        #expect(table.take(Locking.whole(.shared, by: 2)))
        let first = try #require(table.wait(Locking.whole(.exclusive, by: 1)))
        #expect(table.request(Locking.whole(.exclusive, by: 2), blocking: true) == .init(.granted))
        #expect(table.unlockWhole(of: 2) == [first])
        #expect(table.held == ["1 w 0-"])
    }

    /// 2 waits to convert in one thread while another of its threads has taken the shared lock again.
    @Test func aConversionThatFailsLetsWaitersInBetween() throws {
        let table = TestTable()
        #expect(table.take(Locking.whole(.shared, by: 1)))
        #expect(table.take(Locking.whole(.shared, by: 2)))
        let waiter = try #require(table.wait(Locking.whole(.exclusive, by: 2)))
        #expect(table.take(Locking.whole(.shared, by: 2)))
        let decision = table.tryTake(Locking.whole(.exclusive, by: 1))
        #expect(decision.outcome == .refused)
        #expect(decision.granted == [waiter])
        #expect(table.held == ["2 w 0-"])
    }

    @Test func aDowngradeLetsOtherReadersIn() throws {
        let table = TestTable()
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        let reader = try #require(table.wait(Locking.whole(.shared, by: 2)))
        let decision = table.tryTake(Locking.whole(.shared, by: 1))
        #expect(decision.outcome == .granted)
        #expect(decision.granted == [reader])
    }

    @Test func aFlushKeepsTheLockAndAReleaseEndsIt() {
        let table = TestTable()
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        #expect(table.flush(owner: 1) == [])
        #expect(table.held == ["1 w 0-"])
        #expect(table.release(LockHandle(1)) == [])
        #expect(table.state.isEmpty)
    }

    @Test func thereIsNoDeadlockDetection() {
        let table = TestTable()
        let other = LockedDocument(2)
        #expect(table.take(Locking.whole(.exclusive, by: 1)))
        #expect(table.take(Locking.whole(.exclusive, by: 2, on: other)))
        #expect(table.wait(Locking.whole(.exclusive, by: 2)) != nil)
        #expect(table.wait(Locking.whole(.exclusive, by: 1, on: other)) != nil)
    }
}
