import FuseServer
import Testing

struct NoticeQueueTests {
    private typealias Queue = NoticeQueue<String>
    private let one = NodeID(10)
    private let other = NodeID(11)

    @Test func noticesComeInOrderAndOnce() {
        var queue = Queue()
        let notices: [Queue.Notice] = [.entry(one, [1]), .contents(one), .entry(other, [1]), .entry(one, [2])]
        for notice in notices + notices { queue.add(notice) }
        #expect(queue.takeAll().map(\.notice) == notices)
        #expect(queue.takeAll().isEmpty)
        queue.add(.contents(one))
        #expect(queue.takeAll().map(\.notice) == [.contents(one)])
    }

    @Test func whoeverAwaitsANoticeThatWaitsAlreadyIsToldToo() {
        var queue = Queue()
        queue.add(.entry(one, [1]))
        queue.add(.entry(one, [1]), awaiting: ["first"])
        queue.add(.entry(one, [1]), awaiting: ["second"])
        #expect(queue.takeAll().map(\.awaiting) == [["first", "second"]])
    }

    @Test func manyNamesAreReplacedByTheirFolders() {
        var queue = Queue(most: 3)
        queue.add(.contents(NodeID(5)), awaiting: ["content"])
        for name in UInt8(1)...2 { queue.add(.entry(one, [name])) }
        queue.add(.entry(other, [1]), awaiting: ["entry"])
        queue.add(.entry(other, [1]))
        #expect(!queue.hasTooManyEntries)
        queue.add(.entry(other, [2]))
        #expect(queue.hasTooManyEntries)
        let taken = queue.replacingEntries()
        #expect(taken.map(\.notice) == [.entry(one, [1]), .entry(one, [2]), .entry(other, [1]), .entry(other, [2])])
        #expect(taken.flatMap(\.awaiting) == ["entry"])
        #expect(!queue.hasTooManyEntries)
        let left = queue.takeAll()
        #expect(left.map(\.notice) == [.contents(NodeID(5)), .contents(one), .contents(other)])
        #expect(left.flatMap(\.awaiting) == ["content"])
    }

    @Test func contentsAloneAreNeverTooMany() {
        var queue = Queue(most: 3)
        for id in UInt64(1)...100 { queue.add(.contents(NodeID(id))) }
        #expect(!queue.hasTooManyEntries)
        #expect(queue.takeAll().count == 100)
    }
}
