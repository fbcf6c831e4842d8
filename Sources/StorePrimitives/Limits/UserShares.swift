/// Counts what each user has of each shared resource, and all users together, against the bounds.
///
/// Taking and giving back cost one uncontended lock each, and allocate only for a user that is met for the first time. The locks
/// are leaves, one a resource. Amounts must be given back as they were taken.
public final class UserShares: Sendable {
    private let counters: [Counter]

    /// - Parameter bounds: those that depend on the machine, in place of the table's.
    public init(bounds: [SharedResource: SharedResource.Bound] = [:]) {
        counters = SharedResource.allCases.map { Counter(bounds[$0] ?? $0.bound) }
    }

    public func bound(of resource: SharedResource) -> SharedResource.Bound { counters[resource.rawValue].bound }

    /// Counts `amount` more for a user. False, and nothing counted, if that is more than the user may have, or all may have.
    public func take(_ resource: SharedResource, _ amount: Int = 1, for user: UInt32) -> Bool {
        counters[resource.rawValue].take(amount, user)
    }

    public func giveBack(_ resource: SharedResource, _ amount: Int = 1, for user: UInt32) {
        counters[resource.rawValue].giveBack(amount, user)
    }

    public enum Refusal: Sendable { case userHasMost, allHaveMost }

    /// Why a user could have no more now; nil if there is room. Counts nothing.
    public func refusal(of resource: SharedResource, for user: UInt32) -> Refusal? { counters[resource.rawValue].refusal(for: user) }

    /// What one user has.
    public func use(of resource: SharedResource, by user: UInt32) -> Int { counters[resource.rawValue].use(by: user) }

    /// What all users have.
    public func use(of resource: SharedResource) -> Int { counters[resource.rawValue].use }
}

private final class Counter: @unchecked Sendable {
    let bound: SharedResource.Bound
    private let lock = ThreadLock()
    /// Guarded by `lock`, as is `byUser`.
    private var total = 0
    private var byUser: [UInt32: Int] = [:]

    init(_ bound: SharedResource.Bound) { self.bound = bound }

    func take(_ amount: Int, _ user: UInt32) -> Bool {
        lock.withLock {
            let own = byUser[user] ?? 0
            guard amount <= bound.forUser - own, user == 0 || amount <= bound.forAll - total else { return false }
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

    func refusal(for user: UInt32) -> UserShares.Refusal? {
        lock.withLock {
            if byUser[user] ?? 0 >= bound.forUser { return .userHasMost }
            return user != 0 && total >= bound.forAll ? .allHaveMost : nil
        }
    }

    func use(by user: UInt32) -> Int { lock.withLock { byUser[user] ?? 0 } }
    var use: Int { lock.withLock { total } }
}
