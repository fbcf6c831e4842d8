import Dispatch
import Synchronization

/// Waiting for a mount whose daemon may never answer.
enum Bounded {
    /// How long a command waits for one answer of a file system.
    static let patience = Duration.seconds(5)

    /// Runs `body` on a thread of its own and returns its result, or nil if there is none in time; the thread is then left
    /// behind, and ends with the process.
    static func run<Result: Sendable>(_ limit: Duration = patience, _ body: @escaping @Sendable () -> Result) -> Result? {
        let answer = Answer<Result>()
        DispatchQueue.global().async {
            let result = body()
            answer.value.withLock { $0 = result }
            answer.arrived.signal()
        }
        let seconds = Double(limit.components.seconds) + Double(limit.components.attoseconds) / 1e18
        guard answer.arrived.wait(timeout: .now() + seconds) == .success else { return nil }
        return answer.value.withLock { $0 }
    }

    private final class Answer<Result: Sendable>: Sendable {
        let value = Mutex<Result?>(nil)
        let arrived = DispatchSemaphore(value: 0)
    }
}
