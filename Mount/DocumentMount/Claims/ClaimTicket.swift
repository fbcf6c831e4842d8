public import Coordination
public import StorePrimitives
import Synchronization

/// A claim, for whoever asked for it: from the request until `MountedStore.release`.
public final class ClaimTicket: Sendable {
    public let id: ClaimID
    /// Who asked.
    let holder: ClaimHolder
    /// In nanoseconds on the monotonic clock.
    let since: UInt64
    /// With which rights.
    let credentials: Credentials
    /// What it counts for in its user's shares.
    let cost: ClaimCost
    private let outcomeKnown = Mutex<ClaimOutcome?>(nil)
    private let onAnswer: @Sendable () -> Void

    init(
        id: ClaimID, holder: ClaimHolder, _ credentials: Credentials, since: UInt64, cost: ClaimCost = .none,
        onAnswer: @escaping @Sendable () -> Void
    ) {
        self.id = id
        self.holder = holder
        self.credentials = credentials
        self.since = since
        self.cost = cost
        self.onAnswer = onAnswer
    }

    /// Nil as long as it waits.
    public var outcome: ClaimOutcome? { outcomeKnown.withLock { $0 } }

    var isWaiting: Bool { outcome == nil }

    /// With no lock held. The first answer holds.
    func answer(_ outcome: ClaimOutcome) {
        let isNew = outcomeKnown.withLock { known in
            guard known == nil else { return false }
            known = outcome
            return true
        }
        if isNew { onAnswer() }
    }
}
