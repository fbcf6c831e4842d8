import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// The advisory locks of the mount: the table decides, this answers. A request that must wait is parked; no thread waits.
final class LockService: @unchecked Sendable {
    private struct State {
        var table = LockTable()
        var parked: [WaiterID: Parked] = [:]
    }
    /// A request that waits, which counts for its user.
    private struct Parked {
        let reply: ParkedReply<Done>
        let share: TakenShare
    }
    /// Rank 4. Replies are sent after it is given up.
    private let state = Locked(State())
    /// Whether any lock is held or waited for: closing a file without locks costs one check of this.
    private let isInUse = Atomic<Bool>(false)
    /// Locks have ended.
    let unlocked = Condition()
    private let loop = LoopThread()
    private let shares: UserShares

    init(shares: UserShares) {
        self.shares = shares
        loop.start("quire-locks") { [unowned self] in expireInTime() }
    }

    /// Ends the service's thread; replies still parked answer EIO as they go.
    func stop() { loop.stop() }

    /// Refused with ENOLCK if the lock's user holds as many as one may, or has as many waiting and it has to wait.
    func request(_ lock: AdvisoryLock, waits: Bool, _ reply: consuming Reply<Done>) {
        guard shares.refusal(of: .heldLocks, for: lock.user) == nil else { return reply.fail(.noLocks) }
        let share = TakenShare(.waitingLocks, of: shares, for: lock.user)
        let request = Request()
        let parked = ParkedReply(reply) { [unowned self] parked in interrupted(request, parked) }
        // Before the table knows of it: from then on another thread may answer, which ends the listening.
        parked.listen()
        var answers: [(ParkedReply<Done>, Errno?)] = []
        let outcome = state.withLock { state -> LockOutcome in
            let decision = state.table.request(lock, blocking: waits && share != nil, now: Self.now)
            answers = granted(decision.granted, &state)
            defer { noteUse(&state) }
            guard case .parked(let waiter, _) = decision.outcome else { return decision.outcome }
            // The table parks a request that does not wait for a moment, too, if a RELEASE may be on its way.
            guard let share else {
                _ = state.table.cancel(waiter)
                return .refused
            }
            if request.wasInterrupted, state.table.cancel(waiter) {
                answers.append((parked, .interrupted))
            } else {
                request.waiter = waiter
                state.parked[waiter] = Parked(reply: parked, share: share)
            }
            return decision.outcome
        }
        send(answers)
        switch outcome {
        case .granted: parked.answer()
        case .refused: parked.answer(waits ? .noLocks : .resourceTemporarilyUnavailable)
        case .deadlock: parked.answer(.deadlock)
        case .parked(_, until: .some): loop.wake()
        case .parked(_, until: nil): break
        }
    }

    /// A request on its way. Guarded by the state's lock.
    private final class Request: @unchecked Sendable {
        var waiter: WaiterID?
        /// A signal came before the request was parked.
        var wasInterrupted = false
    }

    /// Throws ENOLCK if a lock would become two, and the user holds as many as one may.
    func unlock(
        _ range: LockRange, of owner: LockOwner, _ kind: LockKind, on document: LockedDocument, for user: uid_t
    ) throws(Errno) {
        let isFull = shares.refusal(of: .heldLocks, for: user) != nil
        guard !isFull || !state.withLock({ $0.table.splits(range, of: owner, kind, on: document) }) else { throw .noLocks }
        change { $0.unlock(range, of: owner, kind, on: document) }
    }

    func unlockWhole(_ document: LockedDocument, of owner: LockOwner) {
        change { $0.unlock(.all, of: owner, .whole, on: document) }
    }

