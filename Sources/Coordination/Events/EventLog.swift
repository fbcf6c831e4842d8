public import StorePrimitives

/// The latest events of a mount, for readers who come at their own pace.
///
/// It holds a limited number of each user's events and never waits: a reader that is slower than its events finds where some are
/// missing, and looks there again. What one user does does not push out what others have done.
public struct EventLog: Sendable {
    /// Up to where a reader has come.
    public struct Position: Hashable, Sendable {
        /// The events up to this number are seen.
        public var sequence: UInt64
        /// The reader has been told of the losses until then.
        fileprivate var moment: UInt64 = 0

        public init(after sequence: UInt64) { self.sequence = sequence }
    }

    /// What one reader gets.
    public struct Page: Hashable, Sendable {
        public let events: [StoreEvent]
        /// Where events that the reader has not seen are gone: an item, or a folder with everything in it.
        public let missed: [StorePath]
        /// What to ask for next.
        public let next: Position

        public init(events: [StoreEvent], missed: [StorePath], next: Position) {
            (self.events, self.missed, self.next) = (events, missed, next)
        }
    }

    private struct Entry: Sendable {
        let sequence: UInt64
        /// Whose it is counted for.
        let user: UInt32?
        /// Nil: gone.
        var event: StoreEvent?
        var isGone = false
    }

    /// In order. Those that are gone go from here when they are many.
    private var entries: [Entry] = []
    /// The first that is not gone.
    private var start = 0
    private var goneCount = 0
    /// The weight of each user's events.
    private var counts: [UInt32?: Int] = [:]
    /// The weight of all events.
    private var inUse = 0
    /// Each user's oldest event is at this index or above it.
    private var oldest: [UInt32?: Int] = [:]
    private var missed = MissedEvents()
    private let first: UInt64
    public let mostOfUser: Int
    public let mostOfAll: Int
    /// The number of the last event; 0 before the first.
    public private(set) var lastSequence: UInt64

    /// - Parameters:
    ///   - mostOfUser: how many events are kept of one user, and of nobody knows whom; one at least. Those with long paths count as
    ///     several (`StoreEvent.weight`).
    ///   - mostOfAll: how many are kept in all. Then the oldest go, of a user who has much more than others first.
    ///   - lastSequence: to go on where an earlier mount of the store left off, so that its readers see that they missed some.
    public init(mostOfUser: Int, mostOfAll: Int, lastSequence: UInt64 = 0) {
        (self.mostOfUser, self.mostOfAll) = (max(1, mostOfUser), max(1, mostOfAll))
        (self.lastSequence, first) = (lastSequence, lastSequence)
    }

    private var count: Int { entries.count - goneCount }

    /// Adds an event, numbered. O(1) on average; at the bound of all O(users).
    /// - Parameter user: whose it is counted for.
    @discardableResult
    public mutating func append(
        _ kind: StoreEvent.Kind, _ path: StorePath, from oldPath: StorePath? = nil, document: Int64? = nil, time: Int64,
        origin: StoreEvent.Origin, by user: UInt32? = nil, folder: FileIdentity? = nil, oldFolder: FileIdentity? = nil,
        audience: UInt32? = nil, view: UInt32 = 0, replaces: Bool = false
    ) -> StoreEvent {
        lastSequence += 1
        let event = StoreEvent(
            sequence: lastSequence, kind: kind, document: document, path: path, oldPath: oldPath, time: time,
            origin: origin, folder: folder, oldFolder: oldFolder, audience: audience, view: view, replaces: replaces)
        while used(by: user) >= mostOfUser { loseOldest(of: user) }
        while inUse >= mostOfAll, start < entries.count, let most = counts.max(by: { $0.value < $1.value }) {
            if most.value > 2 * mostOfAll / counts.count { loseOldest(of: most.key) } else { lose(at: start, of: entries[start].user) }
        }
        entries.append(Entry(sequence: lastSequence, user: user, event: event))
        counts[user] = used(by: user) + event.weight
        inUse += event.weight
        return event
    }

    private func used(by user: UInt32?) -> Int { counts[user] ?? 0 }

    /// Events at these places, or in them, of which nobody knows more.
    public mutating func lose(_ places: [StorePath], by user: UInt32? = nil) {
        lastSequence += 1
        missed.add(places, by: user, sequence: lastSequence)
    }

    private mutating func loseOldest(of user: UInt32?) {
        var index = max(start, oldest[user] ?? 0)
        // In place: a closure would be given a copy of each entry.
        while index < entries.count, entries[index].isGone || entries[index].user != user { index += 1 }
        guard index < entries.count else {
            counts[user] = nil
            return
        }
        oldest[user] = index + 1
        lose(at: index, of: user)
    }

    private mutating func lose(at index: Int, of user: UInt32?) {
        guard let event = entries[index].event.take() else { return }
        entries[index].isGone = true
        missed.add(event.places, by: user, sequence: event.sequence)
        goneCount += 1
        inUse -= event.weight
        let left = used(by: user) - event.weight
        counts[user] = left > 0 ? left : nil
        while start < entries.count, entries[start].isGone { start += 1 }
        if goneCount > max(64, count / 2) { removeGone() }
    }

    private mutating func removeGone() {
        // The oldest, as a rule, and no others: then nothing is copied.
        if goneCount == start { entries.removeFirst(start) } else { entries.removeAll(where: \.isGone) }
        (start, goneCount, oldest) = (0, 0, [:])
    }

    /// Whether one of the last `count` events is such.
    public func hasLately(_ count: Int, _ isSuch: (StoreEvent) -> Bool) -> Bool {
        entries.reversed().lazy.compactMap(\.event).prefix(max(0, count)).contains(where: isSuch)
    }

    /// The events after a position that a reader wants, `limit` at most. O(events looked at).
    public func events(after position: Position, limit: Int, where isWanted: (StoreEvent) -> Bool) -> Page {
        // A number that was never given comes from an earlier mount, whose later events nobody knows.
        let isForeign = position.sequence < first || position.sequence > lastSequence
        var next = isForeign ? Position(after: first) : position
        let missed = isForeign ? [.root] : missed.places(after: position.sequence, since: position.moment)
        next.moment = self.missed.moment
        var page: [StoreEvent] = []
        for entry in entries[index(after: next.sequence)...] {
            guard page.count < limit else { return Page(events: page, missed: missed, next: next) }
            next.sequence = entry.sequence
            if let event = entry.event, isWanted(event) { page.append(event) }
        }
        if page.count < limit { next.sequence = lastSequence }
        return Page(events: page, missed: missed, next: next)
    }

    /// Where the first entry above a number is.
    private func index(after sequence: UInt64) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = low + (high - low) / 2
            if entries[middle].sequence <= sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
