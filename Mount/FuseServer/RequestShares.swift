internal import Synchronization
package import StorePrimitives

/// What a request may hold up besides its caller.
public struct RequestShare: Hashable, Sendable {
    /// The document, or whatever else the request is about.
    public var item: UInt64
    /// The file system that the item is on; 0 for the store's own.
    public var device: UInt64

    public init(item: UInt64, device: UInt64) { (self.item, self.device) = (item, device) }
}

/// A share of the serving threads for everybody, by putting requests aside as they came from the device.
///
/// Two rules. *Shares*: no user, no document and no file system mounted inside the store holds more than a quarter of the threads,
/// whatever its requests wait for; only requests that take longer than a beat of the pulse count, and those that were put aside.
/// *Heavy users*: requests are read in turn, so a user whose requests take the reading threads' time delays everybody's, quick as each may
/// be. Where several users are active, requests of those are put aside as well, and done by as many threads as
/// half of the processors, and one more for each that is slow: more would only contend with everybody for processors and locks.
///
/// Threads of their own do what was put aside.
///
/// Requests that were put aside are handed on as others of the same end, of each user in the order it came. A request that has waited too long is answered
/// EBUSY; one whose caller is being killed, EINTR. RELEASE and FORGET, which may free a large file's blocks, have a share of their own, of
/// which one user's have a third, and wait for nothing else: for what is under way may wait for them. INTERRUPT never waits. While nobody
/// has too much a request costs one atomic load.
///
/// Knows no clock: times are the caller's, in nanoseconds.
package final class RequestShares: @unchecked Sendable {
    /// What one request holds: its user (plus one), its item, its inner file system. 0: does not count.
    package struct HeldShares: Hashable, Sendable {
        package var user: UInt64
        package var item: UInt64
        package var device: UInt64

        /// The user of RELEASE and FORGET.
        package static let lettingGo = UInt64.max

        /// The item of a RELEASE: the account of the user who opened the file. No document has such a number.
        package static func item(of opener: UInt32) -> UInt64 { UInt64(opener) | 1 << 63 }

        package init(user: UInt64 = 0, item: UInt64 = 0, device: UInt64 = 0) {
            (self.user, self.item, self.device) = (user, item, device)
        }
    }

    /// A request as the kernel heads it.
    package struct Header: Sendable {
        package var unique: UInt64
        package var opcode: UInt32
        package var thread: Int32
        package var user: UInt32
        /// In bytes.
        package var size: Int

        package init(unique: UInt64, opcode: UInt32, thread: Int32, user: UInt32, size: Int) {
            (self.unique, self.opcode, self.thread, self.user, self.size) = (unique, opcode, thread, user, size)
        }
    }

    /// A request that was put aside.
    package final class Waiting: Sendable {
        package let header: Header
        package let holding: HeldShares
        package let bytes: RequestBytes
        let since: Int64

        init(_ header: Header, _ holding: HeldShares, _ bytes: RequestBytes, at time: Int64) {
            (self.header, self.holding, self.bytes, since) = (header, holding, bytes, time)
        }
    }

    package enum Decision: Equatable, Sendable {
        /// It is to be done now.
        case served
        case waits
        /// It was put aside, and its turn has come: a thread that does not read is to take it.
        case ready
        /// Too much waits of this user, or of all: it is to be answered EBUSY.
        case refused
    }

    private struct State {
        /// By requests that were not put aside and took longer than the last beat.
        var held = ShareCounts()
        /// By requests that were put aside, and are being done or ready to be.
        var begun = ShareCounts()
        /// Of these, without what lets go.
        var begunCount = 0
        /// Of these, what has taken longer than the last beat.
        var slow = ShareCounts()
        var heavy: Set<Int> = []
        var waiting = WaitingRequests()
        var ready: [Waiting] = []

        mutating func begin(_ request: Waiting) {
            begun.add(request.holding)
            if request.holding.user != HeldShares.lettingGo { begunCount += 1 }
            ready.append(request)
        }

        mutating func end(_ holding: HeldShares) {
            begun.remove(holding)
            if holding.user != HeldShares.lettingGo { begunCount -= 1 }
        }

        func isHeavy(_ user: UInt64) -> Bool {
            user != 0 && user != HeldShares.lettingGo && !heavy.isEmpty && heavy.contains(HeavyUsers.place(of: user))
        }
    }

    /// Leaf, but for the counters of `limits`.
    private let state = Locked(State())
    /// What one of each may hold.
    package let share: Int
    /// How many requests a heavy user may hold besides slow ones: those that keep processors busy leave others half of them.
    private let heavyShare: Int
    /// How many RELEASEs of one user's.
    private let releaseShare: Int
    /// How many requests that were put aside may be under way together.
    private let most: Int
    private let limits: UserShares
    let accounts: Accounts
    private let isLimiting = Atomic<Bool>(false)
    private let areReady = Atomic<Bool>(false)
    /// Of what waits, how much is looked at whenever a request ends. All of it is looked at with each beat.
    private static let lookAhead = 64

    /// How many threads do what was put aside, besides so many that read.
    package static func threadsAside(besides threads: Int) -> Int { max(1, threads / 2) }

    package init(threads: Int, cores: Int, limits: UserShares) {
        share = max(1, threads / 4)
        heavyShare = max(1, min(cores / 2, share))
        releaseShare = max(1, share / 3)
        most = Self.threadsAside(besides: threads)
        self.limits = limits
        accounts = limits.accounts
    }

    /// Whether some have their whole share, or are heavy. One atomic load.
    package var areSomeLimited: Bool { isLimiting.load(ordering: .relaxed) }
    package var hasReady: Bool { areReady.load(ordering: .relaxed) }
    package var isEmpty: Bool { state.withLock { $0.waiting.isEmpty && $0.begun.isEmpty } }

    /// Puts a request aside if something that it is about has its whole share, or its user is heavy.
    ///
    /// - Parameter bytes: called if so, with the lock held: the request is no longer the caller's.
    package func putAside(_ header: Header, _ holding: HeldShares, at time: Int64, bytes: () -> RequestBytes) -> Decision {
        guard !Self.neverWaits(header.opcode) else { return .served }
        return state.withLock { state in
            let mayBegin = mayBegin(holding, state)
            let lettingGo = holding.user == HeldShares.lettingGo
            guard !mayBegin || (lettingGo ? !state.heavy.isEmpty : state.isHeavy(holding.user)) else { return .served }
            // On a mount of one user nobody else waits meanwhile: a write(2) by O_DIRECT may come as hundreds of requests at once.
            guard lettingGo || take(header) else { return holding.user == 0 ? .served : .refused }
            let request = Waiting(header, holding, bytes(), at: time)
            guard mayBegin else {
                state.waiting.append(request)
                return .waits
            }
            state.begin(request)
            areReady.store(true, ordering: .relaxed)
            return .ready
        }
    }

    /// A request that was put aside and whose turn has come. To be followed by `ended`.
    package func takeReady() -> Waiting? {
        guard hasReady else { return nil }
        return state.withLock { state in
            guard !state.ready.isEmpty else { return nil }
            let first = state.ready.removeFirst()
            areReady.store(!state.ready.isEmpty, ordering: .relaxed)
            return first
        }
    }

    /// A request that was put aside has been done. Returns how many are ready.
    package func ended(_ request: Waiting) -> Int {
        letGo(of: request)
        return state.withLock { state in
            state.end(request.holding)
            beginNext(&state, examining: Self.lookAhead)
            return state.ready.count
        }
    }

    /// At each beat.
    ///
    /// - Parameters:
    ///   - held: what requests are about that were not put aside and have taken longer than a beat.
    ///   - slow: the same of those that were put aside.
    ///   - heavy: the users who take so much of the threads' time that others would wait, see `HeavyUsers`.
    /// Returns how many are ready, and which have waited too long and are to be answered EBUSY.
    package func beat(
        held: [HeldShares], slow: [HeldShares] = [], heavy: Set<Int> = [], at time: Int64
    ) -> (ready: Int, late: [Waiting]) {
        guard held.count >= share || !heavy.isEmpty || isLimiting.load(ordering: .relaxed) else { return (0, []) }
        let (ready, late) = state.withLock { state in
            (state.held, state.slow) = (ShareCounts(held), ShareCounts(slow))
            state.heavy = heavy
            beginNext(&state, examining: .max)
            let late = state.waiting.takeLate(at: time)
            isLimiting.store(
                !heavy.isEmpty || !state.waiting.isEmpty || !state.begun.isEmpty || state.held.most >= share, ordering: .relaxed)
            return (state.ready.count, late)
        }
        for request in late { letGo(of: request) }
        return (ready, late)
    }

    /// Takes a request out, for whoever answers it: its caller got a signal. `isToBe` is called with no lock held.
    package func take(_ unique: UInt64, if isToBe: (Waiting) -> Bool) -> Waiting? {
        guard let found = state.withLock({ $0.waiting.first(unique) }), isToBe(found) else { return nil }
        guard state.withLock({ $0.waiting.remove(found) }) else { return nil }
        letGo(of: found)
        return found
    }

    private func take(_ header: Header) -> Bool {
        guard limits.take(.heldRequests, for: header.user) else { return false }
        if limits.take(.heldRequestBytes, header.size, for: header.user) { return true }
        limits.giveBack(.heldRequests, for: header.user)
        return false
    }

    private func letGo(of request: Waiting) {
        guard request.holding.user != HeldShares.lettingGo else { return }
        limits.giveBack(.heldRequests, for: request.header.user)
        limits.giveBack(.heldRequestBytes, request.header.size, for: request.header.user)
    }

    private func mayBegin(_ holding: HeldShares, _ state: State) -> Bool {
        let itemShare = holding.user == HeldShares.lettingGo ? releaseShare : share
        return mayBegin(holding.user, state) && state.held.item(holding.item) + state.begun.item(holding.item) < itemShare
            && state.held.device(holding.device) + state.begun.device(holding.device) < share
    }

    /// Whether anything of a user's may.
    private func mayBegin(_ user: UInt64, _ state: State) -> Bool {
        guard state.begunCount < most || user == HeldShares.lettingGo else { return false }
        let share = state.isHeavy(user) ? min(share, heavyShare + state.slow.user(user)) : share
        return state.held.user(user) + state.begun.user(user) < share
    }

    /// Has what waits begin, of each user the first first. No user is always the first of all.
    private func beginNext(_ state: inout State, examining count: Int) {
        for user in state.waiting.users.shuffled() {
            while mayBegin(user, state),
                let first = state.waiting.first(of: user, examining: count, where: { mayBegin($0, state) }),
                state.waiting.remove(first)
            { state.begin(first) }
        }
        areReady.store(!state.ready.isEmpty, ordering: .relaxed)
    }

    /// INIT, INTERRUPT, DESTROY, NOTIFY_REPLY.
    private static func neverWaits(_ opcode: UInt32) -> Bool { opcode == 26 || opcode == interrupt || opcode == 38 || opcode == 41 }
}
