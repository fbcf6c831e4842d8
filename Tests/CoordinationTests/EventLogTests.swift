import Coordination
import StorePrimitives
import Testing

struct EventLogTests {
    private func log(_ count: Int, capacity: Int, after last: UInt64 = 0) -> EventLog {
        var log = EventLog(capacity: capacity, lastSequence: last)
        for number in 0..<count { log.append(.changed, StorePath("f\(number)")!, time: Int64(number), origin: .outside) }
        return log
    }

    @Test func aReaderGetsEachEventOnceAndInOrder() {
        let log = log(10, capacity: 16)
        let first = log.events(after: 0, limit: 4) { _ in true }
        #expect(first.events.map(\.sequence) == [1, 2, 3, 4] && !first.hasOverflowed && first.next == 4)
        let rest = log.events(after: first.next, limit: 100) { _ in true }
        #expect(rest.events.map(\.sequence) == Array(5...10) && rest.next == 10)
        let last = log.events(after: 10, limit: 100) { _ in true }
        #expect(last.events.isEmpty && !last.hasOverflowed && last.next == 10)
    }

    @Test func whatIsNotWantedIsPassedOver() {
        let page = log(10, capacity: 16).events(after: 0, limit: 2) { $0.path == StorePath("f7") }
        #expect(page.events.map(\.sequence) == [8] && page.next == 10)
    }

    @Test(arguments: [(9, false), (8, false), (7, true), (0, true)])
    func aReaderThatIsTooSlowIsToldSo(after: UInt64, overflow: Bool) {
        // Of twelve events the last four are kept.
        let page = log(12, capacity: 4).events(after: after, limit: 100) { _ in true }
        #expect(page.hasOverflowed == overflow)
        #expect(page.events.map(\.sequence) == Array(max(after + 1, 9)...12))
    }

    @Test func aNumberOfAnotherMountIsAnOverflow() {
        for number in [50, UInt64.max] {
            #expect(log(3, capacity: 4).events(after: number, limit: 9) { _ in true }.hasOverflowed)
        }
        let later = log(3, capacity: 4, after: 100)
        #expect(later.events(after: 50, limit: 9) { _ in true }.hasOverflowed)
        #expect(later.events(after: 100, limit: 9) { _ in true }.events.map(\.sequence) == [101, 102, 103])
    }

    @Test(arguments: [(1, "f11", true), (1, "f10", false), (4, "f8", true), (9, "f8", true), (9, "f7", false)])
    func theLatestAreFound(count: Int, path: String, isFound: Bool) {
        #expect(log(12, capacity: 4).hasLately(count) { $0.path == StorePath(path) } == isFound)
    }

    @Test func whatWasLostIsAnOverflowForAll() {
        var log = log(3, capacity: 8)
        log.lose()
        #expect(log.events(after: 3, limit: 9) { _ in true }.hasOverflowed)
        log.append(.deleted, StorePath("x")!, time: 0, origin: .outside)
        let page = log.events(after: 4, limit: 9) { _ in true }
        #expect(page.events.map(\.sequence) == [5] && !page.hasOverflowed)
    }

    @Test func anEmptyLogHasNothingToMiss() {
        let page = EventLog(capacity: 4).events(after: 0, limit: 9) { _ in true }
        #expect(page.events.isEmpty && !page.hasOverflowed && page.next == 0)
    }

    @Test func anEventConcernsItsItemAndTheFoldersAround() {
        var log = EventLog(capacity: 4)
        let event = log.append(.moved, StorePath("b/x")!, from: StorePath("a/x")!, time: 0, origin: .outside)
        for (item, contents, concerns) in [
            ("a/x", false, true), ("b/x", false, true), ("a", true, true), ("a", false, false), ("", true, true),
            ("c", true, false), ("a/x/inside", false, true), ("b/x/inside", false, false),
        ] {
            #expect(event.concerns(StorePath(item)!, contents: contents) == concerns, "\(item)")
        }
    }
}
