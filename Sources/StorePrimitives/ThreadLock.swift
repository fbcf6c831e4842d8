public import Glibc

/// A pthread mutex, for the few places where `Mutex` does not fit: its body may throw and use what the caller borrows.
/// See `Locked` for a value with such a lock.
public final class ThreadLock: @unchecked Sendable {
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    public init() { pthread_mutex_init(mutex, nil) }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inlinable
    public func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }

    /// Not at all while another thread holds it.
    @inlinable
    public func withLockIfFree<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        guard pthread_mutex_trylock(mutex) == 0 else { return }
        defer { pthread_mutex_unlock(mutex) }
        try body()
    }
}

extension Collection where Element == ThreadLock {
    /// With all of them held, taken in their order. Not one within the other: there may be more than a stack holds calls.
    public func withLocks<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        for lock in self { pthread_mutex_lock(lock.mutex) }
        defer { for lock in self { pthread_mutex_unlock(lock.mutex) } }
        return try body()
    }
}
