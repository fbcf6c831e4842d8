/// How many opens for writing were transactions, and how many were live for which reason.
public struct SaveCounters: Hashable, Sendable {
    public private(set) var transactional = 0
    public private(set) var live: [LiveReason: Int] = [:]

    public init() {}

    public mutating func count(_ kind: OpenKind) {
        switch kind {
        case .transactional: transactional += 1
        case .live(let reason): live[reason, default: 0] += 1
        }
    }
}
