internal import CLinux
import Glibc

/// Wakes one waiting thread. Signals while nobody waits count once.
public final class Signal: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    public init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    public func signal() {
        var value: Int32 = 0
        sem_getvalue(semaphore, &value)
        if value < 1 { sem_post(semaphore) }
    }

    public func wait() { while sem_wait(semaphore) != 0 && errno == EINTR {} }

    /// Waits `seconds` at most. Whether it was signalled.
    @discardableResult
    public func wait(seconds: Double) -> Bool {
        // Not by the clock that people set.
        wait(until: cl_monotonic_ns().adding(clamping: Int64(clamping: seconds * 1e9)))
    }

    /// As above, until a time on the monotonic clock, in nanoseconds.
    @discardableResult
    public func wait(until deadline: Int64) -> Bool {
        while true {
            let result = cl_sem_wait_until(semaphore, deadline)
            if result != -EINTR { return result == 0 }
        }
    }
}