    /// Locks all of several documents for reading, against byte range locks for writing; if that would have to wait, none of
    /// them, and returns what is in the way. Until `dropShared`.
    func holdShared(_ documents: [LockedDocument], as owner: LockOwner) -> AdvisoryLock? {
        let wanted = documents.map { document in
            AdvisoryLock.record(
                .shared, .all, of: document, owner: owner, handle: LockHandle(owner.rawValue), pid: getpid())
        }
        return state.withLock { state in
            for lock in wanted { if let conflict = state.table.firstConflict(with: lock) { return conflict } }
            for lock in wanted { _ = state.table.request(lock, blocking: false, now: Self.now) }
            noteUse(&state)
            return nil
        }
    }

    func dropShared(_ owner: LockOwner) { released(handle: HandleID(owner.rawValue)) }

    func firstConflict(with lock: AdvisoryLock) -> AdvisoryLock? { state.withLock { $0.table.firstConflict(with: lock) } }

    /// A descriptor was closed: the record locks of the process on the document end.
    func flushed(_ node: @autoclosure () -> Node, handle: HandleID, owner: UInt64) {
        guard isInUse.load(ordering: .relaxed) else { return }
        change { $0.flush(LockedDocument(node().lockKey), owner: LockOwner(owner), handle: LockHandle(handle.rawValue)) }
    }

    /// The open file is gone: what was locked through it ends.
    func released(handle: HandleID) {
        guard isInUse.load(ordering: .relaxed) else { return }
        change { $0.release(LockHandle(handle.rawValue)) }
    }

    /// The locks held, and those that are waited for. Linear in the table.
    var listing: (held: [AdvisoryLock], waiting: [AdvisoryLock]) {
        state.withLock { ($0.table.heldLocks, $0.table.waitingLocks.map(\.lock)) }
    }

    private func change(_ body: (inout LockTable) -> [WaiterID]) {
        let answers = state.withLock { state in
            let waiters = body(&state.table)
            defer { noteUse(&state) }
            return granted(waiters, &state)
        }
        unlocked.changed()
        send(answers)
    }

    private func granted(_ waiters: [WaiterID], _ state: inout State) -> [(ParkedReply<Done>, Errno?)] {
        waiters.compactMap { waiter in state.parked.removeValue(forKey: waiter).map { ($0.reply, nil) } }
    }

    private func send(_ answers: [(ParkedReply<Done>, Errno?)]) {
        for (parked, error) in answers { parked.answer(error) }
    }

    private func noteUse(_ state: inout State) {
        for (user, change) in state.table.takeCountChanges() { shares.note(.heldLocks, change, for: user) }
        isInUse.store(!state.table.isEmpty, ordering: .relaxed)
    }

    /// The waiting caller got a signal. The kernel turns EINTR into a restart of the call where the handler asks for that
    /// (fuse_setlk), so that waiting goes on or ends as on any file system.
    private func interrupted(_ request: Request, _ parked: ParkedReply<Done>) {
        let isOurs = state.withLock { state -> Bool in
            guard let waiter = request.waiter else {
                request.wasInterrupted = true
                return false
            }
            guard state.table.cancel(waiter) else { return false }
            state.parked[waiter] = nil
            noteUse(&state)
            return true
        }
        if isOurs { parked.answerInterrupt(.interrupted) }
    }

    private func expireInTime() {
        while !loop.isStopping {
            let (expired, next) = state.withLock { state -> ([(ParkedReply<Done>, Errno?)], UInt64?) in
                let waiters = state.table.expire(now: Self.now)
                let expired = waiters.compactMap { waiter in
                    state.parked.removeValue(forKey: waiter).map { ($0.reply, Errno.resourceTemporarilyUnavailable as Errno?) }
                }
                noteUse(&state)
                return (expired, state.table.nextDeadline)
            }
            send(expired)
            loop.sleep(until: next.map { Int64(clamping: $0) })
        }
    }

    private static var now: UInt64 { SaveService.now }
}

extension LockOwner {
    private static let count = Atomic<UInt64>(0)

    /// The daemon itself, for one snapshot: an owner and a handle that the kernel names for nobody, being odd.
    static var ofSnapshot: LockOwner { LockOwner(count.add(2, ordering: .relaxed).newValue | 1) }
}
