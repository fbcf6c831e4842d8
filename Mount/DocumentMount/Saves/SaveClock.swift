import Glibc
import StorePrimitives
import Synchronization

/// Checks the saves from time to time, as long as there are any.
final class SaveClock: Sendable {
    /// How many documents want to be checked.
    let isNeeded = Atomic<Int>(0)
    private let isAwake = Atomic<Bool>(false)
    private let loop = LoopThread()

    /// A fifth of the shortest time that a save may pause by default is far finer than anybody tells.
    private static let beat = 0.1
    /// Saves come in rows: it does not go to sleep between them, nor is woken by each.
    private static let maximumIdleBeats = 50

    func start(prepare: @escaping @Sendable () -> Void, _ tick: @escaping @Sendable () -> Void) {
        loop.start("quire-saves") { [self] in
            prepare()
            var idleBeats = 0
            while !loop.isStopping {
                idleBeats = isNeeded.load(ordering: .relaxed) > 0 ? 0 : idleBeats + 1
                tick()
                if idleBeats < Self.maximumIdleBeats {
                    loop.sleep(seconds: Self.beat)
                } else {
                    isAwake.store(false, ordering: .sequentiallyConsistent)
                    if isNeeded.load(ordering: .sequentiallyConsistent) == 0 { loop.sleep() }
                    isAwake.store(true, ordering: .relaxed)
                    idleBeats = 0
                }
            }
        }
    }

    /// One atomic load while it is awake.
    func wake() {
        guard !isAwake.load(ordering: .sequentiallyConsistent) else { return }
        isAwake.store(true, ordering: .relaxed)
        loop.wake()
    }

    func stop() { loop.stop() }
}
