public import StorePrimitives

/// The latest events of a mount, for readers who come at their own pace.
///
/// It holds a limited number and never waits: a reader that is slower than its events finds that some are missing, and
/// looks at the store again.
public struct EventLog: Sendable {
    /// What one reader gets.
    public struct Page: Hashable, Sendable {
        public let events: [StoreEvent]
        /// Events that the reader has not seen are gone.
        public let hasOverflowed: Bool
        /// What to ask for next.
        public let next: UInt64

        public init(events: [StoreEvent], hasOverflowed: Bool, next: UInt64) {
            (self.events, self.hasOverflowed, self.next) = (events, hasOverflowed, next)
        }
    }

    private var events: [StoreEvent] = []
    /// Where the oldest stands in `events` once these are as many as they may be.
    private var start = 0
    public let capacity: Int
    /// The number of the last event; 0 before the first.
    public private(set) var lastSequence: UInt64

    /// - Parameters:
    ///   - capacity: how many events are kept, some 200 bytes each; one at least.
    ///   - lastSequence: to go on where an earlier mount of the store left off, so that its readers see that they missed some.
    public init(capacity: Int, lastSequence: UInt64 = 0) {
        self.capacity = max(1, capacity)
        self.lastSequence = lastSequence
    }

    /// Adds an event, numbered. O(1).
    @discardableResult
    public mutating func append(
        _ kind: StoreEvent.Kind, _ path: StorePath, from oldPath: StorePath? = nil, document: Int64? = nil, time: Int64,
        origin: StoreEvent.Origin, folder: FileIdentity? = nil, oldFolder: FileIdentity? = nil
    ) -> StoreEvent {
        lastSequence += 1
        let event = StoreEvent(
            sequence: lastSequence, kind: kind, document: document, path: path, oldPath: oldPath, time: time,
            origin: origin, folder: folder, oldFolder: oldFolder)
        if events.count < capacity {
            events.append(event)
        } else {
            events[start] = event
            start = (start + 1) % capacity
        }
        return event
    }

    /// Things happened of which nobody knows what: all readers find that they have missed something.
    public mutating func lose() {
        lastSequence += 1
        (events, start) = ([], 0)
    }

    /// Whether one of the last `count` events is such.
    public func hasLately(_ count: Int, _ isSuch: (StoreEvent) -> Bool) -> Bool {
        (0..<min(count, events.count)).contains { back in isSuch(events[(start + events.count - 1 - back) % events.count]) }
    }

    /// The events after number `sequence` that a reader wants, `limit` at most. O(events looked at).
    public func events(after sequence: UInt64, limit: Int, where isWanted: (StoreEvent) -> Bool) -> Page {
        let first = lastSequence + 1 - UInt64(clamping: events.count)
        // A number that was never given comes from an earlier mount, whose later events nobody knows.
        let hasOverflowed = sequence < first - 1 || sequence > lastSequence
        var next = hasOverflowed ? first - 1 : sequence
        var page: [StoreEvent] = []
        while next < lastSequence, page.count < limit {
            let event = events[(start + Int(clamping: next + 1 - first)) % events.count]
            if isWanted(event) { page.append(event) }
            next += 1
        }
        return Page(events: page, hasOverflowed: hasOverflowed, next: next)
    }
}
