/// Decides which messages of a daemon's log are written: each once in a while, with how often it was repeated, and of different ones
/// not more than a pace allows, so that a log is bounded whatever goes wrong, and for how long. Not thread-safe.
package struct LogRepetitions {
    private struct Said {
        var count: Int
        let time: Int64
    }

    private var said: [String: Said] = [:]
    /// Messages that may be written now.
    private var room = Self.burst
    /// When `room` was last counted, in nanoseconds.
    private var counted: Int64?
    private var leftOut = 0

    /// So many different messages at once, and one each ten seconds from then on: 9,000 a day.
    private static let burst = 200
    private static let pace: Int64 = 10_000_000_000
    /// A message that was not said for an hour is news.
    private static let lifetime: Int64 = 3_600_000_000_000
    private static let remembered = 256

    package init() {}

    /// What to write for a message, in order; nothing for most repetitions. `time`: in nanoseconds on the monotonic clock.
    package mutating func lines(for message: String, at time: Int64) -> [String] {
        if var before = said[message], time - before.time < Self.lifetime {
            before.count += 1
            said[message] = before
            return isPowerOfTen(before.count) ? ["\(message) (\(before.count) times by now)"] : []
        }
        if let counted {
            let grown = (time - counted) / Self.pace
            room = min(Self.burst, room + Int(clamping: max(0, grown)))
            self.counted = grown > 0 ? time : counted
        } else {
            counted = time
        }
        guard room > 0 else {
            leftOut += 1
            return []
        }
        room -= 1
        if said.count >= Self.remembered {
            said = said.filter { time - $0.value.time < Self.lifetime }
            if said.count >= Self.remembered { said = [:] }
        }
        said[message] = Said(count: 1, time: time)
        defer { leftOut = 0 }
        return (leftOut > 0 ? ["\(leftOut) other messages were left out, of too many"] : []) + [message]
    }

    private func isPowerOfTen(_ number: Int) -> Bool {
        var rest = number
        while rest % 10 == 0, rest > 0 { rest /= 10 }
        return rest == 1 && number > 1
    }
}
