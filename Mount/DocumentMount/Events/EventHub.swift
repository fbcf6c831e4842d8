import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import Synchronization

/// What happens in the store, for those who want to be told: numbers it, keeps the latest, and wakes who listens.
///
/// Operations `tell`, which costs them a lock and an append; while anybody listens also a lookup of who does it, some 20 µs for
/// each process. Which document it is (the index) is found out on a thread of the hub's own, which is woken at once while
/// anybody listens, else once in many events.
///
/// Events that wait, and those that are kept, are counted for the account of whoever causes them: listeners are told where there were
/// more, to look there again. Listeners are told account by account, the more seldom the more listeners the account has.
final class EventHub: Sendable {
    enum Actor: Sendable {
        case caller(Caller)
        /// Outside of the mount.
        case process(pid_t)
        case user(uid_t)
        case outside

        /// Nil: outside of the mount.
        var user: uid_t? {
            switch self {
            case .caller(let caller): caller.uid
            case .user(let user): user
            case .process, .outside: nil
            }
        }

        /// See `StoreEvent.view`.
        var view: UInt32 { if case .caller(let caller) = self { caller.view } else { 0 } }
    }

    private struct PendingEvent {
        let kind: StoreEvent.Kind
        let path: StorePath
        let oldPath: StorePath?
        let folder: FileIdentity?
        let oldFolder: FileIdentity?
        let audience: uid_t?
        let actor: Actor
        /// Nil: to be found out.
        let origin: StoreEvent.Origin?
        let time: Int64
        let replaces: Bool

        var isOutside: Bool { actor.user == nil }

        /// The kernel had the folder locked when it asked for this.
        var locksFolder: Bool {
            if case .caller = actor { kind != .changed } else { false }
        }
    }

    private struct State {
        var pendingEvents: [PendingEvent] = []
        /// Those that are being made events.
        var settling: [PendingEvent] = []
        /// The weight (`StoreEvent.weight`) of each account's `pendingEvents`, and of all.
        var counts: [uid_t?: Int] = [:]
        var inUse = 0
        /// Events that found no place.
        var missed = MissedEvents()
        /// Told at once.
        var urgent: [ListenerID: @Sendable () -> Void] = [:]
        /// By account.
        var paced: [uid_t: [ListenerID: @Sendable () -> Void]] = [:]
        var last: UInt64 = 0

        var hasListeners: Bool { !urgent.isEmpty || !paced.isEmpty }
    }

    struct ListenerID: Hashable, Sendable {
        fileprivate let rawValue: UInt64
        /// Nil: it is told at once.
        fileprivate let account: uid_t?
    }

    /// A leaf. Listeners are called without it.
    private let state = Locked(State())
    /// A leaf.
    private let log: Locked<EventLog>
    /// Held while pending events become events, so that these stay in order. Taken before `state`, `log` and the database.
    private let settling = ThreadLock()
    /// Safe: used by who holds `settling`.
    nonisolated(unsafe) private var catchUp: KernelCatchUp
    private let loop = LoopThread()
    private let isListenedTo = Atomic<Bool>(false)
    /// Whether anybody listens. One atomic load.
    var isHeard: Bool { isListenedTo.load(ordering: .relaxed) }
    /// Somebody is to be told at once.
    private let isUrgent = Atomic<Bool>(false)
    private let processes = EventProcesses()
    /// The index's id of the document at a path.
    private let document: @Sendable (StorePath) -> Int64?
    /// The folder that a path is in, where it is not told.
    private let folder: @Sendable (StorePath) -> FileIdentity?

    /// Of a user some 2 MiB: a minute of a busy store, hours of a usual one.
    private static let (mostKeptOfUser, mostKept) = (8_192, 32_768)
    /// So many wake the thread though nobody is to be told yet.
    private static let batch = 1_024
    /// Without listeners: so few that the thread has a processor for a tenth of a millisecond only. After half of one, threads that
    /// spin for the next request take the processors for busy (`RequestDispatcher.longestYield`), and apps wait for them to wake.
    private static let unheardBatch = 64
    /// More do not wait for the thread, of one account where there are several.
    private static let (mostWaitingOfUser, mostWaiting) = (2_048, 8_192)
    private let mostWaitingOfUser: Int
    private let accounts: Accounts

