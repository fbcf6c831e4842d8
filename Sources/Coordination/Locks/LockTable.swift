/// The advisory locks of a mount: what fcntl(2) and flock(2) hold, and who waits.
///
/// A state machine without I/O, threads or clock: it is told what the kernel asks and what time it is, and says what to
/// answer and which parked requests are answered by the way. It keeps the kernel's own rules for a plain folder:
///
/// - A record lock conflicts with other owners' record locks where they overlap and one of the two is exclusive. A new
///   one replaces what its owner held there, so ranges split, shrink and join.
/// - flock(2) gives an owner one lock a document. Converting it gives up the old lock first: a conversion that is
///   refused or has to wait has lost what it had.
/// - Whatever is compatible with the locks held is granted, whoever waits; waiters are looked at in the order they came.
///   So a stream of shared locks can keep an exclusive one waiting, as on a plain folder.
///
/// **Late ends.** A process's POSIX locks end at FLUSH, inside its close(2). flock and OFD locks end when the last
/// descriptor of the open file description is closed, which the kernel reports by RELEASE, after close(2) has returned.
/// Who asks in between without wanting to wait would be refused because of a lock whose owner believes it gone. So a
/// non-blocking request is parked for a short time, the *release timeout*, if every lock it conflicts with was taken
/// through a handle that has seen a FLUSH since: the RELEASE may be on its way. If one of them was not, the request is
/// refused at once, since that lock would stay. A FLUSH is a hint only, never an end: it comes for each descriptor, so a
/// child that closes an inherited one flushes a handle that stays open. Asking for a lock through the handle again shows
/// that it is open and clears the mark.
///
/// The caller guards the table by a lock of its own and answers the kernel outside of it. Every operation is linear in
/// the locks and waiters of one document, except where it says otherwise; nothing is kept for a document without locks.
public struct LockTable: Sendable {
    /// How long a non-blocking request waits for a RELEASE, in nanoseconds.
    public let releaseTimeout: UInt64

    /// Documents with a lock held. A document has no waiters without one, for nothing would keep them waiting.
    var documents: [LockedDocument: DocumentLocks] = [:]
    /// Handles that locks are held through.
    var handles: [LockHandle: HandleUse] = [:]
    var waiters: [WaiterID: WaitingLock] = [:]
    /// Owners in a blocking wait for a record lock, each with its waiters, the newest last.
    var blockedOwners: [LockOwner: [WaiterID]] = [:]
    /// Waiters with a time limit, the next to end first.
    var deadlines: [Deadline] = []
    private var lastWaiter: UInt64 = 0
    /// How many locks more, or fewer, each user holds since the changes were taken.
    private(set) var countChanges: [UInt32: Int] = [:]

