/// How soon a user's next connection is served: the first 256 at once, then 250 a second for each processor, in the order in which
/// they come (a token bucket).
///
/// To accept a connection, serve it and let it go costs the service more than its peer, so that one user's connections by thousands a
/// second would take the processors that others' requests need.
package struct ConnectionPace {
    private static let burst = 256
    private let interval: Duration
    /// When a user's connections that have come are all served. Users with room for a burst again are dropped now and then.
    private var served: [UInt32: ContinuousClock.Instant] = [:]

    package init(processors: Int) { interval = .seconds(1) / (250 * max(1, min(processors, 1_000))) }

    /// How many users are known.
    package var users: Int { served.count }

    /// How long the connection that a user makes now is to wait, which is never longer than it takes to serve `atMost`: connections
    /// that were ended while they waited are counted, too. O(1), now and then O(users).
    package mutating func pause(for user: UInt32, atMost: Int, now: ContinuousClock.Instant = .now) -> Duration {
        let head = interval * Self.burst
        if served.count > 1_024 { served = served.filter { $0.value > now - head } }
        let next = min(max(served[user] ?? now - head, now - head) + interval, now + interval * atMost)
        served[user] = next
        return max(.zero, next - now)
    }
}
