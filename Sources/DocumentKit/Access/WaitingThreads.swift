import Dispatch
import StorePrimitives
import Synchronization

/// Threads for calls that block, so that those of Swift's cooperative pool do not. They end when nothing was asked of them
/// for some seconds.
final class WaitingThreads: Sendable {
    /// For claims, which may wait long.
    static let claims = WaitingThreads("quire-claim", most: 512)
    /// For what ends the waits of others, so that these never hold it up.
    static let releases = WaitingThreads("quire-release", most: 32)

    /// For what queries find next, which may take for ever.
    static let queries = WaitingThreads("quire-query", most: 256)

    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var idle = 0
        var count = 0
    }

    private let name: String
    private let most: Int
    /// A leaf lock.
    private let state = Mutex(State())
    private let arrived = DispatchSemaphore(value: 0)
    private static let timeout = DispatchTimeInterval.seconds(5)

    private init(_ name: String, most: Int) { (self.name, self.most) = (name, most) }

    func run(_ job: @escaping @Sendable () -> Void) {
        let startsThread = state.withLock { state in
            state.jobs.append(job)
            guard state.jobs.count > state.idle, state.count < most else { return false }
            state.count += 1
            return true
        }
        arrived.signal()
        guard startsThread else { return }
        if let thread = try? NamedThread(starting: name, { [self] in work() }) {
            thread.detach()
        } else {
            // No thread to be had: one of those there are takes it, sooner or later.
            state.withLock { $0.count -= 1 }
        }
    }

    /// What `body` returns on one of the threads.
    func result<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in run { continuation.resume(returning: body()) } }
    }

    private func work() {
        while true {
            state.withLock { $0.idle += 1 }
            let outcome = arrived.wait(timeout: .now() + Self.timeout)
            let (job, isOver) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
                state.idle -= 1
                if !state.jobs.isEmpty { return (state.jobs.removeFirst(), false) }
                if outcome == .timedOut { state.count -= 1 }
                return (nil, outcome == .timedOut)
            }
            if isOver { return }
            job?()
        }
    }
}
