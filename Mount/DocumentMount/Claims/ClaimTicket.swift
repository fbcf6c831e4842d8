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

/// What a claim counts for in its user's shares.
struct ClaimCost: Sendable {
    let items: Int
    let bytes: Int

    /// Of a claim that was refused: it holds nothing.
    static let none = ClaimCost(items: 0, bytes: 0)

    init(items: Int, bytes: Int) { (self.items, self.bytes) = (items, bytes) }

    init(_ intents: [ClaimIntent]) {
        self.init(items: intents.count, bytes: intents.reduce(0) { $0 &+ $1.path.bytes.count })
    }

    private func parts() -> [(BoundedResource, Int)] { [(.claims, 1), (.claimedItems, items), (.claimedBytes, bytes)] }

    /// Counts it for a user; nil if all of it fits, else the resource of which there is too much, and nothing is counted.
    func take(from shares: UserShares, for user: UInt32) -> BoundedResource? {
        for (index, part) in parts().enumerated() where !shares.take(part.0, part.1, for: user) {
            for taken in parts()[..<index] { shares.giveBack(taken.0, taken.1, for: user) }
            return part.0
        }
        return nil
    }

    func giveBack(to shares: UserShares, for user: UInt32) {
        for (resource, amount) in parts() { shares.giveBack(resource, amount, for: user) }
    }
}

public enum ClaimOutcome: Hashable, Sendable {
    /// - snapshots: where in the mount the items to be read are, as they were, in the order they were asked for.
    case granted(snapshots: [StorePath])
    case refused(ClaimRefusal)
}

/// Why a claim was not granted.
public enum ClaimRefusal: Error, Hashable, Sendable {
    case timedOut(holders: [ClaimHolder])
    /// Those who hold what is asked for wait for the asker.
    case deadlock(holders: [ClaimHolder])
    /// A presenter could not save, or make room.
    case presenterFailed(String)
    /// An item cannot be kept as it is.
    case noSnapshot(of: StorePath, reason: String, writer: ClaimHolder?)
    /// The user, or all users together, claim as much of a resource as they may.
    case tooMany(BoundedResource)
    /// The mount ends.
    case ended
}

/// Who holds a claim, or writes what is claimed.
public struct ClaimHolder: Hashable, Sendable {
    public let process: Int32
    public let user: UInt32
    public let purpose: String?
    /// The first of the items.
    public let path: StorePath

    /// As ps shows it; empty if the process is gone. Reads /proc: when it is to be shown, not for each claim.
    public var name: String { ProcessFacts.name(of: process) ?? "" }
}
