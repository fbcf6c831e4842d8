import StorePrimitives

/// The claims on a store's items: who may read and write what, and who waits for whom.
///
/// A state machine without I/O, threads or clock: it is told what clients ask and what time it is, and says whose turn it
/// is. The caller guards it by a lock of its own.
///
/// **The life of a claim.**
/// 1. `request` names all its items at once. What it conflicts with at that moment it waits for, and for nothing else:
///    it is *queued* behind these claims, or *begun* at once. What comes later queues behind it.
/// 2. Begun, it keeps conflicting claims and opens out. The caller asks the presenters of its items, for which it admits
///    those that have something to save, and awaits the writers that were there before, then says `grant`.
/// 3. `release` ends it, in whatever state it is, and says which claims begin by that.
///
/// **Conflicts.** Writers of an item exclude each other, in the order they came. A reader waits for the writers that have
/// begun, and gets a snapshot: so nobody waits for a reader, and a queued writer keeps no reader waiting. A claim on a
/// folder covers what is in it if it reads, replaces, moves or deletes it. Claims of one purpose, and those of a claim's
/// own lineage (processes that its claimant started since), never wait for each other.
///
/// **Deadlock.** Waits lead from later claims to earlier ones, so there is no cycle of claims: the first of those that wait
/// always has somebody to wait for who does not. What remains are claims that are asked for while another one is held until
/// they are answered (`ClaimRequest.within`, or by a process that the other's claimant has started), and those of a process
/// that was asked to save, which overtake what waits for it: a request that would close such a cycle is refused. All waits
/// are bounded besides, by the deadline.
///
/// **Starvation.** There is none: a claim waits for a set of claims that only shrinks, but for what presenters save first.
///
/// Opens look only at claims that have begun and are for writing the content of their item, or of a folder with it; requests at
/// those for writing. Operations are linear in the claims that meet the items concerned, and in the length of their paths; a request
/// that has to wait while its claimant's claimants hold claims is linear in all claims besides.
public struct ClaimTable: Sendable {
    var claims: [ClaimID: Claim] = [:]
    /// What they name, and which keep others from writing. Copies of the table share it.
    public let items = ClaimedItems()
    /// Those for writing, also those that wait.
    var writers = ClaimIndex()
    /// Claims that have guests.
    var hosts: Set<ClaimID> = []
    private var last: UInt64 = 0

    public init() {}

    /// Whether nobody claims anything. O(1).
    public var isEmpty: Bool { claims.isEmpty }

    /// Whether any claim keeps others from writing: false at most times, and then opens have nothing to ask here. O(1).
    public var excludesWriters: Bool { items.keepWritersOut }

    /// Asks for a claim.
    ///
    /// `within` counts only if it names a claim of the same user; that it is one of the same client is for the caller to see.
    /// - Parameters:
    ///   - deadline: in nanoseconds of a clock that never goes back; see `expire`.
    ///   - powerless: claims that are not waited for: their claimants may not write what they name any more.
    public mutating func request(_ request: ClaimRequest, deadline: UInt64, besides powerless: Set<ClaimID> = []) -> ClaimDecision {
        var request = request
        // One that is there came before, so there is no circle of claims within each other; and nobody gets past another's.
        if let outer = request.within, claims[outer]?.request.claimant.user != request.claimant.user { request.within = nil }
        let place = self.place(of: request, besides: powerless)
        if let cycle = cycle(closedBy: request, at: place) { return .refused(deadlockWith: cycle) }
        last += 1
        let id = ClaimID(last)
        claims[id] = Claim(request: request, deadline: deadline, blockers: place.blockers)
        for intent in request.intents { enter(id, intent, hasBegun: false) }
        for blocker in place.blockers { claims[blocker]?.followers.insert(id) }
        for overtaken in place.overtaken {
            claims[overtaken]?.blockers.insert(id)
            claims[id]?.followers.insert(overtaken)
        }
        guard place.blockers.isEmpty else { return .queued(id, behind: place.blockers.sorted()) }
        begin(id)
        return .begun(id)
    }

