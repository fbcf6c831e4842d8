/// What the daemon answers for `org.quire.Events`.
public protocol EventService: Sendable {
    /// Begins to tell a peer of events. `wake` is called, on any thread, when there are new ones to be taken by `next`.
    func watch(
        _ request: WatchRequest, for peer: Peer, wake: @escaping @Sendable () -> Void
    ) throws(ServiceFailure) -> any EventFeed
}

/// The events that one peer is told of.
public protocol EventFeed: Sendable {
    /// The next events, `limit` at most; none if there are none now. Not called by two threads at once.
    func next(limit: Int) -> WatchedEvents
    /// Nobody takes any more.
    func end()
}

/// What to tell of.
public struct WatchRequest: Codable, Hashable, Sendable {
    /// A document, or a folder with all that is in it; nil: the whole mount.
    public var path: DocumentPath?
    /// Events after this number, if they are still known; nil: those from now on.
    public var since: UInt64?
    /// Words of `WatchedEvent.kind`; nil: all.
    public var kinds: [String]?

    public init(path: DocumentPath? = nil, since: UInt64? = nil, kinds: [String]? = nil) {
        self.path = path
        self.since = since
        self.kinds = kinds
    }
}

public struct WatchedEvents: Codable, Hashable, Sendable {
    public var events: [WatchedEvent]
    /// Events came and went unseen: look at everything again.
    public var overflow: Bool
    /// The number to go on after.
    public var next: UInt64

    public init(events: [WatchedEvent], overflow: Bool, next: UInt64) {
        self.events = events
        self.overflow = overflow
        self.next = next
    }
}

/// Something happened to an item.
public struct WatchedEvent: Codable, Hashable, Sendable {
    /// Rises from event to event.
    public var seq: UInt64
    /// `appeared`, `changed`, `moved`, `deleted`, `attributesChanged`, `versionGained`, `versionLost` or `saveAborted`.
    public var kind: String
    /// The document's id, which survives moves; nil for folders and for what the index does not know yet.
    public var id: Int64?
    public var path: DocumentPath
    /// Where it was before it was moved.
    public var oldPath: DocumentPath?
    /// Rises with each version of a document.
    public var generation: UInt64?
    /// In seconds since 1970.
    public var time: Double
    /// Who did it; nil for what was done outside of the mount by nobody knows whom.
    public var pid: Int32?
    public var uid: UInt32?
    public var process: String?

    public init(
        seq: UInt64, kind: String, id: Int64?, path: DocumentPath, oldPath: DocumentPath?, generation: UInt64?, time: Double,
        pid: Int32?, uid: UInt32?, process: String?
    ) {
        (self.seq, self.kind, self.id, self.path, self.oldPath) = (seq, kind, id, path, oldPath)
        (self.generation, self.time, self.pid, self.uid, self.process) = (generation, time, pid, uid, process)
    }
}