    private static let longestPath = Int(PATH_MAX)

    /// - Parameter isForOne: the mount has one user.
    init(
        accounts: Accounts, isForOne: Bool, document: @escaping @Sendable (StorePath) -> Int64?,
        folder: @escaping @Sendable (StorePath) -> FileIdentity?, kernelNames: KernelNames
    ) {
        catchUp = KernelCatchUp(names: kernelNames, isForOne: isForOne)
        self.accounts = accounts
        mostWaitingOfUser = isForOne ? Self.mostWaiting : Self.mostWaitingOfUser
        self.document = document
        self.folder = folder
        // Microseconds since 1970: numbers of an earlier mount are smaller, and its readers see that they missed something.
        log = Locked(EventLog(
            mostOfUser: Self.mostKeptOfUser, mostOfAll: Self.mostKept, lastSequence: UInt64(clamping: Clock.now / 1_000)))
    }

    // MARK: - Telling

    /// - Parameters:
    ///   - folder: what `path` is in; nil: to be looked up.
    ///   - oldFolder: the same of `oldPath`.
    ///   - audience, replaces: see `StoreEvent`.
    func tell(
        _ kind: StoreEvent.Kind, _ path: StorePath, in folder: FileIdentity? = nil, from oldPath: StorePath? = nil,
        in oldFolder: FileIdentity? = nil, by actor: Actor, to audience: uid_t? = nil, replaces: Bool = false
    ) {
        guard Self.canBeNamed(path), oldPath.map(Self.canBeNamed) ?? true else {
            if audience == nil { tellOfFolder(kind, path, in: folder, from: oldPath, in: oldFolder, by: actor) }
            return
        }
        // Programs like mkdir are gone in a moment; while nobody listens, most that make many changes are still there later.
        let origin = isHeard ? processes.origin(of: actor) : nil
        // Others than root are told only of what was in a folder that they may list.
        func known(_ folder: FileIdentity?, of path: StorePath?) -> FileIdentity? {
            folder ?? (isHeard ? path.flatMap(self.folder) : nil)
        }
        let pending = PendingEvent(
            kind: kind, path: path, oldPath: oldPath, folder: audience == nil ? known(folder, of: path) : nil,
            oldFolder: known(oldFolder, of: oldPath), audience: audience, actor: actor, origin: origin, time: Clock.now,
            replaces: replaces)
        let account = account(of: actor)
        let weight = StoreEvent.weight(path, oldPath)
        let wakes = state.withLock { state in
            let used = state.counts[account] ?? 0
            guard state.inUse < Self.mostWaiting, used < mostWaitingOfUser else {
                state.missed.add(StoreEvent.places(path, oldPath), by: account)
                return false
            }
            let before = state.inUse
            state.counts[account] = used + weight
            state.inUse += weight
            state.pendingEvents.append(pending)
            let batch = state.hasListeners ? Self.batch : Self.unheardBatch
            return before == 0 && state.hasListeners || before < batch && state.inUse >= batch
        }
        if wakes { loop.wake() }
    }

    private func account(of actor: Actor) -> uid_t? { actor.user.map { accounts.owner(of: $0) } }

    private static func canBeNamed(_ path: StorePath) -> Bool { path.bytes.count < longestPath }

    /// What is deeper than any path can name is told of as a change of the deepest folder that has one, so that what is kept stays
    /// small; of what was moved from or to there the end that has a path is told.
    private func tellOfFolder(
        _ kind: StoreEvent.Kind, _ path: StorePath, in folder: FileIdentity?, from oldPath: StorePath?, in oldFolder: FileIdentity?,
        by actor: Actor
    ) {
        if kind == .moved, Self.canBeNamed(path) { return tell(.appeared, path, in: folder, by: actor) }
        if kind == .moved, let oldPath, Self.canBeNamed(oldPath) { return tell(.deleted, oldPath, in: oldFolder, by: actor) }
        let start = path.bytes.prefix(Self.longestPath - 1)
        let end = start.lastIndex(of: UInt8(ascii: "/")) ?? start.startIndex
        tell(.changed, StorePath(unchecked: Array(start[..<end])), by: actor)
    }

