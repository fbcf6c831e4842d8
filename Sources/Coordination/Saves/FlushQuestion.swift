/// Handles that have seen a FLUSH and no RELEASE: perhaps closed, perhaps not.
public struct HoldersQuestion: Hashable, Sendable {
    public let handles: Set<SaveHandle>
    /// Processes that are known to have had a descriptor. Others may have inherited one from them.
    public let processes: Set<SaveProcess>

    public init(handles: Set<SaveHandle>, processes: Set<SaveProcess>) {
        self.handles = handles
        self.processes = processes
    }
}

/// The question that the mount answers for each FLUSH on a working copy.
public struct FlushQuestion: Hashable, Sendable {
    public let working: VersionID
    public let opener: SaveProcess
    /// A relay closes what its clients have closed. What it has open when it exits was cut off: that counts as killed.
    public let isRelayed: Bool
    /// Processes that may still have it open; nil if another handle is open for certain, so that no search is needed.
    public let holders: HoldersQuestion?

    public init(working: VersionID, opener: SaveProcess, isRelayed: Bool = false, holders: HoldersQuestion?) {
        self.working = working
        self.opener = opener
        self.isRelayed = isRelayed
        self.holders = holders
    }
}

/// The answer to a `FlushQuestion`.
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
