import Coordination
import Testing

/// fcntl(2) record locks of one owner and between owners.
struct RecordLockTests {
    /// What one owner asks for in turn, and what it holds then.
    struct Case: CustomTestStringConvertible {
        let name: String
        let steps: [Step]
        let held: [String]
        var testDescription: String { name }
    }

    enum Step {
        case shared(Int64, Int64)
        case exclusive(Int64, Int64)
        case unlock(Int64, Int64)
    }

    static let end = Int64.max

    @Test(arguments: [
        Case(name: "apart", steps: [.shared(0, 3), .shared(5, 9)], held: ["1 r 0-3", "1 r 5-9"]),
        Case(name: "kept in order", steps: [.shared(5, 9), .shared(0, 3)], held: ["1 r 0-3", "1 r 5-9"]),
        Case(name: "neighbours join upwards", steps: [.shared(0, 4), .shared(5, 9)], held: ["1 r 0-9"]),
        Case(name: "neighbours join downwards", steps: [.shared(5, 9), .shared(0, 4)], held: ["1 r 0-9"]),
        Case(
            name: "neighbours of two modes do not join", steps: [.shared(0, 4), .exclusive(5, 9)],
            held: ["1 r 0-4", "1 w 5-9"]),
        Case(
            name: "a gap filled joins both sides", steps: [.shared(0, 2), .shared(6, 9), .shared(3, 5)],
            held: ["1 r 0-9"]),
        Case(name: "a part asked again changes nothing", steps: [.shared(0, 9), .shared(3, 5)], held: ["1 r 0-9"]),
        Case(
            name: "upgrade of the middle splits", steps: [.shared(0, 9), .exclusive(3, 5)],
            held: ["1 r 0-2", "1 w 3-5", "1 r 6-9"]),
        Case(
            name: "upgrade of the start", steps: [.shared(0, 9), .exclusive(0, 5)], held: ["1 w 0-5", "1 r 6-9"]),
        Case(name: "upgrade of the end", steps: [.shared(0, 9), .exclusive(6, 9)], held: ["1 r 0-5", "1 w 6-9"]),
        Case(name: "upgrade of all", steps: [.shared(0, 9), .exclusive(0, 9)], held: ["1 w 0-9"]),
        Case(
            name: "downgrade joins its neighbours",
            steps: [.shared(0, 9), .exclusive(3, 5), .shared(3, 5)], held: ["1 r 0-9"]),
        Case(
            name: "one lock over many", steps: [.shared(0, 1), .exclusive(3, 4), .shared(6, 7), .exclusive(0, 9)],
            held: ["1 w 0-9"]),
        Case(
            name: "one lock over the ends of two", steps: [.shared(0, 4), .shared(8, 12), .exclusive(3, 9)],
            held: ["1 r 0-2", "1 w 3-9", "1 r 10-12"]),
        Case(name: "unlock of the middle", steps: [.shared(0, 9), .unlock(3, 5)], held: ["1 r 0-2", "1 r 6-9"]),
        Case(name: "unlock of the start", steps: [.shared(0, 9), .unlock(0, 5)], held: ["1 r 6-9"]),
        Case(name: "unlock of the end", steps: [.shared(0, 9), .unlock(5, end)], held: ["1 r 0-4"]),
        Case(name: "unlock over many", steps: [.shared(0, 1), .exclusive(3, 4), .unlock(1, 3)],
            held: ["1 r 0-0", "1 w 4-4"]),
        Case(name: "unlock of nothing", steps: [.shared(0, 3), .unlock(4, 9)], held: ["1 r 0-3"]),
        Case(name: "to the end", steps: [.exclusive(5, end), .shared(7, 7)],
            held: ["1 w 5-6", "1 r 7-7", "1 w 8-"]),
        Case(name: "to the end joins", steps: [.shared(0, 4), .shared(5, end)], held: ["1 r 0-"]),
        Case(name: "the last byte", steps: [.shared(end, end), .shared(0, end - 1)], held: ["1 r 0-"]),
    ])
    func anOwnersRangesReplaceSplitAndJoin(_ example: Case) {
        let table = TestTable()
        for step in example.steps {
            switch step {
            case .shared(let start, let end): #expect(table.take(Locking.record(.shared, start, end, by: 1)))
            case .exclusive(let start, let end): #expect(table.take(Locking.record(.exclusive, start, end, by: 1)))
            case .unlock(let start, let end): #expect(table.unlockRecord(start, end, of: 1) == [])
            }
        }
        #expect(table.held == example.held)
        #expect(table.unlockRecord(0, .max, of: 1) == [])
        #expect(table.state.isEmpty)
    }

