import CLinux
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// Lookups that wait for pictures, and visits of folders of pictures: what serving threads leave to threads of their own. One
/// answers lookups and does nothing else, so that none waits for longer than the timeout; the other has folders rendered, and
/// pictures follow documents.
///
/// A folder that somebody opens is rendered a moment later, unless the same process, or others that its parent has started, open
/// more folders by then: that is a walk through the tree, which is not what pictures are rendered for.
final class PendingLookups: Sendable {
    /// A request that is answered when something is rendered. Whoever takes it from the table answers it.
    final class Awaited: @unchecked Sendable {
        let deadline: Int64
        private let parked: AnyObject
        /// Nil when it is over: what is rendered may know of it for longer. Leaf.
        private let share: Mutex<TakenShare?>
        private let awaiting: ThumbnailAnnouncer.Awaiting?
        fileprivate let listen: () -> Void
        private let answer: () -> Void
        private let refuse: () -> Void
        /// The caller was killed before this was in the table. Guarded by the state's lock.
        fileprivate var wasKilled = false

        init<Answer>(
            _ reply: consuming Reply<Answer>, _ caller: Caller, _ share: TakenShare, _ awaiting: ThumbnailAnnouncer.Awaiting? = nil,
            in lookups: PendingLookups, timeout: Int64 = PendingLookups.timeout,
            answer: @escaping @Sendable (consuming Reply<Answer>) -> Void
        ) {
            deadline = cl_monotonic_ns() + timeout
            self.share = Mutex(share)
            self.awaiting = awaiting
            let thread = caller.thread
            let owner = Unowned()
            let parked = ParkedReply(reply) { [unowned lookups] parked in
                guard let awaited = owner.awaited, ProcessFacts.isBeingKilled(thread), lookups.givesUp(awaited) else { return }
                awaited.isOver()
                parked.answerInterrupt(.interrupted)
            }
            self.parked = parked
            listen = { parked.listen() }
            self.answer = { parked.end { answer($0) } }
            refuse = { parked.fail(.interrupted) }
            owner.awaited = self
        }

        /// Answers, when it is rendered or will not be. First, as the answer may be to wait for something else.
        fileprivate func end() {
            isOver()
            answer()
        }

        fileprivate func fail() {
            isOver()
            refuse()
        }

        /// The user may have another one wait.
        private func isOver() { _ = share.withLock { $0.take() } }

        /// Lets the interrupt's closure find the request that it belongs to.
        private final class Unowned: @unchecked Sendable {
            // Safe: set before anything can be interrupted, and not changed.
            weak var awaited: Awaited?
        }
    }

    private struct Visit {
        var folders: [[UInt8]: @Sendable () -> Void] = [:]
        var last: Int64
    }

    private struct State {
        var visits: [ReaderProcess.Group: Visit] = [:]
        /// Until when a process counts as one that walks.
        var walkers: [ReaderProcess.Group: Int64] = [:]
        var awaited: [ObjectIdentifier: Awaited] = [:]
        var ready: [Awaited] = []
        var waiting: ArraySlice<@Sendable () -> Void> = []
        var isOver = false
    }
    /// Leaf.
    private let state = Locked(State())
    /// Answers lookups, and does what is left to do.
    private let answerer = LoopThread()
    private let follower = LoopThread()

    /// How long a lookup of a name waits for its picture.
    static let timeout: Int64 = 10_000_000_000
    /// After the last folder that a process opened.
    private static let settling: Int64 = 250_000_000
    /// More folders at once are a walk.
    private static let foldersAtOnce = 2
    private static let walking: Int64 = 5_000_000_000
    private static let mostWaiting = 10_000

    func start() {
        answerer.start("quire-lookups") { [unowned self] in answer() }
        follower.start("quire-follow") { [unowned self] in work() }
    }

    /// Who waits is answered; what is left to do is not done.
    func stop() {
        state.withLock { $0.isOver = true }
        answerer.stop()
        follower.stop()
    }

