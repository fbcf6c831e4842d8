import CLinux
import FuseServer
import Glibc
import Logging
import StorePrimitives

/// Has the kernel tell who watches a folder of pictures that there is a new one, by a process of its own that makes it: mknod(2)
/// waits in the kernel for lookups in that folder, and these for pictures to be rendered, which nothing else is to wait for.
final class ThumbnailAnnouncer: Sendable {
    /// Makes entries: knows its own process's requests.
    let replayer: Replayer
    private struct State {
        var waiting: ArraySlice<(folder: [UInt8], announce: @Sendable (Replayer) -> Void)> = []
        /// How many pictures in a folder are waited for, and when one was last.
        var awaited: [[UInt8]: (count: Int, last: Int64)] = [:]
    }
    /// Leaf.
    private let state = Locked(State())
    /// An announcement holds up lookups in the folder that wait, and waits for them: so it is put off while there are any.
    private static let pause: Int64 = 100_000_000
    private let loop = LoopThread()
    private static let mostWaiting = 10_000

    init(log: Logger) { replayer = Replayer(log: log, timeout: PendingLookups.timeout + 2_000_000_000) }

    func start() { loop.start("quire-announce") { [unowned self] in run() } }

    func stop() {
        replayer.stop()
        loop.stop()
        replayer.collect()
    }

    /// Has something in a folder announced. It may be dropped when too much waits.
    func announce(in folder: [UInt8], _ body: @escaping @Sendable (Replayer) -> Void) {
        state.withLock { if $0.waiting.count < Self.mostWaiting { $0.waiting.append((folder, body)) } }
        loop.wake()
    }

    /// A lookup in a folder waits for a picture, for as long as this lives.
    final class Awaiting: Sendable {
        private let announcer: ThumbnailAnnouncer
        private let folder: [UInt8]

        init(_ announcer: ThumbnailAnnouncer, in folder: [UInt8]) {
            (self.announcer, self.folder) = (announcer, folder)
            announcer.count(1, folder)
        }

        deinit { announcer.count(-1, folder) }
    }

    fileprivate func count(_ change: Int, _ folder: [UInt8]) {
        state.withLock { state in
            let before = state.awaited[folder]?.count ?? 0
            state.awaited[folder] = (before + change, cl_monotonic_ns())
        }
    }

    private func run() {
        while !loop.isStopping {
            let (next, waits) = state.withLock { state in (take(&state, cl_monotonic_ns()), !state.waiting.isEmpty) }
            if let next {
                next(replayer)
            } else if waits {
                loop.sleep(seconds: Double(Self.pause) / 1e9)
            } else {
                loop.sleep()
            }
        }
    }

    /// The first that may be announced now.
    private func take(_ state: inout State, _ now: Int64) -> (@Sendable (Replayer) -> Void)? {
        state.awaited = state.awaited.filter { $0.value.count > 0 || now - $0.value.last < Self.pause }
        guard let index = state.waiting.firstIndex(where: { state.awaited[$0.folder] == nil }) else { return nil }
        return state.waiting.remove(at: index).announce
    }
}
