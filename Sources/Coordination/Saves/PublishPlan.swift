/// What makes a save be published.
public enum PublishCause: Hashable, Sendable {
    /// The last descriptor closed (rule 9).
    case closed
    /// fsync (rule 9): durable before the call returns.
    case synced
    /// Its lineage renames or links the document (rule 7).
    case renamed
    /// It became a stream (rule 11).
    case stream
    /// ENOSPC or EDQUOT where a truncated document would have made room (rule 7).
    case outOfRoom
    /// It may be about to be mapped by a handle whose mappings are of the document's own inode.
    case extended

    /// Rule 12: the document's own inode is to have the content.
    var isInPlace: Bool { self == .stream || self == .outOfRoom || self == .extended }

    /// What descriptors are from then on.
    var reasonToBeLive: LiveReason {
        switch self {
        case .closed: .outlivedSave
        case .synced: .synced
        case .renamed: .renamed
        case .stream: .stream
        case .outOfRoom: .outOfRoom
        case .extended: .extended
        }
    }
}

/// How a version gets into place.
public enum PublishMode: Hashable, Sendable {
    /// The working copy takes the name (rule 8).
    case replace
    /// Its content goes into the document's own inode, and its handles with it (rule 12).
    case inPlace
}

/// Why a version that is saved over is kept.
public enum KeepingReason: Hashable, Sendable {
    /// It was published by an unrelated saver during this save (rule 5), or this save is published for a joined writer's sake although
    /// its own process was killed.
    case overtaken
    /// A relay has saved: that its client was killed cannot be seen, and looks like a close.
    case relayed
}

/// How to publish a save.
public struct PublishPlan: Hashable, Sendable {
    public let mode: PublishMode
    /// The version that is superseded, or written to in place.
    public let replaced: VersionID
    /// Why that version is to be kept for `quire recover`; nil if it is not.
    public let keepsReplaced: KeepingReason?
    /// The modification time is to be set to now (rule 9).
    public let setsModificationTime: Bool

    public init(
        mode: PublishMode, replaced: VersionID, keepsReplaced: KeepingReason? = nil, setsModificationTime: Bool = false
    ) {
        self.mode = mode
        self.replaced = replaced
        self.keepsReplaced = keepsReplaced
        self.setsModificationTime = setsModificationTime
    }
}

public enum PublishDecision: Hashable, Sendable {
    /// Nothing to do (any more): somebody else published it, or it is being written to again.
    case none
    case publish(PublishPlan)
    /// The save is over, see `SaveStep.discard`.
    case discard(DiscardReason)
}
