import Synchronization

/// A named thread that does its work in rounds until it is stopped, and sleeps between them until it is woken.
///
/// A `wake` while the thread works counts: it does not sleep then. Sleeping and `isStopping` are for the thread itself, the rest is for
/// any thread.
public final class LoopThread: Sendable {
    private let stopping = Atomic<Bool>(false)
    private let signal = Signal()
    private let thread = Mutex<NamedThread?>(nil)

    public init() {}

    /// Whether the thread is to return.
    public var isStopping: Bool { stopping.load(ordering: .relaxed) }

    /// Starts the thread, unless it has been. `body` returns when `isStopping` says so. Traps as `NamedThread`.
    public func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        thread.withLock { if $0 == nil { $0 = NamedThread(name, body) } }
    }

    public func wake() { signal.signal() }

    public func sleep() { signal.wait() }

    public func sleep(seconds: Double) { signal.wait(seconds: seconds) }

    /// - Parameter time: on the monotonic clock, in nanoseconds; nil: until it is woken.
    public func sleep(until time: Int64?) {
        if let time { signal.wait(until: time) } else { signal.wait() }
    }

    /// Has the thread return, and waits for it. Again: does nothing.
    public func stop() {
        stopping.store(true, ordering: .relaxed)
        signal.signal()
        thread.withLock { $0.take() }?.join()
    }
}
