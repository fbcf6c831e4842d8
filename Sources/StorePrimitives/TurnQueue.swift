/// A queue in which the users take turns: the elements of each are in the order they came, so that a user who adds many delays each of
/// the others by one element.
public struct TurnQueue<Element> {
    private var waiting: [UInt32: [Element]] = [:]
    /// The users who have elements, the next first.
    private var users: [UInt32] = []

    public init() {}

    public var isEmpty: Bool { users.isEmpty }

    public mutating func append(_ element: Element, of user: UInt32) {
        if waiting[user] == nil { users.append(user) }
        waiting[user, default: []].append(element)
    }

    /// Linear in what waits of its user, and in the users.
    public mutating func popFirst() -> Element? {
        guard let user = users.first, let elements = waiting.removeValue(forKey: user) else { return nil }
        users = Array(users.dropFirst())
        if elements.count > 1 {
            waiting[user] = Array(elements.dropFirst())
            users.append(user)
        }
        return elements.first
    }
}

extension TurnQueue: Sendable where Element: Sendable {}
