public import StorePrimitives

/// Where events happened that nobody keeps: whoever is told of these places looks at them again.
///
/// Holds a limited number of places: for a limited number of events of one user 16 items or folders, which hold all that was lost.
public struct MissedEvents: Sendable {
    private struct Loss: Sendable {
        /// Nil: nobody knows whose, or of several users.
        var user: UInt32?
        var count = 1
        var places: [StorePath]
        /// The number of the last event among them.
        var sequence: UInt64
        /// When the last one was lost.
        var moment: UInt64

        private mutating func add(_ place: StorePath) {
            if places.contains(where: { place == $0 || place.isInside($0) }) { return }
            places.removeAll { $0.isInside(place) }
            places.append(place)
            guard places.count > MissedEvents.mostPlaces else { return }
            // The two that are nearest to each other become the folder that holds both.
            let folders = places.indices.flatMap { index in
                places[..<index].map { $0.commonFolder(with: places[index]) }
            }
            if let deepest = folders.max(by: { $0.bytes.count < $1.bytes.count }) { add(deepest) }
        }

        mutating func add(_ other: Loss) {
            if other.user != user { user = nil }
            count += other.count
            for place in other.places { add(place) }
            sequence = max(sequence, other.sequence)
            moment = max(moment, other.moment)
        }
    }

    /// Oldest first.
    private var losses: [Loss] = []
    /// How many events were lost until now.
    public private(set) var moment: UInt64 = 0

    private static let most = 64
    private static let mostPlaces = 16
    private static let mostEvents = 1_024

    public init() {}

    public var isEmpty: Bool { losses.isEmpty }

    /// Adds an event. O(length of its paths).
    /// - Parameters:
    ///   - places: what it is about.
    ///   - sequence: the event's number.
    public mutating func add(_ places: [StorePath], by user: UInt32?, sequence: UInt64 = 0) {
        moment += 1
        let loss = Loss(user: user, places: places, sequence: sequence, moment: moment)
        if let index = losses.lastIndex(where: { $0.user == user && $0.count < Self.mostEvents }) {
            losses[index].add(loss)
            return
        }
        losses.append(loss)
        // The oldest become one.
        guard losses.count > Self.most else { return }
        let oldest = losses.removeFirst()
        losses[0].add(oldest)
    }

    /// The places of all of them, with who did it.
    public var places: [(places: [StorePath], user: UInt32?)] { losses.map { ($0.places, $0.user) } }

    /// The places of what was lost after a moment and has a number above `sequence`.
    public func places(after sequence: UInt64, since moment: UInt64) -> [StorePath] {
        losses.lazy.filter { $0.sequence > sequence && $0.moment > moment }.flatMap(\.places)
    }
}