    /// The default of 20 ms is far longer than a RELEASE takes to arrive and too short to be noticed.
    public init(releaseTimeout: Duration = .milliseconds(20)) {
        let (seconds, attoseconds) = releaseTimeout.components
        self.releaseTimeout = UInt64(clamping: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Whether nothing is held and nobody waits. O(1).
    public var isEmpty: Bool {
        documents.isEmpty && handles.isEmpty && waiters.isEmpty && blockedOwners.isEmpty && deadlines.isEmpty
    }

    /// Whether any lock is held on the document. O(1), and false for most files at most times: then a FLUSH has
    /// nothing to do here.
    public func hasLocks(_ document: LockedDocument) -> Bool {
        documents.index(forKey: document) != nil
    }

    /// F_GETLK: the lock that keeps `lock` from being granted, or nil if it would be. Of several it is the one the
    /// kernel would name: of the owner who has held a lock on the document the longest, the one with the lowest start.
    public func firstConflict(with lock: AdvisoryLock) -> AdvisoryLock? {
        documents[lock.document]?[lock.kind].firstConflict(with: lock)
    }

    /// Asks for a lock: F_SETLK and LOCK_NB, or with `blocking` F_SETLKW and flock(2) without LOCK_NB.
    ///
    /// A blocking request in conflict is parked without limit, or answered `.deadlock`; a non-blocking one is refused,
    /// or parked until `now` plus the release timeout (see *late ends* above).
    /// - Parameter now: the time in nanoseconds, of a clock that never goes back.
    public mutating func request(_ lock: AdvisoryLock, blocking: Bool, now: UInt64) -> LockDecision {
        handles[lock.handle]?.isFlushed = false
        guard firstConflict(with: lock) != nil else {
            let weakened = hold(lock)
            return LockDecision(outcome: .granted, granted: weakened ? settle(lock.document) : [])
        }
        if blocking, lock.kind == .record, wouldDeadlock(lock) {
            return LockDecision(outcome: .deadlock, granted: [])
        }
        let weakened = lock.kind == .whole && drop(.all, of: lock.owner, lock.kind, on: lock.document)
        let outcome: LockOutcome =
            if blocking {
                park(lock, until: nil)
            } else if onlyFlushedHandlesConflict(with: lock) {
                park(lock, until: now &+ releaseTimeout)
            } else {
                .refused
            }
        return LockDecision(outcome: outcome, granted: weakened ? settle(lock.document) : [])
    }

    /// F_UNLCK and LOCK_UN: the owner's locks of this kind are gone from the range, which is `.all` for flock(2).
    /// Returns the waiters granted by it, in the order they came. No error if nothing was held.
    public mutating func unlock(
        _ range: LockRange, of owner: LockOwner, _ kind: LockKind, on document: LockedDocument
    ) -> [WaiterID] {
        guard drop(range, of: owner, kind, on: document) else { return [] }
        return settle(document)
    }

    /// Whether such an `unlock` leaves one lock more than there was. Linear in the locks of the document.
    public func splits(_ range: LockRange, of owner: LockOwner, _ kind: LockKind, on document: LockedDocument) -> Bool {
        documents[document]?[kind].splits(range, of: owner) ?? false
    }

    /// How the number of locks held by each user has changed since the last call.
    public mutating func takeCountChanges() -> [UInt32: Int] {
        defer { countChanges = [:] }
        return countChanges
    }

    mutating func count(_ difference: Int, for user: UInt32) { countChanges[user, default: 0] += difference }

    private mutating func park(_ lock: AdvisoryLock, until: UInt64?) -> LockOutcome {
        lastWaiter += 1
        let id = WaiterID(lastWaiter)
        waiters[id] = WaitingLock(id: id, lock: lock, until: until)
        documents[lock.document]?.queue.append(id)
        if let until {
            let place = deadlines.lastIndex { $0.time <= until }.map { $0 + 1 } ?? 0
            deadlines.insert(Deadline(time: until, waiter: id), at: place)
        } else if lock.kind == .record {
            blockedOwners[lock.owner, default: []].append(id)
        }
        return .parked(id, until: until)
    }

    /// Whether each lock in conflict was taken through a handle that has been flushed since.
    private func onlyFlushedHandlesConflict(with lock: AdvisoryLock) -> Bool {
        guard let held = documents[lock.document]?[lock.kind].locks else { return false }
        return held.allSatisfy { !$0.conflicts(with: lock) || handles[$0.handle]?.isFlushed == true }
    }
}

/// What is held on one document, and who waits for it.
struct DocumentLocks: Sendable {
    var record = HeldLocks()
    var whole = HeldLocks()
    /// The document's waiters of both kinds, in the order they came.
    var queue: [WaiterID] = []

    subscript(kind: LockKind) -> HeldLocks {
        get { kind == .record ? record : whole }
        _modify {
            switch kind {
            case .record: yield &record
            case .whole: yield &whole
            }
        }
    }
}

/// How a handle is used by locks.
struct HandleUse: Sendable {
    /// How many locks are held through the handle, by document.
    var held: [LockedDocument: Int] = [:]
    /// A FLUSH came since a lock was last asked for through the handle.
    var isFlushed = false
}

struct Deadline: Sendable {
    let time: UInt64
    let waiter: WaiterID
}
