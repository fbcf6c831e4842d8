/// What one user has of a shared resource through one thing, until that thing goes.
public final class TakenShare: Sendable {
    private let shares: UserShares
    private let resource: BoundedResource
    private let amount: Int
    private let user: UInt32

    /// Nil, and nothing counted, if the user may not have that much more.
    public init?(_ resource: BoundedResource, _ amount: Int = 1, of shares: UserShares, for user: UInt32) {
        guard shares.take(resource, amount, for: user) else { return nil }
        (self.shares, self.resource, self.amount, self.user) = (shares, resource, amount, user)
    }

    deinit { shares.giveBack(resource, amount, for: user) }
}
