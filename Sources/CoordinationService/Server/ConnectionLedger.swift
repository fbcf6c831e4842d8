import Synchronization

/// Counts connections, in all and for each user, against the limits.
final class ConnectionLedger: Sendable {
    private struct Counts {
        var total = 0
        var byUser: [UInt32: Int] = [:]
    }

    private let limits: ServiceLimits
    /// A leaf lock: nothing is called while it is held.
    private let counts = Mutex(Counts())

    init(limits: ServiceLimits) { self.limits = limits }

    /// Counts a connection of `user`, to be given back by `leave`. Throws, and counts nothing, when there are too many.
    func enter(user: UInt32) throws(VarlinkError) {
        let exceeded: Int? = counts.withLock { counts in
            let own = counts.byUser[user, default: 0]
            if own >= limits.connectionsForEachUser { return limits.connectionsForEachUser }
            if counts.total >= limits.connections { return limits.connections }
            counts.byUser[user] = own + 1
            counts.total += 1
            return nil
        }
        if let exceeded { throw .tooManyConnections(limit: exceeded) }
    }

    func leave(user: UInt32) {
        counts.withLock { counts in
            counts.total -= 1
            counts.byUser[user]! -= 1
            if counts.byUser[user] == 0 { counts.byUser[user] = nil }
        }
    }
}
