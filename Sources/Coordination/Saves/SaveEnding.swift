/// Why a save was not published.
public enum DiscardReason: Hashable, Sendable {
    case killed(Int32?)
    /// A relay ended, or was killed, with the document open.
    case relayEnded
    case writeFailed(Int32)
    case publishFailed(Int32)
    /// The document lost its last name meanwhile (rule 13).
    case removed
    /// The open that began it never came back for its working copy.
    case neverOpened

    /// Whether what was written is kept for `quire recover`.
    public var keepsContent: Bool {
        switch self {
        case .killed, .relayEnded, .writeFailed, .publishFailed: true
        case .removed, .neverOpened: false
        }
    }

    /// What the close that ends the save answers.
    public var errno: Int32? {
        switch self {
        case .writeFailed(let errno), .publishFailed(let errno): errno
        case .killed, .relayEnded, .removed, .neverOpened: nil
        }
    }

    public var sentence: String {
        switch self {
        case .killed(let signal?): "The program that was saving was killed by signal \(signal)."
        case .killed(nil): "The program that was saving was killed."
        case .relayEnded: "The file server or portal ended before it had closed the document."
        case .writeFailed(let errno): "A write failed (errno \(errno))."
        case .publishFailed(let errno): "The new version could not be put in place (errno \(errno))."
        case .removed: "The document was removed or replaced meanwhile."
        case .neverOpened: "The program was gone before it could write."
        }
    }
}

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

/// What is to be done about a save. A `publish` is carried out by `plan` and what it says.
public enum SaveStep: Hashable, Sendable {
    case none
    case publish(VersionID, PublishCause)
    /// The save is over: drop the working copy, or keep it for `quire recover` as the reason says. The close answers
    /// the reason's errno.
    case discard(VersionID, DiscardReason)
    /// Answer with this errno.
    case refuse(Int32)
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

/// Handles that have seen a FLUSH and no RELEASE: perhaps closed, perhaps not.
public struct HoldersQuestion: Hashable, Sendable {
    public let handles: Set<SaveHandle>
    /// Who is known to have had a descriptor. Others may have inherited one from them.
    public let processes: Set<SaveProcess>

    public init(handles: Set<SaveHandle>, processes: Set<SaveProcess>) {
        self.handles = handles
        self.processes = processes
    }
}

/// What a FLUSH on a working copy has to find out.
public struct FlushQuestion: Hashable, Sendable {
    public let working: VersionID
    public let opener: SaveProcess
    /// A relay closes what its clients have closed. What it has open when it exits was cut off: that counts as killed.
    public let isRelayed: Bool
    /// Who might still have it open; nil if there is no need to look, because somebody has.
    public let holders: HoldersQuestion?

    public init(working: VersionID, opener: SaveProcess, isRelayed: Bool = false, holders: HoldersQuestion?) {
        self.working = working
        self.opener = opener
        self.isRelayed = isRelayed
        self.holders = holders
    }
}

/// What was found out.
public struct FlushFacts: Hashable, Sendable {
    public var death: Death
    /// How the save's opener has ended, as far as that is known: as `death`, if the FLUSH is the opener's.
    public var openerDeath: Death = .none
    /// The opener has exec'd since the save began.
    public var openerHasExeced = false
    /// The FLUSH is the opener's, which goes on and has the working copy neither open nor mapped any more.
    public var openerHasLeft = false
    /// The question's handles, if none of its processes, nor any that inherited from them, has the working copy open
    /// for writing or mapped; none where there is a doubt.
    public var closed: Set<SaveHandle> = []
    /// It could not be found out whether somebody has it open.
    public var isInDoubt = false
    /// Processes found to have inherited a descriptor.
    public var inheritors: Set<SaveProcess> = []

    public init(death: Death = .none) { self.death = death }
}

/// What is known of the document when a save is about to be published.
public struct PublishFacts: Hashable, Sendable {
    /// The published version's link count; 0 if it has lost its name.
    public var links: Int
    /// As `OpenFacts.closed`, of `holders(of: published)`.
    public var closed: Set<SaveHandle>

    public init(links: Int = 1, closed: Set<SaveHandle> = []) {
        self.links = links
        self.closed = closed
    }
}
