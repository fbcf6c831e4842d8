import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// Who looks at folders of pictures, and who waits for one: what serving threads leave to a thread of its own.
///
/// A folder that somebody opens is drawn a moment later, unless the same process, or others that its parent has started, open
/// more folders by then: that is a walk through the tree, which is not what pictures are drawn for.
final class ThumbnailLooks: Sendable {
    /// A request that is answered when something is drawn. Whoever takes it from the table answers it.
    final class Awaited: @unchecked Sendable {
        let deadline = cl_monotonic_ns() + ThumbnailLooks.patience
        private let parked: AnyObject
        fileprivate let listen: () -> Void
        /// Answers, when it is drawn or will not be.
        fileprivate let end: () -> Void
        fileprivate let fail: () -> Void
        /// The caller was killed before this was in the table. Guarded by the state's lock.
        fileprivate var wasKilled = false

        init<Answer>(
            _ reply: consuming Reply<Answer>, _ caller: Caller, in looks: ThumbnailLooks,
            answer: @escaping @Sendable (consuming Reply<Answer>) -> Void
        ) {
            let thread = caller.thread
            let owner = Unowned()
            let parked = ParkedReply(reply) { [unowned looks] parked in
                guard let awaited = owner.awaited, ProcessFacts.isBeingKilled(thread), looks.givesUp(awaited) else { return }
                parked.answerInterrupt(.interrupted)
            }
            self.parked = parked
            listen = { parked.listen() }
            end = { parked.end { answer($0) } }
            fail = { parked.fail(.interrupted) }
            owner.awaited = self
        }

        /// Lets the interrupt's closure find the request that it belongs to.
        private final class Unowned: @unchecked Sendable {
            // Safe: set before anything can be interrupted, and not changed.
            weak var awaited: Awaited?
        }
    }

    private struct Look {
        var folders: [[UInt8]: @Sendable () -> Void] = [:]
        var last: Int64
    }

    private struct State {
        var looks: [ReaderProcess.Group: Look] = [:]
        /// Until when a process counts as one that walks.
        var walkers: [ReaderProcess.Group: Int64] = [:]
        var awaited: [ObjectIdentifier: Awaited] = [:]
        var ready: [Awaited] = []
        var waiting: ArraySlice<@Sendable () -> Void> = []
        var isOver = false
    }
    /// Leaf.
    private let state = Mutex(State())
    private let wake = Signal()
    private let thread = Mutex<NamedThread?>(nil)

    /// How long a look by name waits for its picture.
    static let patience: Int64 = 10_000_000_000
    /// After the last folder that a process opened.
    private static let settling: Int64 = 250_000_000
    /// More folders at once are a walk.
    private static let foldersAtOnce = 2
    private static let walking: Int64 = 5_000_000_000
    private static let mostWaiting = 10_000

    func start() { thread.withLock { $0 = NamedThread("quire-looks") { [unowned self] in run() } } }

    /// Who waits is answered.
    func stop() {
        state.withLock { $0.isOver = true }
        wake.signal()
        thread.withLock { $0.take() }?.join()
    }

    /// A folder of pictures was opened. `draw` is called later, on the thread here, if it is a look. Reads /proc.
    func opened(_ folder: [UInt8], by caller: Caller, draw: @escaping @Sendable () -> Void) {
        let process = ReaderProcess(of: caller)
        guard !process.isBackground, !process.isWalker else { return }
        let now = cl_monotonic_ns()
        state.withLock { state in
            for group in process.groups {
                if let until = state.walkers[group], until > now {
                    state.walkers[group] = now + Self.walking
                    return
                }
            }
            for group in process.groups {
                var look = state.looks[group] ?? Look(last: now)
                look.last = now
                look.folders[folder] = draw
                state.looks[group] = look
                guard look.folders.count > Self.foldersAtOnce else { continue }
                state.walkers[group] = now + Self.walking
                for group in process.groups { state.looks[group] = nil }
                return
            }
        }
        wake.signal()
    }

    /// Has `body` run on the thread here.
    func later(_ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            if state.waiting.count < Self.mostWaiting { state.waiting.append(body) }
        }
        wake.signal()
    }

    /// Has a request answered when `finished` is called, or its time is over.
    func wait(_ awaited: Awaited) {
        // An interrupt that came before is told within this call, when nothing may be answered yet.
        awaited.listen()
        let isWaiting = state.withLock { state in
            if !awaited.wasKilled { state.awaited[ObjectIdentifier(awaited)] = awaited }
            return !awaited.wasKilled
        }
        isWaiting ? wake.signal() : awaited.fail()
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
        wake.signal()
    }

    private func run() {
        while true {
            let now = cl_monotonic_ns()
            let (due, looked, next, time, isOver) = state.withLock { state in take(&state, now) }
            for awaited in due { awaited.end() }
            for draw in looked { draw() }
            if isOver { return }
            // One at a time: who waits for an answer does not wait for these.
            if let next {
                next()
                continue
            }
            if let time { wake.wait(seconds: Double(max(0, time - now)) / 1e9) } else { wake.wait() }
        }
    }

    /// What is to be done now, and when there is more.
    private func take(
        _ state: inout State, _ now: Int64
    ) -> (due: [Awaited], looked: [@Sendable () -> Void], next: (@Sendable () -> Void)?, time: Int64?, isOver: Bool) {
        var due = state.ready
        state.ready = []
        for (id, awaited) in state.awaited where awaited.deadline <= now || state.isOver {
            state.awaited[id] = nil
            due.append(awaited)
        }
        var looked: [[UInt8]: @Sendable () -> Void] = [:]
        for (group, look) in state.looks where look.last + Self.settling <= now {
            state.looks[group] = nil
            looked.merge(look.folders) { one, _ in one }
        }
        state.walkers = state.walkers.filter { $0.value > now }
        let next = state.waiting.popFirst()
        let time = (state.awaited.values.map(\.deadline) + state.looks.values.map { $0.last + Self.settling }).min()
        return (due, Array(looked.values), next, time, state.isOver)
    }
}
