import Coordination
import FuseServer
import Glibc
import StorePrimitives
import Synchronization

/// Claims and presenters of the mount: has their tables told of what clients ask and of what happens in the store, and does
/// what these say. One file of this folder for each side.
///
/// While nobody claims or presents anything, an open pays one check of `OpenGate.isGuarded`.
final class Coordinator: Sendable {
    struct State {
        var claims = ClaimTable()
        var tickets: [ClaimID: ClaimTicket] = [:]
        /// Claims that have begun and that no presenter holds up: granted when nobody writes their items any more.
        var awaitingWriters: [ClaimID: AwaitedWriters] = [:]
        var claimInquiries: [ClaimID: InquiryID] = [:]
        /// Granted when their snapshots are taken.
        var awaitingSnapshots: Set<ClaimID> = []
        var presenters = PresenterTable()
        var sessions: [PresenterID: PresenterSession] = [:]
        var inquiries: [InquiryID: Inquirer] = [:]
        /// Claims that have begun, and whose presenters are asked once it is known what these may write.
        var awaitingRights: Set<ClaimID> = []
        var waitingOpens: [ObjectIdentifier: WaitingOpen] = [:]
        /// Up to where the presenters of each account have been told of events.
        var told: [uid_t: EventLog.Position] = [:]
        var listener: EventHub.ListenerID?
    }

    struct AwaitedWriters {
        /// What was let through until then may not be seen as a writer yet.
        let lastPass: OpenPass
        let since: UInt64
        /// Those met at the first check: who comes later is not waited for by readers.
        var first: Set<DocumentWriter.ID>?
        /// Those met at the last check.
        var writers: [ClaimHolder] = []
    }

    enum Inquirer {
        case claim(ClaimID)
        case open(WaitingOpen)
    }

    /// What is to be done when the state's lock is given up.
    struct Actions {
        var answers: [(ClaimTicket, ClaimOutcome)] = []
        var opens: [WaitingOpen] = []
        /// Sessions that have something to be told.
        var sessions: [PresenterSession] = []
        var wakesThread = false
        var checksWriters = false
        var snapshots: [WantedSnapshot] = []
        /// Claims that have ended, whose snapshots go.
        var ended: [ClaimID] = []

        mutating func tell(_ session: PresenterSession) {
            if !sessions.contains(where: { $0 === session }) { sessions.append(session) }
        }
    }

    /// Rank 4b. Nothing is called while it is held but the two tables, and sessions' outboxes.
    let state = Locked(State())
    /// The two tables' items that opens are kept from, or ask presenters of: looked up without the state's lock.
    private let claimedItems: ClaimedItems
    private let askedItems: PresentedItems
    let passes = OpenPasses()
    /// Rank 4a0: held while presenters are told of events, so that these come in order.
    let telling = ThreadLock()
    let gate = OpenGate()
    /// Whether anybody claims anything. Changes with the state held.
    private let hasClaims = Atomic<Bool>(false)
    /// How many claims there are of users whose rights have limits.
    let foreignClaims = Atomic<Int>(0)
    let events: EventHub
    let times: CoordinationTimes
    let writers: DocumentWriters
    let snapshots: SnapshotService
    let shares: UserShares
    let access: AccessChecker
    let snapshotQueue = SnapshotQueue()
    /// Threads whose open goes on after presenters were asked, and comes back.
    let asked = StaleRetries()
    private let claimLoop = LoopThread()
    /// They go on with opens that have waited.
    private let openLoops = (0..<4).map { _ in LoopThread() }
    private let snapshotLoop = LoopThread()

    init(
        events: EventHub, writers: DocumentWriters, snapshots: SnapshotService, shares: UserShares, access: AccessChecker,
        times: CoordinationTimes
    ) {
        (claimedItems, askedItems) = state.withLock { ($0.claims.items, $0.presenters.asked) }
        self.events = events
        self.writers = writers
        self.snapshots = snapshots
        self.shares = shares
        self.access = access
        self.times = times
    }

    static var now: UInt64 { SaveService.now }

    // MARK: - The thread

