internal import CLinux
import Glibc
import Synchronization

/// Lets threads wait for what other threads bring about. A thread that changes something pays one atomic load while none waits.
///
/// The condition itself is read without a lock of this. Whoever changes what it depends on calls `changed` afterwards.
public final class Condition: @unchecked Sendable {
    private let waiting = Atomic<Int>(0)
    private let lock = ThreadLock()
    private let variable = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// With `lock` held.
    private var changes: UInt64 = 0

    public init() { pthread_cond_init(variable, nil) }

    deinit {
        pthread_cond_destroy(variable)
        variable.deallocate()
    }

    /// Has waiting threads look again. Leaf.
    public func changed() {
        // A thread counts itself before it looks: either it sees the change, or this sees it wait.
        guard waiting.load(ordering: .sequentiallyConsistent) > 0 else { return }
        lock.withLock {
            changes &+= 1
            pthread_cond_broadcast(variable)
        }
    }

    /// Waits until `holds` returns true. With no lock held that `changed` is called with.
    ///
    /// - Parameter seconds: how long at most.
    /// - Returns: what `holds` returned last.
    @discardableResult
    public func wait(seconds: Double, until holds: () -> Bool) -> Bool {
        let deadline = cl_monotonic_ns().adding(clamping: Int64(clamping: seconds * 1e9))
        waiting.add(1, ordering: .sequentiallyConsistent)
        defer { waiting.subtract(1, ordering: .relaxed) }
        while true {
            let seen = lock.withLock { changes }
            if holds() { return true }
            let isInTime = lock.withLock { () -> Bool in
                while changes == seen {
                    if cl_cond_wait_until(variable, lock.mutex, deadline) != 0 { return false }
                }
                return true
            }
            guard isInTime else { return holds() }
        }
    }
}