    /// Whether what takes long is to be given up.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// A folder of pictures was opened. `render` is called later, on `quire-follow`, if it is no walk. Reads /proc.
    func opened(_ folder: [UInt8], by caller: Caller, render: @escaping @Sendable () -> Void) {
        let process = ReaderProcess(of: caller)
        let now = cl_monotonic_ns()
        guard !process.isBackground, !process.isWalker else {
            state.withLock { state in for group in process.groups.prefix(1) { state.walkers[group] = now + Self.walking } }
            return
        }
        state.withLock { state in
            for group in process.groups {
                if let until = state.walkers[group], until > now {
                    state.walkers[group] = now + Self.walking
                    return
                }
            }
            for group in process.groups {
                var visit = state.visits[group] ?? Visit(last: now)
                visit.last = now
                visit.folders[folder] = render
                state.visits[group] = visit
                guard visit.folders.count > Self.foldersAtOnce else { continue }
                state.walkers[group] = now + Self.walking
                for group in process.groups { state.visits[group] = nil }
                return
            }
        }
        follower.wake()
    }

    /// Whether a process goes through folders of pictures, for which nothing is rendered. Reads /proc.
    func isWalk(by caller: Caller) -> Bool {
        let process = ReaderProcess(of: caller)
        let now = cl_monotonic_ns()
        return process.isWalker || state.withLock { state in process.groups.prefix(1).contains { state.walkers[$0] ?? 0 > now } }
    }

    /// Has `body` run on `quire-follow`.
    func later(_ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            if state.waiting.count < Self.mostWaiting { state.waiting.append(body) }
        }
        follower.wake()
    }

    /// Has a request answered when `finished` is called, or its time is over.
    func wait(_ awaited: Awaited) {
        // An interrupt that came before is told within this call, when nothing may be answered yet.
        awaited.listen()
        let isWaiting = state.withLock { state in
            guard !awaited.wasKilled, !state.isOver else { return false }
            state.awaited[ObjectIdentifier(awaited)] = awaited
            return true
        }
        isWaiting ? answerer.wake() : awaited.fail()
    }

    /// Its caller is being killed. Whether nobody else answers.
    private func givesUp(_ awaited: Awaited) -> Bool {
        state.withLock { state in
            awaited.wasKilled = true
            return state.awaited.removeValue(forKey: ObjectIdentifier(awaited)) != nil
        }
    }

    /// Neither answered nor given up.
    func isWaiting(_ awaited: Awaited) -> Bool { state.withLock { $0.awaited[ObjectIdentifier(awaited)] != nil } }

    func finished(_ awaited: Awaited) {
        state.withLock { state in
            if state.awaited.removeValue(forKey: ObjectIdentifier(awaited)) != nil { state.ready.append(awaited) }
        }
        answerer.wake()
    }

    private func answer() {
        while true {
            let now = cl_monotonic_ns()
            let (due, deadline, isOver) = state.withLock { state in
                var due = state.ready
                state.ready = []
                for (id, awaited) in state.awaited where awaited.deadline <= now || state.isOver {
                    state.awaited[id] = nil
                    due.append(awaited)
                }
                return (due, state.awaited.values.map(\.deadline).min(), state.isOver)
            }
            for awaited in due { awaited.end() }
            if isOver { return }
            answerer.sleep(until: deadline)
        }
    }

    private func work() {
        _ = cl_set_thread_nice(10)
        while true {
            let now = cl_monotonic_ns()
            let (settled, next, time, isOver) = state.withLock { state in
                var settled: [[UInt8]: @Sendable () -> Void] = [:]
                for (group, visit) in state.visits where visit.last + Self.settling <= now {
                    state.visits[group] = nil
                    settled.merge(visit.folders) { one, _ in one }
                }
                state.walkers = state.walkers.filter { $0.value > now }
                let time = state.visits.values.map { $0.last + Self.settling }.min()
                return (Array(settled.values), state.waiting.popFirst(), time, state.isOver)
            }
            if isOver { return }
            for render in settled { render() }
            if let next { next() } else if settled.isEmpty { follower.sleep(until: time) }
        }
    }
}