    /// - Parameters:
    ///   - prepare: readies a thread for acting for others: opening documents for those who wait, and copying for snapshots.
    ///   - open: opens what has waited.
    func start(_ prepare: @escaping @Sendable () -> Void, open: @escaping @Sendable (WaitingOpen) -> Void) {
        claimLoop.start("quire-claims") { [self] in
            prepare()
            while !claimLoop.isStopping {
                claimLoop.sleep(seconds: work())
            }
        }
        for (index, loop) in openLoops.enumerated() {
            loop.start("quire-opens-\(index)") { [self] in
                prepare()
                while !loop.isStopping {
                    if !gate.goOn(open) { loop.sleep() }
                }
            }
        }
        snapshotLoop.start("quire-snapshots") { [self] in
            prepare()
            snapshotQueue.run { take($0) }
        }
    }

    /// The mount is gone: claims that were not granted are refused, opens that still wait answer EIO as they go.
    func stop() {
        snapshotQueue.end()
        claimLoop.stop()
        for loop in openLoops { loop.stop() }
        snapshotLoop.stop()
        change { state, actions in
            for ticket in state.tickets.values { actions.answers.append((ticket, .refused(.ended))) }
            for open in state.waitingOpens.values { _ = unpark(open, &state) }
        }
        gate.dropReady()
    }

    /// Has the thread check again.
    func signal() { claimLoop.wake() }

    // MARK: - Changes

    /// Changes the state, and then does what follows. `mayWait`: this thread may wait for the disk, which is none of the service's
    /// event loops.
    @discardableResult
    func change<Result>(mayWait: Bool = true, _ body: (inout State, inout Actions) -> Result) -> Result {
        var actions = Actions()
        let result = state.withLock { state in
            let result = body(&state, &actions)
            gate.isGuarded.store(
                state.claims.excludesWriters || state.presenters.hasUnsavedChanges, ordering: .sequentiallyConsistent)
            hasClaims.store(!state.claims.isEmpty, ordering: .relaxed)
            return result
        }
        for (ticket, outcome) in actions.answers { ticket.answer(outcome) }
        for session in actions.sessions { session.wake() }
        for snapshot in actions.ended.compactMap(snapshots.drop) { snapshotQueue.discard(snapshot) }
        for wanted in actions.snapshots where !(mayWait && takeAtOnce(wanted)) { snapshotQueue.add(wanted) }
        gate.makeReady(actions.opens)
        if !actions.opens.isEmpty { for loop in openLoops { loop.wake() } }
        if actions.wakesThread { claimLoop.wake() }
        if actions.checksWriters { grantWhatNobodyWrites(mayWait: mayWait) }
        return result
    }

    /// Whether a claim keeps others from writing an item. O(length of the path); waits for no change of claims.
    func isClaimed(_ path: StorePath) -> Bool { claimedItems.keepWritersOut(of: path) }

    /// Whether opens of an item ask presenters first. As `isClaimed`.
    func isPresented(_ path: StorePath) -> Bool { askedItems.contains(path) }

    /// Something was moved: claims go with it, presenters when they are told. One check if nobody claims anything.
    func moved(from old: @autoclosure () -> StorePath?, to new: @autoclosure () -> StorePath?) {
        guard hasClaims.load(ordering: .relaxed), let old = old(), let new = new(), claimedItems.areMoved(with: old) else { return }
        state.withLock { $0.claims.moved(from: old, to: new) }
    }

    /// An inquiry is over.
    func finished(_ inquiry: InquiryID, _ state: inout State, _ actions: inout Actions) {
        guard let inquirer = state.inquiries.removeValue(forKey: inquiry) else { return }
        guard let outcome = state.presenters.outcome(of: inquiry) else { return }
        switch inquirer {
        case .open(let open): letGo(open, isLate: false, &state, &actions)
        case .claim(let id):
            if let failure = outcome.failures.first, let ticket = state.tickets[id] {
                actions.answers.append((ticket, .refused(.presenterFailed(failure.message))))
                end(id, &state, &actions)
            } else {
                awaitWriters(of: id, &state, &actions)
            }
        }
    }
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : whole &+ attoseconds / 1_000_000_000
    }
}
