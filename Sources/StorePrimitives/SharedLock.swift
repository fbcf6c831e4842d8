internal import CLinux
import Glibc

/// A pthread read-write lock: many at once, or one alone, who is not kept waiting by more and more of the others. Not to be
/// taken twice by one thread.
public final class SharedLock: @unchecked Sendable {
    fileprivate let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

    public init() { cl_init_shared_lock(lock) }

    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }

    public func shared<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }

    public func exclusive<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_rwlock_wrlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }
}

extension Collection where Element == SharedLock {
    /// Alone in all of them, taken in their order. Not one within the other: there may be more than a stack holds calls.
    public func exclusive<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        for one in self { pthread_rwlock_wrlock(one.lock) }
        defer { for one in self { pthread_rwlock_unlock(one.lock) } }
        return try body()
    }
}