    /// Nobody has to be waited for any more: it does not expire from now on.
    public mutating func waitsNoLonger(_ id: ClaimID) { claims[id]?.deadline = .max }

    /// Its presenters have answered and the writers before it are gone. False if it was released meanwhile.
    @discardableResult
    public mutating func grant(_ id: ClaimID) -> Bool {
        guard claims[id]?.phase == .begun else { return false }
        claims[id]?.phase = .granted
        claims[id]?.guests = []
        hosts.remove(id)
        return true
    }

    /// Ends a claim, also one that waits. Returns those that begin by it, in the order they came; none if it has ended.
    public mutating func release(_ id: ClaimID) -> [ClaimID] {
        guard let claim = claims.removeValue(forKey: id) else { return [] }
        hosts.remove(id)
        for path in claim.places.keys { leave(id, at: path) }
        for blocker in claim.blockers { claims[blocker]?.followers.remove(id) }
        var begun: [ClaimID] = []
        for follower in claim.followers.sorted() {
            claims[follower]?.blockers.remove(id)
            guard claims[follower]?.blockers.isEmpty == true else { continue }
            begin(follower)
            begun.append(follower)
        }
        return begun
    }

    private mutating func begin(_ id: ClaimID) {
        claims[id]?.phase = .begun
        for intent in claims[id]?.request.intents ?? [] { keepWritersOut(id, intent) }
    }

    private func keepWritersOut(_ id: ClaimID, _ intent: ClaimIntent) {
        if intent.isWriting, intent.concernsContent { items.exclude(id, intent) }
    }

    mutating func enter(_ id: ClaimID, _ intent: ClaimIntent, hasBegun: Bool) {
        items.insert(id, at: intent.path)
        if intent.isWriting { writers.insert(id, intent) }
        if hasBegun { keepWritersOut(id, intent) }
    }

    mutating func leave(_ id: ClaimID, at path: StorePath) {
        items.remove(id, at: path)
        writers.remove(id, at: path)
    }

    /// What was asked for, where it stands now; nil if it has ended.
    public subscript(id: ClaimID) -> ClaimRequest? { claims[id]?.request }

    public func phase(of id: ClaimID) -> ClaimPhase? { claims[id]?.phase }

    /// The claims that one waits for, the oldest first.
    public func blockers(of id: ClaimID) -> [ClaimID] { claims[id]?.blockers.sorted() ?? [] }

    /// The claims that have not been granted by their deadline: they are to be released. Linear in the claims.
    public func expired(now: UInt64) -> [ClaimID] {
        claims.filter { $0.value.phase != .granted && $0.value.deadline <= now }.keys.sorted()
    }

    /// When the next claim expires. Linear in the claims.
    public var nextDeadline: UInt64? { claims.values.lazy.filter { $0.phase != .granted && $0.deadline != .max }.map(\.deadline).min() }
}

/// What comes of a request.
public enum ClaimDecision: Hashable, Sendable {
    /// It is its turn.
    case begun(ClaimID)
    /// It waits, for the claims named first of all.
    case queued(ClaimID, behind: [ClaimID])
    /// It would wait for a claim of which somebody waits for the asker: these are the claims on the way.
    case refused(deadlockWith: [ClaimID])
}

/// How far a claim is.
public enum ClaimPhase: String, Hashable, Sendable {
    /// It waits for other claims.
    case queued
    /// It is its turn: it keeps others out, and waits for presenters and for writers that were there before.
    case begun
    case granted
}

struct Claim: Sendable {
    var request: ClaimRequest
    /// Which of the intents name a path.
    var places: [StorePath: [Int]]
    var deadline: UInt64
    var phase = ClaimPhase.queued
    /// The claims it waits for.
    var blockers: Set<ClaimID>
    /// The claims that wait for it.
    var followers: Set<ClaimID> = []
    /// Processes that may write although it has begun, until it is granted: presenters that were asked to save.
    var guests: Set<SaveProcess> = []

    init(request: ClaimRequest, deadline: UInt64, blockers: Set<ClaimID>) {
        self.request = request
        places = Dictionary(grouping: request.intents.indices) { request.intents[$0].path }
        self.deadline = deadline
        self.blockers = blockers
    }
}