    /// A process closes what it has written, of which it will be told when that is released: it may be gone by then.
    func expect(_ caller: Caller) {
        if isHeard { _ = processes.origin(of: .caller(caller)) }
    }

    /// More happened than anybody knows of.
    func lose() {
        state.withLock { $0.missed.add([.root], by: nil) }
        loop.wake()
    }

    /// Whether something was done to a document at a path through the mount in the last moments, of one kind or any. O(events of these).
    func hasLatelyTold(of path: StorePath, _ kind: StoreEvent.Kind? = nil) -> Bool {
        let since = Clock.now - Self.moment
        func isOfKind(_ other: StoreEvent.Kind) -> Bool { kind.map { $0 == other } ?? (other != .versionGained && other != .versionLost) }
        func isAmong(_ pendingEvents: [PendingEvent]) -> Bool {
            pendingEvents.reversed().lazy.prefix { $0.time > since }.contains {
                isOfKind($0.kind) && ($0.path == path || $0.oldPath == path) && !$0.isOutside
            }
        }
        let isWaiting = state.withLock { isAmong($0.pendingEvents) || isAmong($0.settling) }
        return isWaiting || log.withLock { log in
            log.hasLately(Self.batch) {
                $0.time > since && isOfKind($0.kind) && ($0.path == path || $0.oldPath == path) && $0.origin != .outside
            }
        }
    }

    /// The watcher tells up to 60 ms later.
    private static let moment: Int64 = 200_000_000

    // MARK: - Listening

    /// Has `body` called, on the hub's thread and with no lock held, when there are new events. It is to be short.
    /// - Parameter pacedFor: whose listener it is: the more a user has, the more seldom they are told. Nil: it is told at once.
    func listen(pacedFor user: uid_t?, _ body: @escaping @Sendable () -> Void) -> ListenerID {
        state.withLock { state in
            state.last += 1
            let id = ListenerID(rawValue: state.last, account: user.map { accounts.owner(of: $0) })
            if let account = id.account { state.paced[account, default: [:]][id] = body } else { state.urgent[id] = body }
            listenersChanged(state)
            return id
        }
    }

    func endListening(_ id: ListenerID) {
        state.withLock { state in
            if let account = id.account {
                state.paced[account]?[id] = nil
                if state.paced[account]?.isEmpty == true { state.paced[account] = nil }
            } else {
                state.urgent[id] = nil
            }
            listenersChanged(state)
        }
    }

    private func listenersChanged(_ state: borrowing State) {
        isListenedTo.store(state.hasListeners, ordering: .relaxed)
        isUrgent.store(!state.urgent.isEmpty, ordering: .relaxed)
    }

    /// The number of the last event until now.
    var lastSequence: UInt64 {
        if settle() { loop.wake() }
        return log.withLock { $0.lastSequence }
    }

    /// The same of those that are known by now: waits for nothing.
    var lastKnownSequence: UInt64 { log.withLock { $0.lastSequence } }

    func events(after position: EventLog.Position, limit: Int, where isWanted: (StoreEvent) -> Bool) -> EventLog.Page {
        log.withLock { $0.events(after: position, limit: limit, where: isWanted) }
    }

    /// Has those called again that are told at once, after the others.
    func tellAgain() { loop.wake() }

    // MARK: - The thread

    func start() {
        loop.start("quire-events") { [self] in
            var told: [uid_t: Told] = [:]
            var pause: Int64?
            while !loop.isStopping {
                if let pause { loop.sleep(seconds: Double(pause) / 1e9) } else { loop.sleep() }
                tellAtOnce()
                pause = tellPaced(&told)
            }
        }
    }

    private func tellAtOnce() {
        guard isUrgent.load(ordering: .relaxed) else { return }
        _ = settle()
        for body in state.withLock({ Array($0.urgent.values) }) { body() }
    }

