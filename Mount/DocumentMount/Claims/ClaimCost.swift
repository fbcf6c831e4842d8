import Coordination
import StorePrimitives

/// The amounts by which a claim counts in its user's shares.
struct ClaimCost: Sendable {
    let items: Int
    let bytes: Int

    /// Of a claim that was refused: it holds nothing.
    static let none = ClaimCost(items: 0, bytes: 0)

    init(items: Int, bytes: Int) { (self.items, self.bytes) = (items, bytes) }

    init(_ intents: [ClaimIntent]) {
        self.init(items: intents.count, bytes: intents.reduce(0) { $0 &+ $1.path.bytes.count })
    }

    private func parts() -> [(BoundedResource, Int)] { [(.claims, 1), (.claimedItems, items), (.claimedBytes, bytes)] }

    /// Counts it for a user; nil if all of it fits, else the resource of which there is too much, and nothing is counted.
    func take(from shares: UserShares, for user: UInt32) -> BoundedResource? {
        for (index, part) in parts().enumerated() where !shares.take(part.0, part.1, for: user) {
            for taken in parts()[..<index] { shares.giveBack(taken.0, taken.1, for: user) }
            return part.0
        }
        return nil
    }

    func giveBack(to shares: UserShares, for user: UInt32) {
        for (resource, amount) in parts() { shares.giveBack(resource, amount, for: user) }
    }
}
