internal import Synchronization

/// How much of the serving threads' time each user takes: whose requests are to be put aside, so that others' are read in time.
///
/// A user's is *heavy* who takes three quarters of a thread and more, in the mean of the last beats, if another user has asked for
/// something in the last minute. Users are told apart by some bits of their number: who shares them with a heavy one has each request
/// handed to another thread, and is served in its turn.
package final class HeavyUsers: @unchecked Sendable {
    private let times = UnsafeMutablePointer<Atomic<Int>>.allocate(capacity: HeavyUsers.count)
    // The pulse's alone.
    private var means = [Int](repeating: 0, count: HeavyUsers.count)
    private var lastUses = [Int64](repeating: .min, count: HeavyUsers.count)
    private static let count = 256
    /// Nanoseconds.
    private static let memory: Int64 = 60_000_000_000
    private var lastBeat: Int64 = 0
    /// Places of users, as of the last beat.
    package private(set) var heavy: Set<Int> = []

    package init() { for index in 0..<Self.count { (times + index).initialize(to: Atomic(0)) } }

    deinit {
        times.deinitialize(count: Self.count)
        times.deallocate()
    }

    package static func place(of user: UInt64) -> Int { Int(truncatingIfNeeded: user % UInt64(clamping: count)) }

    /// A request has been done. One atomic addition.
    package func used(_ user: UInt64, microseconds: Int) {
        guard user != 0, user != RequestShares.HeldShares.lettingGo else { return }
        times[Self.place(of: user)].wrappingAdd(max(microseconds, 1), ordering: .relaxed)
    }

    /// At each beat, by the pulse.
    package func beat(at time: Int64) {
        let microseconds = Int(min(max(time - lastBeat, 1), 1_000_000_000) / 1000)
        lastBeat = time
        var active = 0
        var found: Set<Int> = []
        for place in 0..<Self.count {
            let used = times[place].exchange(0, ordering: .relaxed)
            if used > 0 { lastUses[place] = time }
            guard lastUses[place] > time - Self.memory else { continue }
            active += 1
            means[place] = (means[place] * 7 + used) / 8
            if means[place] > microseconds * 3 / 4 { found.insert(place) }
        }
        heavy = active > 1 ? found : []
    }
}
