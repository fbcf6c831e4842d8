import FuseKernel
import Glibc
import Logging
import StorePrimitives
import Synchronization

/// Has the kernel tell who watches a folder of pictures that there is a new one, by a process of its own that makes it: mknod(2)
/// waits in the kernel for looks in that folder, and these for pictures to be drawn, which nothing else is to wait for.
final class ThumbnailAnnouncer: Sendable {
    /// Makes entries: knows its own process's requests.
    let maker: Repeater
    /// Leaf.
    private let waiting = Mutex<ArraySlice<@Sendable (Repeater) -> Void>>([])
    private let isOver = Atomic<Bool>(false)
    private let wake = Signal()
    private let thread = Mutex<NamedThread?>(nil)
    private static let mostWaiting = 10_000

    init(log: Logger) { maker = Repeater(log: log, patience: ThumbnailLooks.patience + 2_000_000_000) }

    func start() { thread.withLock { $0 = NamedThread("quire-announce") { [unowned self] in run() } } }

    func stop() {
        isOver.store(true, ordering: .relaxed)
        maker.stop()
        wake.signal()
        thread.withLock { $0.take() }?.join()
        maker.collect()
    }

    /// Has something announced, after what came before. It may be dropped when too much waits.
    func announce(_ body: @escaping @Sendable (Repeater) -> Void) {
        waiting.withLock { if $0.count < Self.mostWaiting { $0.append(body) } }
        wake.signal()
    }

    private func run() {
        while !isOver.load(ordering: .relaxed) {
            guard let next = waiting.withLock({ $0.popFirst() }) else {
                wake.wait()
                continue
            }
            next(maker)
        }
    }
}
