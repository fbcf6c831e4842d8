import FuseKernel
import Glibc
import StorePrimitives
import Synchronization

/// What the mount's operations tell the index, in order. Telling costs a lock and an append; the index's own thread takes the
/// events in batches.
final class ChangeJournal: Sendable {
    enum Event: Sendable {
        /// A document was made, written or replaced: look at it.
        case present(StorePath)
        /// A name is gone: a document, or a folder with all in it.
        case absent(StorePath)
        case moved(from: StorePath, to: StorePath, isFolder: Bool, takesOverTarget: Bool, by: Caller)
        /// Moved by others; with inotify, by the mount itself too, which told of it before.
        case movedOutside(from: StorePath, to: StorePath, isFolder: Bool)
        case exchanged(StorePath, StorePath)
        /// Made under the name that a document had before it was moved aside.
        case madeAnew(StorePath, takingOverFrom: StorePath)
        case opened(Node, uid_t, ReaderProcess, flags: Int32, at: Int64)
        case written(StorePath, Caller, at: Int64)
        /// More happened than was kept: gather again.
        case overflow
    }

    private struct State {
        var events: [Event] = []
        var isListening = true
    }
    private let state = Mutex(State())
    private let wake = Signal()
    private let isEnding = Atomic<Bool>(false)
    private let ending = Signal()
    private let readers = ReaderProcesses()
    private static let capacity = 200_000

    func present(in parent: Node, name: UnsafePointer<CChar>) {
        append(pathOf(parent, name).map { .present($0) })
    }

    func present(_ path: StorePath) { append(.present(path)) }

    func absent(in parent: Node, name: UnsafePointer<CChar>) {
        append(pathOf(parent, name).map { .absent($0) })
    }

    func absent(_ path: StorePath) { append(.absent(path)) }

    func exchanged(_ first: (Node, UnsafePointer<CChar>), _ second: (Node, UnsafePointer<CChar>)) {
        guard let one = pathOf(first.0, first.1), let other = pathOf(second.0, second.1) else { return append(.overflow) }
        append(.exchanged(one, other))
    }

    func moved(
        from: (Node, UnsafePointer<CChar>), to: (Node, UnsafePointer<CChar>), isFolder: Bool, takesOver: Tunnel.Takeover,
        by caller: Caller
    ) {
        guard let old = pathOf(from.0, from.1), let new = pathOf(to.0, to.1) else { return append(.overflow) }
        var takesOverTarget = false
        if case .target = takesOver { takesOverTarget = true }
        append(.moved(from: old, to: new, isFolder: isFolder, takesOverTarget: takesOverTarget, by: caller))
        if case .aside(let path) = takesOver { append(.madeAnew(new, takingOverFrom: path)) }
    }

    func movedOutside(from old: StorePath, to new: StorePath, isFolder: Bool) {
        append(.movedOutside(from: old, to: new, isFolder: isFolder))
    }

    func madeAnew(in parent: Node, name: UnsafePointer<CChar>, takingOverFrom aside: StorePath) {
        append(pathOf(parent, name).map { .madeAnew($0, takingOverFrom: aside) })
    }

    func opened(_ node: Node, _ caller: Caller, flags: Int32) {
        append(.opened(node, caller.uid, readers.process(of: caller), flags: flags, at: Clock.now))
    }

    func written(_ node: Node, _ caller: Caller) { append(node.path.map { .written($0, caller, at: Clock.now) }) }

    /// Times, size or tags changed by name.
    func touched(_ node: Node) { append(node.path.map { .present($0) }) }

    func overflow() { append(.overflow) }

    private func pathOf(_ parent: Node, _ name: UnsafePointer<CChar>) -> StorePath? {
        parent.path?.appending(EntryName(copying: name))
    }

    private func append(_ event: Event?) {
        guard let event else { return }
        let isFirst = state.withLock { state -> Bool in
            guard state.isListening else { return false }
            if state.events.count >= Self.capacity { state.events = [.overflow] }
            state.events.append(event)
            return state.events.count == 1
        }
        if isFirst { wake.signal() }
    }

    /// Waits until there are events and no more come for `pause` seconds, for `longest` seconds at most; or for `idle` seconds
    /// if none come at all. Not at all once `endWaiting` was called.
    func waitForPause(of pause: Double, atMost longest: Double, idle: Double) {
        var count = state.withLock { $0.events.count }
        if count == 0 {
            wake.wait(seconds: idle)
            count = state.withLock { $0.events.count }
        }
        var waited = 0.0
        while count > 0, count < Self.capacity / 2, waited < longest, !isEnding.load(ordering: .relaxed) {
            ending.wait(seconds: pause)
            waited += pause
            let now = state.withLock { $0.events.count }
            if now == count { return }
            count = now
        }
    }

    /// Ends the wait for a pause, now and from now on.
    func endWaiting() {
        isEnding.store(true, ordering: .relaxed)
        ending.signal()
        wake.signal()
    }

    func take() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// Nobody takes events any more.
    func stopListening() {
        state.withLock {
            $0.isListening = false
            $0.events = []
        }
    }
}

/// The time of day in nanoseconds since 1970, to a few milliseconds: reading it costs no system call.
enum Clock {
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
