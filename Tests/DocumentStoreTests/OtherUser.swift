import CLinux
import Glibc
import StorePrimitives
import Synchronization

/// Runs code in a thread that has an ordinary user's rights to files.
enum OtherUser {
    private static let nobody: uid_t = 65_534

    /// Ends the thread before it returns: what `body` holds is not given up, and removed, with those rights.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let answer = Answer<Value>()
        let thread = NamedThread("other-user") {
            // Changing the file system identity to an ordinary user's also drops this thread's rights to pass over modes.
            _ = cl_set_fs_identity(nobody, nobody)
            answer.result.withLock { $0 = Result { try body() } }
        }
        thread.join()
        return try withExtendedLifetime(body) { try answer.result.withLock { try $0!.get() } }
    }

    private final class Answer<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>?>(nil)
    }
}
