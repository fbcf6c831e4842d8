/// Counts what each user has of each shared resource, and all users together, against the bounds.
///
/// Taking and giving back cost one uncontended lock each, and allocate only for a user that is met for the first time. The locks
/// are leaves, one a resource. Amounts must be given back as they were taken.
public final class UserShares: Sendable {
    private let counters: [Counter]
    private let unbounded: Set<BoundedResource>
    /// User ids of one account have one share.
    public let accounts: Accounts

    /// - Parameters:
    ///   - bounds: those that depend on the machine or the configuration, in place of the table's.
    ///   - unbounded: what is not counted here, because it is the user's own business.
    public init(
        bounds: [BoundedResource: BoundedResource.Bound] = [:], unbounded: Set<BoundedResource> = [], accounts: Accounts = Accounts()
    ) {
        counters = BoundedResource.allCases.map { Counter(bounds[$0] ?? $0.bound) }
        self.unbounded = unbounded
        self.accounts = accounts
    }

    /// The resources that are counted.
    public var resources: [BoundedResource] { BoundedResource.allCases.filter { !unbounded.contains($0) } }

    public func bound(of resource: BoundedResource) -> BoundedResource.Bound { counters[resource.rawValue].bound }

    /// Counts `amount` more for a user. False, and nothing counted, if that is more than the user may have, or than would be left then
    /// for others.
    public func take(_ resource: BoundedResource, _ amount: Int = 1, for user: UInt32) -> Bool {
        counters[resource.rawValue].take(amount, accounts.owner(of: user))
    }

    public func giveBack(_ resource: BoundedResource, _ amount: Int = 1, for user: UInt32) {
        counters[resource.rawValue].giveBack(amount, accounts.owner(of: user))
    }

    /// Counts a change of what lies on disk, whatever the bounds are: whoever keeps it removes what is over them.
    public func note(_ resource: BoundedResource, _ change: Int, for user: UInt32) {
        counters[resource.rawValue].note(change, accounts.owner(of: user))
    }

    /// Replaces what was counted by what was found on disk.
    public func set(_ resource: BoundedResource, to amounts: [UInt32: Int]) {
        var owned: [UInt32: Int] = [:]
        for (user, amount) in amounts {
            let account = accounts.owner(of: user)
            owned[account] = (owned[account] ?? 0).adding(clamping: amount)
        }
        counters[resource.rawValue].set(owned)
    }

    public enum Refusal: Sendable { case userHasMost, allHaveMost }

    /// Why a user could have no more now; nil if there is room. Counts nothing.
    public func refusal(of resource: BoundedResource, for user: UInt32) -> Refusal? { counters[resource.rawValue].refusal(for: accounts.owner(of: user)) }

    /// What one user has.
    public func use(of resource: BoundedResource, by user: UInt32) -> Int { counters[resource.rawValue].use(by: accounts.owner(of: user)) }

    /// What all users have.
    public func use(of resource: BoundedResource) -> Int { counters[resource.rawValue].use }
}

private final class Counter: @unchecked Sendable {
    let bound: BoundedResource.Bound
    private let lock = ThreadLock()
    /// Guarded by `lock`, as is `byUser`.
    private var total = 0
    private var byUser: [UInt32: Int] = [:]

    init(_ bound: BoundedResource.Bound) { self.bound = bound }

    func take(_ amount: Int, _ user: UInt32) -> Bool {
        lock.withLock {
            let own = byUser[user] ?? 0
            guard bound.hasRoom(for: amount, beside: own, of: total, user: user) else { return false }
            byUser[user] = own + amount
            total += amount
            return true
        }
    }

    func giveBack(_ amount: Int, _ user: UInt32) {
        lock.withLock {
            let own = (byUser[user] ?? 0) - amount
            byUser[user] = own > 0 ? own : nil
            total -= amount
        }
    }

    func note(_ change: Int, _ user: UInt32) {
        lock.withLock {
            let own = byUser[user] ?? 0
            let new = max(0, own.adding(clamping: change))
            byUser[user] = new > 0 ? new : nil
            total = total.adding(clamping: new - own)
        }
    }

    func set(_ amounts: [UInt32: Int]) {
        lock.withLock {
            byUser = amounts.filter { $0.value > 0 }
            total = byUser.values.reduce(0) { $0.adding(clamping: $1) }
        }
    }

    func refusal(for user: UInt32) -> UserShares.Refusal? {
        lock.withLock {
            let own = byUser[user] ?? 0
            if own >= bound.forUser { return .userHasMost }
            return bound.hasRoom(for: 1, beside: own, of: total, user: user) ? nil : .allHaveMost
        }
    }

    func use(by user: UInt32) -> Int { lock.withLock { byUser[user] ?? 0 } }
    var use: Int { lock.withLock { total } }
}
