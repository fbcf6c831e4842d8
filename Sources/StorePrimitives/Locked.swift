/// A value that requests of all users meet at, guarded by a pthread mutex.
///
/// `Mutex` is for what few threads share, such as the state of one inode. On Linux it is a priority-inheriting futex (futex(2),
/// `FUTEX_UNLOCK_PI`): whoever gives it up hands it to the thread that has waited longest, and nobody has it until that thread is
/// scheduled. Where 24 threads of one user ask for it again and again, another user's request waits for as many context switches. A
/// pthread mutex is taken by whoever runs, for under 100 ns.
public final class Locked<Value>: @unchecked Sendable {
    @usableFromInline let lock = ThreadLock()
    @usableFromInline var value: Value

    public init(_ value: consuming sending Value) { self.value = value }

    @inlinable
    public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
        try lock.withLock { () throws(Failure) in try body(&value) }
    }
}
