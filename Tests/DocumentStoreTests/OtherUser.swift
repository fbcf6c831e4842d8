import CLinux
import Foundation
import Glibc
import Synchronization

/// Runs code in a thread that has an ordinary user's rights to files.
enum OtherUser {
    private static let nobody: uid_t = 65_534

    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let answer = Answer<Value>()
        let thread = Thread {
            // Changing the file system identity to an ordinary user's also drops this thread's rights to pass over modes.
            _ = cl_set_fs_identity(nobody, nobody)
            answer.result.withLock { $0 = Result { try body() } }
            answer.done.signal()
        }
        thread.start()
        answer.done.wait()
        return try answer.result.withLock { try $0!.get() }
    }

    private final class Answer<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
    }
}
