/// A save as `quire status` lists it.
public struct OpenSave: Hashable, Sendable {
    public enum Phase: String, Hashable, Sendable {
        /// Its program is on its way to the working copy.
        case arriving
        case open
        case publishing
    }

    public let working: VersionID
    public let process: SaveProcess
    /// In nanoseconds of the caller's clock.
    public let began: UInt64
    public let lastActivity: UInt64
    public let bytes: UInt64
    public let phase: Phase
    public let isRedirected: Bool
    /// The save is shared: a program that only joined it has written to it.
    public let hasJoinedWrites: Bool
}

/// A handle that writes a document in place.
public struct LiveWriter: Hashable, Sendable {
    public let handle: SaveHandle
    /// Who opened it; nil if that is not known.
    public let process: SaveProcess?
    public let reason: LiveReason
    /// It has seen a FLUSH since it was last used: it may be closed.
    public let isFlushed: Bool
    /// It does not keep a save from taking the document's place: its own save was published, or a relay has opened it without O_TRUNC, and
    /// it has written nothing since.
    public let isSettled: Bool

    public init(
        handle: SaveHandle, process: SaveProcess?, reason: LiveReason, isFlushed: Bool = false, isSettled: Bool = false
    ) {
        self.handle = handle
        self.process = process
        self.reason = reason
        self.isFlushed = isFlushed
        self.isSettled = isSettled
    }

    init(_ handle: SaveHandle, _ writer: Writer) {
        self.init(
            handle: handle, process: writer.process, reason: writer.reason, isFlushed: writer.isFlushed, isSettled: writer.isSettled)
    }
}

extension DocumentSaves {
    /// The saves under way, the oldest first.
    public var openSaves: [OpenSave] {
        saves.map { save in
            var phase = OpenSave.Phase.publishing
            if save.phase == .open { phase = save.fault == .neverOpened ? .arriving : .open }
            return OpenSave(
                working: save.working, process: save.opener, began: save.began, lastActivity: save.lastActivity,
                bytes: save.size, phase: phase, isRedirected: save.isRedirected, hasJoinedWrites: save.hasJoinedWrites)
        }
    }

    /// The handles that write the published version and are not known to be closed, in no order.
    public var liveWriters: [LiveWriter] {
        writers.filter { $0.value.version == published && !$0.value.isClosed }.map { LiveWriter($0.key, $0.value) }
    }
}
