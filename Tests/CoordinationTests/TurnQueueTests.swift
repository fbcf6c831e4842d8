import StorePrimitives
import Testing

struct TurnQueueTests {
    @Test func usersTakeTurns() {
        var queue = TurnQueue<String>()
        for element in ["a1", "a2", "a3"] { queue.append(element, of: 1) }
        #expect(queue.popFirst() == "a1")
        queue.append("b1", of: 2)
        queue.append("c1", of: 3)
        queue.append("b2", of: 2)
        var order: [String] = []
        while let next = queue.popFirst() { order.append(next) }
        #expect(order == ["a2", "b1", "c1", "a3", "b2"])
        #expect(queue.isEmpty && queue.popFirst() == nil)
    }
}
