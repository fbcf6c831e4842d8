import Glibc
import StorePrimitives

/// Long copies, one at a time, the users in turns, on a thread that serves nobody: versions that are kept, and saves that go into the
/// document's own inode when they have become streams.
///
/// What is queued is done before `stop` returns.
final class CopyQueue: Sendable {
    private struct Job: Sendable {
        let copy: @Sendable () -> Void
        let share: TakenShare
    }
    private struct State {
        var jobs = TurnQueue<Job>()
        var isOver = false
    }
    private let shares: UserShares
    /// Leaf.
    private let state = Locked(State())
    private let loop = LoopThread()

    init(shares: UserShares) { self.shares = shares }

    func start(prepare: @escaping @Sendable () -> Void) {
        loop.start("quire-copies") { [self] in
            prepare()
            while true {
                let (job, isOver) = state.withLock { state in (state.jobs.popFirst(), state.isOver) }
                if let job {
                    job.copy()
                } else if isOver {
                    return
                } else {
                    loop.sleep()
                }
            }
        }
    }

    /// False if the user has too many (`BoundedResource.waitingCopies`), or the mount ends: the copy is the caller's to make then.
    func add(of user: uid_t, _ copy: @escaping @Sendable () -> Void) -> Bool {
        guard let share = TakenShare(.waitingCopies, of: shares, for: user) else { return false }
        let isAdded = state.withLock { state in
            guard !state.isOver else { return false }
            state.jobs.append(Job(copy: copy, share: share), of: shares.accounts.owner(of: user))
            return true
        }
        if isAdded { loop.wake() }
        return isAdded
    }

    func stop() {
        state.withLock { $0.isOver = true }
        loop.stop()
    }
}
