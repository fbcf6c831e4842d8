internal import NIOCore
internal import NIOPosix
import StorePrimitives

/// Prepares the threads that carry calls out before their first call, and resets them after each.
public struct CallThreads: Sendable {
    fileprivate let prepare: @Sendable () -> Void
    fileprivate let reset: @Sendable () -> Void

    /// - Parameters:
    ///   - prepare: makes a thread one that may act for the users who call.
    ///   - reset: has it act for nobody again.
    public init(prepare: @escaping @Sendable () -> Void = {}, reset: @escaping @Sendable () -> Void = {}) {
        (self.prepare, self.reset) = (prepare, reset)
    }
}

/// Carries out what may take a while, off the event loops, fairly between users: each user has lanes of its own, in which its calls
/// wait for each other and for nobody else's.
///
/// A user has two calls at a time carried out, and beside these one that may take long (a walk through a tree, say), for which there
/// are other threads: whatever calls anybody makes, and however long they take, others' calls find threads.
final class CallLanes: Sendable {
    struct Lane: Hashable {
        let user: UInt32
        let isLong: Bool

        var width: Int { isLong ? 1 : 2 }
    }

    /// Called with false if the service ends: the call is not to be carried out.
    typealias Job = @Sendable (_ isActive: Bool) -> Void

    private struct State {
        var running: [Lane: Int] = [:]
        var waiting: [Lane: [Job]] = [:]
    }

    private let pool: NIOThreadPool
    private let longPool: NIOThreadPool
    private let threads: CallThreads
    let accounts: Accounts
    /// Set on a thread that is prepared.
    private let isPrepared = ThreadSpecificVariable<Prepared>()
    private final class Prepared: Sendable {}
    /// A leaf lock.
    private let state = Locked(State())

    init(threads: CallThreads, accounts: Accounts) {
        (self.threads, self.accounts) = (threads, accounts)
        pool = NIOThreadPool(numberOfThreads: 8)
        longPool = NIOThreadPool(numberOfThreads: 4)
        pool.start()
        longPool.start()
    }

    func submit(in lane: Lane, _ job: @escaping Job) {
        let starts = state.withLock { state in
            guard state.running[lane, default: 0] < lane.width else {
                state.waiting[lane, default: []].append(job)
                return false
            }
            state.running[lane, default: 0] += 1
            return true
        }
        if starts { start(job, in: lane) }
    }

    /// The result of `body`, on the event loop. Fails if the service ends.
    func run<Result: Sendable>(
        in lane: Lane, on eventLoop: any EventLoop, _ body: @escaping @Sendable () -> Result
    ) -> EventLoopFuture<Result> {
        let promise = eventLoop.makePromise(of: Result.self)
        submit(in: lane) { isActive in
            if isActive { promise.succeed(body()) } else { promise.fail(ChannelError.ioOnClosedChannel) }
        }
        return promise.futureResult
    }

    /// Waits for the calls that are being carried out.
    func stop() {
        try? pool.syncShutdownGracefully()
        try? longPool.syncShutdownGracefully()
    }

    private func start(_ job: @escaping Job, in lane: Lane) {
        (lane.isLong ? longPool : pool).submit { [self] poolState in
            if isPrepared.currentValue == nil {
                threads.prepare()
                isPrepared.currentValue = Prepared()
            }
            job(poolState == .active)
            threads.reset()
            if let next = next(in: lane) { start(next, in: lane) }
        }
    }

    /// The next job of a lane, at the end of the threads' queue: other lanes' come first.
    private func next(in lane: Lane) -> Job? {
        state.withLock { state in
            if let job = state.waiting[lane]?.first {
                state.waiting[lane]?.removeFirst()
                if state.waiting[lane]?.isEmpty == true { state.waiting[lane] = nil }
                return job
            }
            let left = (state.running[lane] ?? 1) - 1
            state.running[lane] = left > 0 ? left : nil
            return nil
        }
    }
}
