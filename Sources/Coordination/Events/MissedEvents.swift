public import StorePrimitives

/// Where events happened that nobody keeps: whoever is told of these places looks at them again.
///
/// Holds a limited number of places. Each is the folder that everything lost in it was in, for a limited number of events of one user,
/// so that what one user does there sends nobody else to look elsewhere.
public struct MissedEvents: Sendable {
    private struct Loss: Sendable {
        /// Nil: nobody knows whose, or of several users.
        var user: UInt32?
        var count = 1
        var place: StorePath
        /// The number of the last event among them.
        var sequence: UInt64
        /// When the last one was lost.
        var moment: UInt64

        mutating func add(_ other: Loss) {
            if other.user != user { user = nil }
            count += other.count
            place = place.commonFolder(with: other.place)
            sequence = max(sequence, other.sequence)
            moment = max(moment, other.moment)
        }
    }

    /// Oldest first.
    private var losses: [Loss] = []
    /// How many events were lost until now.
    public private(set) var moment: UInt64 = 0

    private static let most = 64
    private static let mostEvents = 1_024

    public init() {}

    public var isEmpty: Bool { losses.isEmpty }

    /// Adds an event at a place. O(1).
    /// - Parameter sequence: the event's number.
    public mutating func add(_ place: StorePath, by user: UInt32?, sequence: UInt64 = 0) {
        moment += 1
        let loss = Loss(user: user, place: place, sequence: sequence, moment: moment)
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
    public var places: [(place: StorePath, user: UInt32?)] { losses.map { ($0.place, $0.user) } }

    /// The places of what was lost after a moment and has a number above `sequence`.
    public func places(after sequence: UInt64, since moment: UInt64) -> [StorePath] {
        losses.lazy.filter { $0.sequence > sequence && $0.moment > moment }.map(\.place)
    }
}