    @Test(arguments: [
        (LockMode.shared, LockMode.shared, Int64(0), Int64(9), LockOutcome.granted),
        (.shared, .exclusive, 0, 9, .refused),
        (.exclusive, .shared, 0, 9, .refused),
        (.exclusive, .exclusive, 0, 9, .refused),
        (.exclusive, .exclusive, 9, 12, .refused),
        (.exclusive, .exclusive, 10, 12, .granted),
    ])
    func ownersConflictWhereTheyOverlapAndOneIsExclusive(
        held: LockMode, asked: LockMode, start: Int64, end: Int64, outcome: LockOutcome
    ) {
        let table = TestTable()
        #expect(table.take(Locking.record(held, 0, 9, by: 1)))
        #expect(table.tryTake(Locking.record(asked, start, end, by: 2)) == .init(outcome))
    }

    @Test func anUpgradeIsRefusedWhileAnotherShares() {
        let table = TestTable()
        #expect(table.take(Locking.record(.shared, 0, 9, by: 1)))
        #expect(table.take(Locking.record(.shared, 5, 5, by: 2)))
        #expect(table.tryTake(Locking.record(.exclusive, 0, 9, by: 1)) == .init(.refused))
        #expect(table.held == ["1 r 0-9", "2 r 5-5"])
        #expect(table.take(Locking.record(.exclusive, 0, 4, by: 1)))
        #expect(table.held == ["1 w 0-4", "1 r 5-9", "2 r 5-5"])
    }

    @Test func theFirstConflictIsOfTheOldestOwnerAndHasItsLowestRange() {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 8, 9, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 0, 1, by: 2)))
        #expect(table.take(Locking.record(.exclusive, 4, 5, by: 1)))
        let conflict = table.state.firstConflict(with: Locking.record(.shared, 0, .max, by: 3))
        #expect(conflict == Locking.record(.exclusive, 4, 5, by: 1))
        #expect(conflict?.pid == 1)
        #expect(
            table.state.firstConflict(with: Locking.record(.shared, 0, .max, by: 1))
                == Locking.record(.exclusive, 0, 1, by: 2))
        #expect(table.state.firstConflict(with: Locking.record(.shared, 2, 3, by: 3)) == nil)
    }

    @Test func documentsAndKindsDoNotConflict() {
        let table = TestTable()
        let other = LockedDocument(2)
        #expect(table.take(Locking.record(.exclusive, 0, .max, by: 1)))
        #expect(table.take(Locking.record(.exclusive, 0, .max, by: 2, on: other)))
        #expect(table.take(Locking.whole(.exclusive, by: 3)))
        #expect(table.state.hasLocks(Locking.document))
        #expect(table.unlockRecord(0, .max, of: 2, on: other) == [])
        #expect(!table.state.hasLocks(other))
        #expect(table.unlockRecord(0, .max, of: 1) == [])
        #expect(table.unlockWhole(of: 3) == [])
        #expect(table.state.isEmpty)
    }

    @Test func aCloseDropsTheOwnersRecordLocksThroughWhicheverHandle() {
        let table = TestTable()
        #expect(table.take(Locking.record(.exclusive, 0, 1, by: 1, through: 10)))
        #expect(table.take(Locking.record(.exclusive, 5, 6, by: 1, through: 11)))
        #expect(table.take(Locking.record(.exclusive, 8, 9, by: 2, through: 12)))
        #expect(table.flush(owner: 1, handle: 13) == [])
        #expect(table.held == ["2 w 8-9"])
        #expect(table.release(LockHandle(12)) == [])
        #expect(table.state.isEmpty)
    }

    @Test func aReleaseDropsWhatWasTakenThroughTheHandleOnly() {
        let table = TestTable()
        let other = LockedDocument(2)
        #expect(table.take(Locking.record(.exclusive, 0, 1, by: 1, through: 10)))
        #expect(table.take(Locking.record(.exclusive, 0, 1, by: 1, through: 10, on: other)))
        #expect(table.take(Locking.record(.exclusive, 5, 6, by: 2, through: 11)))
        #expect(table.release(LockHandle(10)) == [])
        #expect(table.held == ["2 w 5-6"])
        #expect(table.release(LockHandle(10)) == [])
        #expect(table.release(LockHandle(11)) == [])
        #expect(table.state.isEmpty)
    }

    @Test func rangesComeAsTheKernelGivesThem() {
        #expect(LockRange(start: 0, end: .max) == .all)
        #expect(LockRange(start: 5, end: 4) == nil)
        #expect(LockRange(start: -1, end: 4) == nil)
        #expect(LockRange(start: 0, length: 0) == .all)
        #expect(LockRange(start: 5, length: 2) == LockRange(start: 5, end: 6))
        #expect(LockRange(start: .max, length: 1) == LockRange(start: .max, end: .max))
        #expect(LockRange(start: .max, length: 2) == nil)
        #expect(LockRange(start: 5, length: -1) == nil)
        #expect(LockRange.all.length == 0)
        #expect(LockRange(start: 5, end: 6)?.length == 2)
    }
}
