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

    /// Waits `seconds` at most.
    public func wait(seconds: Double) {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        let nanoseconds = Int64(deadline.tv_nsec) + Int64(seconds * 1e9)
        deadline.tv_sec += Int(nanoseconds / 1_000_000_000)
        deadline.tv_nsec = Int(nanoseconds % 1_000_000_000)
        while sem_timedwait(semaphore, &deadline) != 0 && errno == EINTR {}
    }
}
