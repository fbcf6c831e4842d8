import Coordination
import StorePrimitives
import Testing

struct EventLogTests {
    private typealias Position = EventLog.Position

    private func log(_ count: Int, capacity: Int, after last: UInt64 = 0) -> EventLog {
        var log = EventLog(mostOfUser: capacity, mostOfAll: capacity, lastSequence: last)
        for number in 0..<count { log.append(.changed, StorePath("f\(number)")!, time: Int64(number), origin: .outside) }
        return log
    }

    @Test func aReaderGetsEachEventOnceAndInOrder() {
        let log = log(10, capacity: 16)
        let first = log.events(after: Position(after: 0), limit: 4) { _ in true }
        #expect(first.events.map(\.sequence) == [1, 2, 3, 4] && first.missed.isEmpty && first.next.sequence == 4)
        let rest = log.events(after: first.next, limit: 100) { _ in true }
        #expect(rest.events.map(\.sequence) == Array(5...10) && rest.next.sequence == 10)
        let last = log.events(after: Position(after: 10), limit: 100) { _ in true }
        #expect(last.events.isEmpty && last.missed.isEmpty && last.next.sequence == 10)
    }

    @Test func whatIsNotWantedIsPassedOver() {
        let page = log(10, capacity: 16).events(after: Position(after: 0), limit: 2) { $0.path == StorePath("f7") }
        #expect(page.events.map(\.sequence) == [8] && page.next.sequence == 10)
    }

    @Test(arguments: [(9, false), (8, false), (7, true), (0, true)])
    func aReaderThatIsTooSlowIsToldSo(after: UInt64, overflow: Bool) {
        // Of twelve events the last four are kept.
        let page = log(12, capacity: 4).events(after: Position(after: after), limit: 100) { _ in true }
        #expect(page.missed.isEmpty != overflow)
        #expect(page.events.map(\.sequence) == Array(max(after + 1, 9)...12))
    }

    @Test func aNumberOfAnotherMountIsAnOverflow() {
        for number in [50, UInt64.max] {
            #expect(log(3, capacity: 4).events(after: Position(after: number), limit: 9) { _ in true }.missed == [.root])
        }
        let later = log(3, capacity: 4, after: 100)
        #expect(later.events(after: Position(after: 50), limit: 9) { _ in true }.missed == [.root])
        #expect(later.events(after: Position(after: 100), limit: 9) { _ in true }.events.map(\.sequence) == [101, 102, 103])
    }

    @Test(arguments: [(1, "f11", true), (1, "f10", false), (4, "f8", true), (9, "f8", true), (9, "f7", false)])
    func theLatestAreFound(count: Int, path: String, isFound: Bool) {
        #expect(log(12, capacity: 4).hasLately(count) { $0.path == StorePath(path) } == isFound)
    }

    @Test func whatWasLostIsAnOverflowForAll() {
        var log = log(3, capacity: 8)
        log.lose([.root])
        #expect(log.events(after: Position(after: 3), limit: 9) { _ in true }.missed == [.root])
        log.append(.deleted, StorePath("x")!, time: 0, origin: .outside)
        let page = log.events(after: Position(after: 4), limit: 9) { _ in true }
        #expect(page.events.map(\.sequence) == [5] && page.missed.isEmpty)
    }

    @Test func whatOneUserDoesDoesNotPushOutWhatOthersDid() {
        var log = EventLog(mostOfUser: 4, mostOfAll: 100)
        log.append(.changed, StorePath("alice/doc")!, time: 0, origin: .user(1), by: 1)
        for number in 0..<500 { log.append(.changed, StorePath("bob/folder/\(number)")!, time: 0, origin: .process(id: 7, user: 2, name: "sh"), by: 2) }
        log.append(.changed, StorePath("outside")!, time: 0, origin: .outside)
        let page = log.events(after: Position(after: 0), limit: 100) { _ in true }
        #expect(page.events.map(\.sequence) == [1] + (498...502))
        #expect(page.missed == [StorePath("bob/folder")!])
        // Once.
        #expect(log.events(after: page.next, limit: 100) { _ in true }.missed.isEmpty)
        let half = log.events(after: Position(after: 0), limit: 1) { _ in true }
        #expect(half.missed == [StorePath("bob/folder")!])
        let rest = log.events(after: half.next, limit: 100) { _ in true }
        #expect(rest.missed.isEmpty && rest.events.map(\.sequence) == Array(498...502))
        // What is lost after a reader was told is told again.
        log.append(.changed, StorePath("bob/more")!, time: 0, origin: .user(2), by: 2)
        #expect(log.events(after: half.next, limit: 100) { _ in true }.missed == [StorePath("bob/folder")!])
        #expect(log.events(after: Position(after: 498), limit: 100) { _ in true }.missed.isEmpty)
    }

