import FuseServer
import StorePrimitives
import Testing

/// Which requests wait, in time that the test says. 24 threads: a share is 6, and what was put aside has 12. Two processors: a heavy user
/// has one thread.
struct RequestSharesTests {
    private static let (write, flush, release): (UInt32, UInt32, UInt32) = (16, 25, 18)
    private static let second: Int64 = 1_000_000_000

    private final class Trial {
        let limits: UserShares
        let shares: RequestShares
        private var last: UInt64 = 0

        init(requests: Int = 100, bytes: Int = 100_000) {
            limits = UserShares(bounds: [
                .heldRequests: .init(forUser: requests, forAll: 2 * requests), .heldRequestBytes: .init(forUser: bytes, forAll: 2 * bytes),
            ])
            shares = RequestShares(threads: 24, cores: 2, limits: limits)
        }

        /// Of user 1000, unless a claim says otherwise.
        func ask(
            _ opcode: UInt32 = write, _ claim: RequestShares.HeldShares = .init(user: 1001), at time: Int64 = 0, size: Int = 100
        ) -> RequestShares.Decision {
            last += 1
            let header = RequestShares.Header(unique: last, opcode: opcode, thread: 1, user: UInt32(truncatingIfNeeded: claim.user &- 1), size: size)
            return shares.putAside(header, claim, at: time) { RequestBytes(copying: UnsafeRawBufferPointer(start: nil, count: 0)) }
        }

        /// User 1000 holds its share.
        func fill(at time: Int64 = 0) {
            _ = shares.beat(held: [RequestShares.HeldShares](repeating: .init(user: 1001), count: 6), at: time)
        }

        /// User 1000 takes too much of the threads' time.
        func overload() { _ = shares.beat(held: [], heavy: [HeavyUsers.place(of: 1001)], at: 0) }
    }

    @Test func nothingIsPutAsideWhileNobodyHasItsShare() {
        let trial = Trial()
        #expect(trial.ask() == .served)
        _ = trial.shares.beat(held: [RequestShares.HeldShares](repeating: .init(user: 1001), count: 5), at: 0)
        #expect(!trial.shares.areSomeLimited)
        #expect(trial.ask() == .served)
    }

    @Test func aUserWithItsShareWaitsAndOthersDoNot() {
        let trial = Trial()
        trial.fill()
        #expect(trial.shares.areSomeLimited)
        #expect(trial.ask() == .waits)
        #expect(trial.ask(Self.write, .init(user: 2002)) == .served)
        // Its share is free again.
        #expect(trial.shares.beat(held: [], at: 1).ready == 1)
        #expect(trial.shares.takeReady()?.header.unique == 1)
    }

    @Test func anItemAndADeviceHaveSharesOfWhoeverAsks() {
        for claim in [RequestShares.HeldShares(item: 7), RequestShares.HeldShares(device: 8)] {
            let trial = Trial()
            _ = trial.shares.beat(held: [RequestShares.HeldShares](repeating: claim, count: 6), at: 0)
            #expect(trial.ask(Self.write, .init(user: 1, item: claim.item, device: claim.device)) == .waits)
            #expect(trial.ask(Self.write, .init(user: 1, item: 70, device: 80)) == .served)
        }
    }

    @Test func whatHasWaitedThirtySecondsIsLateAndACloseFiveMinutes() {
        let trial = Trial()
        trial.fill()
        #expect(trial.ask(Self.write) == .waits && trial.ask(Self.flush) == .waits)
        func late(after seconds: Int64) -> [UInt32] {
            trial.shares.beat(held: [RequestShares.HeldShares](repeating: .init(user: 1001), count: 6), at: seconds * Self.second)
                .late.map(\.header.opcode)
        }
        #expect(late(after: 30) == [])
        #expect(late(after: 31) == [Self.write])
        #expect(late(after: 300) == [])
        #expect(late(after: 301) == [Self.flush])
        #expect(trial.shares.isEmpty)
        #expect(trial.limits.use(of: .heldRequests) == 0 && trial.limits.use(of: .heldRequestBytes) == 0)
    }

    @Test func aCallerThatIsBeingKilledIsTakenOutOnce() {
        let trial = Trial()
        trial.fill()
        #expect(trial.ask() == .waits)
        #expect(trial.shares.take(1, if: { _ in false }) == nil)
        #expect(trial.shares.take(2, if: { _ in true }) == nil)
        #expect(trial.shares.take(1, if: { _ in true })?.header.unique == 1)
        #expect(trial.shares.take(1, if: { _ in true }) == nil)
        #expect(trial.shares.isEmpty)
        #expect(trial.limits.use(of: .heldRequests) == 0)
    }

