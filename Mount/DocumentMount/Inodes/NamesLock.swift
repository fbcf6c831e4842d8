import CLinux
import Glibc
import Synchronization
import SystemPackage

/// The order between operations that change names (shared: the kernel already keeps two of one folder apart) and one that
/// could not find a node under its names and needs them to stand still (exclusive). Rank 1.
final class NamesLock: @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
    private let waiting = Atomic<Int>(0)

    init() { pthread_rwlock_init(lock, nil) }

    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }

    @inline(__always)
    func changing<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }

    /// Throws .staleNFSFileHandle after ten seconds, which a busy disk may need: a change of names that takes longer hangs in a
    /// file system mounted inside the store, and must not take the serving threads with it: when four wait, others do for one
    /// second only.
    func still<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        let isOneOfMany = waiting.add(1, ordering: .relaxed).newValue > 4
        let result = cl_write_lock_within(lock, isOneOfMany ? 1 : 10)
        waiting.subtract(1, ordering: .relaxed)
        guard result == 0 else { throw .staleNFSFileHandle }
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }
}
