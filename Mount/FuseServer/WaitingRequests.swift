/// How many requests are about each user, item and file system.
struct ShareCounts {
    private var users: [UInt64: Int] = [:]
    private var items: [UInt64: Int] = [:]
    private var devices: [UInt64: Int] = [:]

    init() {}

    init(_ holdings: [RequestShares.HeldShares]) {
        for holding in holdings { add(holding) }
    }

    var isEmpty: Bool { users.isEmpty && items.isEmpty && devices.isEmpty }

    /// The most that there are of one.
    var most: Int { [users, items, devices].compactMap { $0.values.max() }.max() ?? 0 }

    func user(_ user: UInt64) -> Int { user == 0 ? 0 : users[user, default: 0] }
    func item(_ item: UInt64) -> Int { item == 0 ? 0 : items[item, default: 0] }
    func device(_ device: UInt64) -> Int { device == 0 ? 0 : devices[device, default: 0] }

    mutating func add(_ holding: RequestShares.HeldShares) { change(holding, by: 1) }
    mutating func remove(_ holding: RequestShares.HeldShares) { change(holding, by: -1) }

    private mutating func change(_ holding: RequestShares.HeldShares, by difference: Int) {
        Self.change(&users, holding.user, by: difference)
        Self.change(&items, holding.item, by: difference)
        Self.change(&devices, holding.device, by: difference)
    }

    private static func change(_ counts: inout [UInt64: Int], _ key: UInt64, by difference: Int) {
        guard key != 0 else { return }
        let now = counts[key, default: 0] + difference
        counts[key] = now > 0 ? now : nil
    }
}

/// The requests that were put aside and wait, for each user in the order they came.
struct WaitingRequests {
    private typealias Queue = [RequestShares.Waiting]
    private var queues: [UInt64: Queue] = [:]
    /// A publication in place of a large document takes so long. In nanoseconds, as all times.
    private static let timeout: Int64 = 30_000_000_000
    /// A close(2) is the last to tell the app of an error.
    private static let timeoutOfClose: Int64 = 300_000_000_000
    private static let flush: UInt32 = 25

    var isEmpty: Bool { queues.isEmpty }

    /// Those of whom something waits.
    var users: [UInt64] { Array(queues.keys) }

    mutating func append(_ request: RequestShares.Waiting) { queues[request.holding.user, default: []].append(request) }

    /// The first of a user's that may begin, of so many.
    func first(
        of user: UInt64, examining count: Int, where mayBegin: (RequestShares.HeldShares) -> Bool
    ) -> RequestShares.Waiting? {
        queues[user]?.prefix(count).first { mayBegin($0.holding) }
    }

    /// Takes out what has waited too long. Linear in what waits of those users only of whom something has.
    mutating func takeLate(at time: Int64) -> [RequestShares.Waiting] {
        var late: [RequestShares.Waiting] = []
        for (user, queue) in queues where user != RequestShares.HeldShares.lettingGo {
            guard let first = queue.first, time - first.since > Self.timeout else { continue }
            let isLate = { (one: RequestShares.Waiting) in
                time - one.since > (one.header.opcode == Self.flush ? Self.timeoutOfClose : Self.timeout)
            }
            late += queue.filter(isLate)
            let left = queue.filter { !isLate($0) }
            queues[user] = left.isEmpty ? nil : left
        }
        return late
    }

    /// The one of a number of the kernel's. Linear in what waits.
    func first(_ unique: UInt64) -> RequestShares.Waiting? {
        queues.values.lazy.compactMap { $0.first { $0.header.unique == unique } }.first
    }

    /// False if it waits no longer. Linear in what waits of its user.
    mutating func remove(_ request: RequestShares.Waiting) -> Bool {
        let user = request.holding.user
        guard let index = queues[user]?.firstIndex(where: { $0 === request }) else { return false }
        queues[user]?.remove(at: index)
        if queues[user]?.isEmpty == true { queues[user] = nil }
        return true
    }
}