    @Test func tooManyAndTooLargeOnesAreRefused() {
        let many = Trial(requests: 3)
        many.fill()
        #expect((0..<3).allSatisfy { _ in many.ask() == .waits })
        #expect(many.ask() == .refused)
        let large = Trial(bytes: 1_000)
        large.fill()
        #expect(large.ask(size: 900) == .waits)
        #expect(large.ask(size: 200) == .refused)
        #expect(large.ask(size: 100) == .waits)
    }

    @Test func aHeavyUsersRequestsAreDoneInTheirOrderByHalfOfTheProcessors() {
        let trial = Trial()
        trial.overload()
        #expect(trial.ask() == .ready)
        #expect((0..<2).allSatisfy { _ in trial.ask() == .waits })
        #expect(trial.ask(Self.write, .init(user: 5_000)) == .served)
        let first = trial.shares.takeReady()
        #expect(first?.header.unique == 1)
        #expect(trial.shares.takeReady() == nil)
        #expect(first.map { trial.shares.ended($0) } == 1)
        #expect(trial.shares.takeReady()?.header.unique == 2)
    }

    @Test func whatIsSlowOfAHeavyUsersHasOthersBeginUpToItsShare() {
        let trial = Trial()
        let heavy: Set = [HeavyUsers.place(of: 1001)]
        trial.overload()
        let decisions = (0..<10).map { _ in trial.ask() }
        #expect(decisions.filter { $0 == .ready }.count == 1)
        for (slow, ready) in [(1, 2), (3, 4), (9, 6)] {
            let held = [RequestShares.HeldShares](repeating: .init(user: 1001), count: slow)
            #expect(trial.shares.beat(held: [], slow: held, heavy: heavy, at: 1).ready == ready)
        }
    }

    @Test func whatWasPutAsideHasTwelveThreads() {
        let trial = Trial()
        let users = UInt64(1)...4
        _ = trial.shares.beat(held: users.flatMap { [RequestShares.HeldShares](repeating: .init(user: $0), count: 6) }, at: 0)
        #expect(users.allSatisfy { user in (0..<6).allSatisfy { _ in trial.ask(Self.write, .init(user: user)) == .waits } })
        _ = trial.shares.beat(held: [], heavy: [HeavyUsers.place(of: 9)], at: 1)
        var ready = 0
        while trial.shares.takeReady() != nil { ready += 1 }
        #expect(ready == 12)
        // What frees others waits for none of them.
        #expect(trial.ask(Self.release, .init(user: RequestShares.HeldShares.lettingGo)) == .ready)
    }

    /// More heavy users than threads: each gets its turn.
    @Test func noHeavyUserWaitsForOthersForEver() {
        let trial = Trial(requests: 2_000, bytes: 1_000_000)
        let users = UInt64(1)...20
        _ = trial.shares.beat(held: [], heavy: Set(users.map { HeavyUsers.place(of: $0) }), at: 0)
        for user in users {
            for _ in 0..<50 { _ = trial.ask(Self.write, .init(user: user), size: 1) }
        }
        var served: Set<UInt64> = []
        for _ in 0..<300 {
            guard let next = trial.shares.takeReady() else { break }
            served.insert(next.holding.user)
            _ = trial.shares.ended(next)
        }
        #expect(served == Set(users))
    }

    @Test func releasesAreNeitherRefusedNorLate() {
        let trial = Trial(requests: 1, bytes: 1)
        trial.overload()
        let claim = RequestShares.HeldShares(user: RequestShares.HeldShares.lettingGo)
        let decisions = (0..<20).map { _ in trial.ask(Self.release, claim) }
        #expect(decisions.filter { $0 == .ready }.count == 6 && decisions.filter { $0 == .waits }.count == 14)
        #expect(trial.shares.beat(held: [], at: 1_000 * Self.second).late.isEmpty)
        var done = 0
        while let next = trial.shares.takeReady() {
            done += 1
            _ = trial.shares.ended(next)
        }
        #expect(done == 20 && trial.shares.isEmpty)
    }

    @Test func oneUserAloneIsNeverHeavy() {
        let users = HeavyUsers()
        for beat in 1...100 {
            users.used(1001, microseconds: 50_000)
            users.beat(at: Int64(beat) * 5_000_000)
        }
        #expect(users.heavy.isEmpty)
        users.used(2002, microseconds: 1)
        users.used(1001, microseconds: 50_000)
        users.beat(at: 101 * 5_000_000)
        #expect(users.heavy == [HeavyUsers.place(of: 1001)])
        // When it rests it is no longer.
        for beat in 102...200 { users.beat(at: Int64(beat) * 5_000_000) }
        #expect(users.heavy.isEmpty)
    }
}
