import CLinux
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// Tells who watches a document itself (inotify, fanotify) of saves, as of saves by rename (rule 15): DELETE_SELF. What is
/// written in place through another version's handle is told as MODIFY.
///
/// The kernel tells the watches of an inode only of what comes through the mount. So a process of our own replays it there.
/// A superseded version it looks up, under a name that is made for this once and answered to nobody else, with a link count of
/// 0; then again, and the name is gone: the kernel gives up a name of a file without links, which its watches are told of. No answer
/// gives the inode links from then on (`Node.isToldAsGone`), except to a program that saves by it, and the process looks the document up
/// by its path: so a program that found the version there before, and only now begins to watch it, gets the event when it releases the
/// path. For a write the process sets the document's time of modification, which is answered as done.
final class SaveNotifier: Sendable {
    private static let prefix = ".quire-superseded-"
    /// Most versions that are open when they are superseded are closed before, and nobody watched them.
    private static let delay = 0.002
    /// The kernel ignores the link count in an answer if it has processed another one about the inode since the request, and while the
    /// inode's size changes, as for as long as ftruncate(2) waits for programs that read the version: then the version is looked up again.
    private static let pause = 0.1
    private static let maximumLooks = 100

    private struct State: ~Copyable {
        /// Each with a lookup counted.
        var superseded: [Node] = []
        var written: [ObjectIdentifier: Node] = [:]
        /// The superseded version that is being looked up, and under which name: nobody can have asked for that before.
        var asked: Node?
        var name = EntryName("-")
    }

    private let table: NodeTable
    private let replayer: Replayer
    /// Rank 2b.
    private let state = Mutex(State())
    private let loop = LoopThread()

    init(table: NodeTable, replayer: Replayer) {
        self.table = table
        self.replayer = replayer
    }

    /// A version was superseded: takes over a lookup counted on the node. If the kernel knows it still, somebody has it open or
    /// watches it.
    func superseded(_ node: Node) {
        guard table.isKnown(node, besides: 1) else { return table.forget(node, count: 1) }
        let isFirst = state.withLock { state in
            state.superseded.append(node)
            return state.superseded.count == 1
        }
        if isFirst { loop.wake() }
    }

    /// A published document was written through another node. Told at the next `tellOfWriting`. True for the first.
    func written(_ node: Node) -> Bool {
        state.withLock { state in
            state.written[ObjectIdentifier(node)] = node
            return state.written.count == 1
        }
    }

    func tellOfWriting() {
        if state.withLock({ !$0.written.isEmpty }) { loop.wake() }
    }

    // MARK: - Requests of the process

    /// Whether a LOOKUP in the mount's root asks for a superseded version. One atomic load for others.
    func areAskedFor(_ name: BorrowedName, by caller: Caller) -> Bool {
        replayer.isCaller(caller) && state.withLock { $0.name.matches(name) }
    }

    /// The version that is asked for, with a lookup counted; nil the second time.
    func takeAsked() -> Node? {
        state.withLock { state in
            if let node = state.asked { table.hold(node) }
            return state.asked.take()
        }
    }

    // MARK: - The thread

    func start() { loop.start("quire-watches") { [self] in run() } }

    /// Again: does nothing. What waits is told no more. After the replayer's `stop`.
    func stop() {
        loop.stop()
        for node in takeAll().superseded { table.forget(node, count: 1) }
    }

    private func takeAll() -> (superseded: [Node], written: [Node]) {
        state.withLock { state in
            defer { (state.superseded, state.written) = ([], [:]) }
            return (state.superseded, Array(state.written.values))
        }
    }

    private func run() {
        // Those of which the kernel still counts links, and how often each was looked up.
        var waiting: [(node: Node, looks: Int)] = []
        defer { for (node, _) in waiting { table.forget(node, count: 1) } }
        while true {
            if waiting.isEmpty { loop.sleep() } else { loop.sleep(seconds: Self.pause) }
            loop.sleep(seconds: Self.delay)
            // That wait may have taken the signal to stop.
            if loop.isStopping { return }
            let (superseded, written) = takeAll()
            waiting = (superseded.map { ($0, 0) } + waiting).compactMap { node, looks in
                if looks < Self.maximumLooks, !loop.isStopping, table.isKnown(node, besides: 1), !tell(of: node) { return (node, looks + 1) }
                table.forget(node, count: 1)
                return nil
            }
            for node in written where !loop.isStopping {
                // A path that is not there any more has no watches.
                if let path = node.path { _ = replayer.replay(.write(path.bytes, isModified: true, isClosed: false)) }
            }
        }
    }

    /// Tells the watches of a superseded version. False if it has to be done again: the kernel still counts links of it.
    private func tell(of node: Node) -> Bool {
        // One of several names of a file may have gone.
        guard node.state.withLock({ $0.isSuperseded || $0.isRemoved }) else { return true }
        node.isToldAsGone.store(true, ordering: .sequentiallyConsistent)
        var place = node.state.withLock { $0.lastLink }.flatMap { $0.parent.path?.appending($0.name) }
        if let path = place, path.bytes.count >= Int(PATH_MAX) { place = nil }
        let name = Array((Self.prefix + String(UInt64.random(in: 0 ... .max), radix: 16)).utf8)
        state.withLock { ($0.asked, $0.name) = (node, EntryName(name)!) }
        defer { state.withLock { $0.asked = nil } }
        if case .differs = replayer.outcome(of: .loseName(name, place?.bytes ?? [])) { return false }
        return true
    }
}
