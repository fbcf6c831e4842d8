public import StorePrimitives

public enum ClaimOutcome: Hashable, Sendable {
    /// - snapshots: where in the mount the items to be read are, as they were, in the order they were asked for.
    case granted(snapshots: [StorePath])
    case refused(ClaimRefusal)
}

/// Why a claim was not granted.
public enum ClaimRefusal: Error, Hashable, Sendable {
    case timedOut(holders: [ClaimHolder])
    /// The holders of a claimed item wait for the process that asks.
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

/// A process that holds a claim, or writes a claimed item.
public struct ClaimHolder: Hashable, Sendable {
    public let process: Int32
    public let user: UInt32
    public let purpose: String?
    /// The first of the items.
    public let path: StorePath

    /// As ps shows it; empty if the process is gone. Reads /proc: when it is to be shown, not for each claim.
    public var name: String { ProcessFacts.name(of: process) ?? "" }
}
