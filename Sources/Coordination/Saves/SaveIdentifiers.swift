/// One version of a document: the published one, a superseded one, or the working copy of a save. A save is named by
/// its working copy. In the mount a version is a node.
public struct VersionID: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// An open file handle, from the OPEN that is answered with it to its RELEASE. Processes may share one.
public struct SaveHandle: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A thread, as the header of a request names it.
public struct ThreadID: Hashable, Sendable {
    public let rawValue: Int32
    public init(_ rawValue: Int32) { self.rawValue = rawValue }
}

/// A process (thread group) that no later one with its number can be taken for.
public struct SaveProcess: Hashable, Sendable {
    public let id: Int32
    /// When it was started, in clock ticks since boot (/proc/PID/stat, field 22). An exec does not change it.
    public let start: UInt64

    public init(id: Int32, start: UInt64) {
        self.id = id
        self.start = start
    }

    /// Whether it was started after `moment`. Numbers settle what one clock tick leaves open: they rise, until they begin anew.
    public func isYounger(than moment: SaveMoment) -> Bool {
        guard start == moment.ticks else { return start > moment.ticks }
        return id > moment.lastProcess || moment.lastProcess < .max && moment.lastProcess - id > Self.mostOfATick
    }

    /// So many processes no machine starts within a tick, and there are more numbers (pid_max, proc(5), is 32,768 or more).
    private static let mostOfATick: Int32 = 16_384

    /// Whether it was started after `moment` by one of `members`, or by such a process. What these started before, like an
    /// editor's file watcher, and whatever that starts, does not descend from them.
    /// - Parameter ancestors: its parent, the parent's parent and so on.
    func descends(from members: Set<SaveProcess>, since moment: SaveMoment, by ancestors: [SaveProcess]) -> Bool {
        var descendant = self
        for ancestor in ancestors {
            guard descendant.isYounger(than: moment) else { return false }
            if members.contains(ancestor) { return true }
            descendant = ancestor
        }
        return false
    }
}

/// When a save began, to be compared with the starts of processes.
public struct SaveMoment: Hashable, Sendable {
    /// The time since boot in clock ticks.
    public let ticks: UInt64
    /// The number given to a process last (/proc/loadavg). `Int32.max` if it is not known: a process started within the
    /// same tick then counts as older, and is shown whole versions.
    public let lastProcess: Int32

    public init(ticks: UInt64, lastProcess: Int32) {
        self.ticks = ticks
        self.lastProcess = lastProcess
    }
}

/// Who makes a request.
public struct SaveCaller: Hashable, Sendable {
    public let thread: ThreadID
    /// Nil if it is not known, as for callers in a foreign pid namespace.
    public let process: SaveProcess?
    /// Its parent, the parent's parent and so on. Needed only where `DocumentSaves.needsAncestors(of:)` says so.
    public let ancestors: [SaveProcess]
    /// The process serves others' files (a file server, a portal): each of its handles may be of another client.
    public let isRelay: Bool

    public init(thread: ThreadID, process: SaveProcess?, ancestors: [SaveProcess] = [], isRelay: Bool = false) {
        self.thread = thread
        self.process = process
        self.ancestors = ancestors
        self.isRelay = isRelay
    }
}
