import CLinux
import Glibc
import StorePrimitives
import Synchronization

/// Has searches made again whose results programs watch, when something has changed in the store.
///
/// One thread says when: a search that takes long is made the more seldom, and a user's searches together take a share of a processor.
final class LiveSearches: Sendable {
    struct ID: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Watch {
        let account: uid_t
        let remembers: Bool
        /// Has the search made again. Called with no lock held.
        let wake: @Sendable () -> Void
        var isDirty = false
        /// On the monotonic clock.
        var notBefore: Int64 = .min
    }
    private struct State {
        var watches: [ID: Watch] = [:]
        var last: UInt64 = 0
    }
    /// Leaf lock.
    private let state = Mutex(State())
    private let isWatched = Atomic<Bool>(false)
    private let hasChanged = Atomic<Bool>(false)
    private let loop = LoopThread()
    private let accounts: Accounts

    /// A search is made again after so many times the time that it took, for each that its user watches.
    private static let pauseFactor: Int64 = 4

    init(accounts: Accounts) { self.accounts = accounts }

    /// Something changed that may change results. One atomic load if nobody watches any. Takes no lock but leaves.
    func noteChange() {
        guard isWatched.load(ordering: .acquiring), !hasChanged.exchange(true, ordering: .acquiringAndReleasing) else { return }
        loop.wake()
    }

    /// At the mount's beginning: a thread that cannot be made ends the process.
    func start() { loop.start("quire-live") { [unowned self] in run() } }

    /// - Returns: also whether what the search finds may be kept in memory (`SearchMemory`, a megabyte for a million documents): of a few
    ///   searches of each account.
    func begin(for user: uid_t, _ wake: @escaping @Sendable () -> Void) -> (id: ID, remembers: Bool) {
        state.withLock { state in
            state.last += 1
            let (id, account) = (ID(number: state.last), accounts.owner(of: user))
            let others = state.watches.values.filter(\.remembers)
            let remembers = others.count < Self.mostMemories && others.count { $0.account == account } < Self.mostMemoriesOfAccount
            state.watches[id] = Watch(account: account, remembers: remembers, wake: wake)
            isWatched.store(true, ordering: .releasing)
            return (id, remembers)
        }
    }

    private static let mostMemories = 16
    private static let mostMemoriesOfAccount = 4

    /// Whether a search may be made now. If not, it is woken when it may.
    func isDue(_ id: ID) -> Bool {
        let isDue = state.withLock { state in
            guard let watch = state.watches[id], watch.notBefore > cl_monotonic_ns() else { return true }
            state.watches[id]?.isDirty = true
            return false
        }
        if !isDue { loop.wake() }
        return isDue
    }

    /// A search was made, which took so many nanoseconds.
    func made(_ id: ID, in time: Int64) {
        state.withLock { state in
            guard let account = state.watches[id]?.account else { return }
            let count = Int64(clamping: state.watches.values.count { $0.account == account })
            state.watches[id]?.notBefore = cl_monotonic_ns() + max(time, 0) * Self.pauseFactor * count
        }
    }

    func end(_ id: ID) {
        state.withLock { state in
            state.watches[id] = nil
            isWatched.store(!state.watches.isEmpty, ordering: .releasing)
        }
    }

    func stop() { loop.stop() }

    private func run() {
        while !loop.isStopping {
            let isChanged = hasChanged.exchange(false, ordering: .acquiringAndReleasing)
            let now = cl_monotonic_ns()
            let (due, next) = state.withLock { state -> ([@Sendable () -> Void], Int64?) in
                var (due, next): ([@Sendable () -> Void], Int64?) = ([], nil)
                for (id, watch) in state.watches where isChanged || watch.isDirty {
                    let isDue = watch.notBefore <= now
                    state.watches[id]?.isDirty = !isDue
                    if isDue { due.append(watch.wake) } else { next = min(next ?? .max, watch.notBefore) }
                }
                return (due, next)
            }
            for wake in due { wake() }
            loop.sleep(until: next)
        }
    }
}
