import StorePrimitives
import Testing

struct MessageEconomyTests {
    private let second: Int64 = 1_000_000_000

    @Test func aRepeatedMessageIsSaidOnceAndCounted() {
        var economy = MessageEconomy()
        #expect(economy.lines(for: "the disk is full", at: 0) == ["the disk is full"])
        let repeated = (1..<1_000).flatMap { economy.lines(for: "the disk is full", at: Int64($0) * second) }
        #expect(repeated == [10, 100, 1_000].map { "the disk is full (\($0) times by now)" })
        #expect(economy.lines(for: "the disk is full", at: 3_601 * second) == ["the disk is full"])
    }

    @Test func ofManyDifferentMessagesSomeAreLeftOut() {
        var economy = MessageEconomy()
        let lines = (0..<100_000).flatMap { economy.lines(for: "folder \($0) failed", at: 0) }
        #expect(lines.count < 1_000)
        #expect(economy.lines(for: "later", at: 20 * second) == ["\(100_000 - lines.count) other messages were left out, of too many", "later"])
    }
}
