import MountProtocol
import MountServer
import Testing

struct ConnectionPaceTests {
    /// 250 a second.
    private var pace = ConnectionPace(processors: 1)
    private let start = ContinuousClock.now

    /// How long connections that come at once wait, in milliseconds.
    private mutating func pauses(_ count: Int, of user: UInt32 = 1, after time: Duration = .zero) -> [Int64] {
        (0..<count).map { _ in
            let (seconds, attoseconds) = pace.pause(for: user, atMost: 1_000, now: start + time).components
            return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        }
    }

    @Test mutating func aBurstIsServedAtOnceAndMoreInTurn() {
        #expect(pauses(256).allSatisfy { $0 == 0 })
        #expect(pauses(3) == [4, 8, 12])
        #expect(pauses(1, of: 2) == [0])
    }

    @Test mutating func timeMakesRoom() {
        _ = pauses(256)
        #expect(pauses(2, after: .milliseconds(4)) == [0, 4])
        #expect(pauses(257, after: .seconds(60)).last == 4)
    }

    @Test mutating func noPauseIsLongerThanTheShareTakes() {
        #expect(pauses(10_000).last == 4_000)
        #expect(pauses(1, after: .seconds(1)) == [3_004])
    }

    @Test mutating func usersThatHaveRoomAgainAreForgotten() {
        for user in 0..<5_000 { _ = pauses(1, of: UInt32(user), after: .milliseconds(10 * user)) }
        #expect(pace.users <= 1_025)
    }
}