    private struct Told {
        /// The last event there was.
        var last: UInt64 = 0
        var time: Int64 = .min / 2
    }

    /// What a listener costs, for some of the machine's time to be left.
    private static let pause: Int64 = 250_000

    /// Tells the listeners of each user whose time has come. Returns after how long others are to be told; nil: when more happens.
    private func tellPaced(_ told: inout [uid_t: Told]) -> Int64? {
        let (counts, isFull) = state.withLock { ($0.paced.mapValues(\.count), $0.inUse >= Self.batch) }
        told = told.filter { counts[$0.key] != nil }
        let now = cl_monotonic_ns()
        var waits: [uid_t: Int64] = [:]
        for (user, count) in counts { waits[user] = (told[user] ?? Told()).time + Int64(count) * Self.pause - now }
        // Events are not made one by one while nobody is to be told yet.
        if let least = waits.values.min(), least > 0, !isFull { return least }
        _ = settle()
        let last = log.withLock { $0.lastSequence }
        var pause: Int64?
        for (user, left) in waits where told[user]?.last != last {
            if left > 0 {
                pause = min(pause ?? left, left)
            } else {
                told[user] = Told(last: last, time: cl_monotonic_ns())
                for body in state.withLock({ Array(($0.paced[user] ?? [:]).values) }) { body() }
            }
        }
        return pause
    }

    func stop() { loop.stop() }

    /// Who did what nobody listened to: by now a process's number may be another's.
    private func lateOrigin(of pending: PendingEvent) -> StoreEvent.Origin {
        if Clock.now - pending.time < Self.moment { return processes.origin(of: pending.actor) }
        return switch pending.actor {
        case .caller(let caller): .user(caller.uid)
        case .user(let user): .user(user)
        case .process, .outside: .outside
        }
    }

    /// The index is a little behind: it knows what was moved just now where it was.
    private func document(_ pending: PendingEvent) -> Int64? {
        pending.oldPath.flatMap { document($0) } ?? document(pending.path)
    }

    /// The latest first. The kernel knows of older ones.
    private func changesOfNames(in pendingEvents: [PendingEvent]) -> some Sequence<KernelCatchUp.Change> {
        let since = Clock.now - Self.moment
        return pendingEvents.reversed().lazy.filter { $0.kind.changesNames && $0.time > since }.flatMap { pending in
            func change(_ path: StorePath, isGone: Bool) -> KernelCatchUp.Change {
                KernelCatchUp.Change(
                    path: path, isGone: isGone, locksFolder: pending.locksFolder, account: self.account(of: pending.actor))
            }
            return [change(pending.path, isGone: pending.kind == .deleted)]
                + (pending.oldPath.map { [change($0, isGone: pending.kind == .moved)] } ?? [])
        }
    }

    /// Makes events of what has happened. Whether there are new ones.
    private func settle() -> Bool {
        settling.withLock {
            let (pendingEvents, missed) = state.withLock { state in
                defer {
                    (state.settling, state.pendingEvents, state.missed) = (state.pendingEvents, [], MissedEvents())
                    (state.counts, state.inUse) = ([:], 0)
                }
                return (state.pendingEvents, state.missed)
            }
            defer { state.withLock { $0.settling = [] } }
            if isHeard { catchUp.wait(for: changesOfNames(in: pendingEvents)) }
            for pending in pendingEvents {
                let origin = pending.origin ?? lateOrigin(of: pending)
                // Looking it up costs more than most operations, and later the path may be another document's.
                let document = isHeard ? document(pending) : nil
                log.withLock {
                    _ = $0.append(
                        pending.kind, pending.path, from: pending.oldPath, document: document, time: pending.time,
                        origin: origin, by: account(of: pending.actor), folder: pending.folder, oldFolder: pending.oldFolder, audience: pending.audience,
                        view: pending.actor.view, replaces: pending.replaces)
                }
            }
            for (places, account) in missed.places { log.withLock { $0.lose(places, by: account) } }
            return !missed.isEmpty || !pendingEvents.isEmpty
        }
    }
}