    @Test func allTogetherHaveABoundToo() {
        var log = EventLog(mostOfUser: 4, mostOfAll: 10)
        for user in 0..<200 { log.append(.changed, StorePath("f\(user)")!, time: 0, origin: .user(UInt32(user)), by: UInt32(user)) }
        let page = log.events(after: Position(after: 0), limit: 100) { _ in true }
        #expect(page.events.map(\.sequence) == Array(191...200) && page.missed.count > 10)
        for number in 0..<20 { log.append(.changed, StorePath("g\(number)")!, time: 0, origin: .user(199), by: 199) }
        // A user who has much more than others loses.
        let end = log.events(after: Position(after: 190), limit: 100) { _ in true }
        #expect(end.events.count == 10 && end.events.count { $0.origin != .user(199) } >= 6)
        // Long paths count as several.
        var long = EventLog(mostOfUser: 40, mostOfAll: 100)
        for _ in 0..<100 { long.append(.changed, StorePath(String(repeating: "n/", count: 1_000) + "x")!, time: 0, origin: .user(1), by: 1) }
        #expect((4...6).contains(long.events(after: Position(after: 0), limit: 100) { _ in true }.events.count))
    }

    @Test func whatIsMissedHasItsFolder() {
        var missed = MissedEvents()
        for (number, path) in ["a/b/c", "a/b/d/e", "a/b"].enumerated() { missed.add([StorePath(path)!], by: 1, sequence: UInt64(number)) }
        missed.add([StorePath("x")!], by: 2, sequence: 9)
        #expect(missed.places(after: 0, since: 0) == [StorePath("a/b")!, StorePath("x")!])
        #expect(missed.places(after: 2, since: 0) == [StorePath("x")!])
        #expect(missed.places(after: 0, since: 4).isEmpty && missed.moment == 4)
        // The places stay few.
        for user in 10..<1_000 { missed.add([StorePath("y/\(user)")!], by: UInt32(user), sequence: 10) }
        let places = missed.places(after: 9, since: 4)
        #expect(places.count <= 64 + 16 && places.contains(StorePath("y/999")!) && !places.contains(.root))
    }

    @Test func whoChangesInTwoFoldersMissesNothingElsewhere() {
        var missed = MissedEvents()
        for number in 0..<1_000 { missed.add([StorePath(number % 2 == 0 ? "bob/one" : "shared/bob")!], by: 1, sequence: UInt64(number)) }
        #expect(missed.places(after: 0, since: 0) == [StorePath("bob/one")!, StorePath("shared/bob")!])
        // Of many folders those are told that hold them.
        for number in 0..<40 { missed.add([StorePath("bob/many/\(number)")!], by: 1, sequence: 1_001) }
        let places = missed.places(after: 0, since: 0)
        #expect(places.count <= 32 && places.contains(StorePath("shared/bob")!) && places.contains(StorePath("bob/many")!))
    }

    @Test(arguments: [("a/b", "a/b", "a/b"), ("a/b", "a/b/c", "a/b"), ("a", "ab", ""), ("", "x", ""), ("a/bc", "a/bd", "a"), ("a/b", "ax", ""),
        ("a/b/c/d", "a/b/x", "a/b"), ("a/b/c", "a", "a")])
    func theCommonFolderIsTheDeepest(one: String, other: String, common: String) {
        for (one, other) in [(one, other), (other, one)] {
            #expect(StorePath(one)!.commonFolder(with: StorePath(other)!) == StorePath(common)!)
        }
    }

    @Test func anEmptyLogHasNothingToMiss() {
        let page = EventLog(mostOfUser: 4, mostOfAll: 4).events(after: Position(after: 0), limit: 9) { _ in true }
        #expect(page.events.isEmpty && page.missed.isEmpty && page.next.sequence == 0)
    }

    @Test func anEventConcernsItsItemAndTheFoldersAround() {
        var log = EventLog(mostOfUser: 4, mostOfAll: 4)
        let event = log.append(.moved, StorePath("b/x")!, from: StorePath("a/x")!, time: 0, origin: .outside)
        for (item, contents, concerns) in [
            ("a/x", false, true), ("b/x", false, true), ("a", true, true), ("a", false, false), ("", true, true),
            ("c", true, false), ("a/x/inside", false, true), ("b/x/inside", false, false),
        ] {
            #expect(event.concerns(StorePath(item)!, contents: contents) == concerns, "\(item)")
        }
    }
}
