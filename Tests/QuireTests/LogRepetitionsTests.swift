import Testing

import quire

struct LogRepetitionsTests {
    private let second: Int64 = 1_000_000_000

    @Test func aRepeatedMessageIsSaidOnceAndCounted() {
        var repetitions = LogRepetitions()
        #expect(repetitions.lines(for: "the disk is full", at: 0) == ["the disk is full"])
        let repeated = (1..<1_000).flatMap { repetitions.lines(for: "the disk is full", at: Int64($0) * second) }
        #expect(repeated == [10, 100, 1_000].map { "the disk is full (\($0) times by now)" })
        #expect(repetitions.lines(for: "the disk is full", at: 3_601 * second) == ["the disk is full"])
    }

    @Test func ofManyDifferentMessagesSomeAreLeftOut() {
        var repetitions = LogRepetitions()
        let lines = (0..<100_000).flatMap { repetitions.lines(for: "folder \($0) failed", at: 0) }
        #expect(lines.count < 1_000)
        #expect(repetitions.lines(for: "later", at: 20 * second) == ["\(100_000 - lines.count) other messages were left out, of too many", "later"])
    }
}
