import Dispatch
import StorePrimitives
import Synchronization

/// Waiting for a mount whose daemon may never answer.
enum Bounded {
    /// How long a command waits for one answer of a file system.
    static let patience = Duration.seconds(5)

    /// Runs `body` on a thread of its own and returns its result, or nil if there is none in time; the thread is then left
    /// behind, and ends with the process.
    static func run<Result: Sendable>(_ limit: Duration = patience, _ body: @escaping @Sendable () -> Result) -> Result? {
        let answer = begin(body)
        return answer.wait(until: deadline(after: limit))
    }

    /// The same of many at once, which have the time together.
    static func run<Subject: Sendable, Result: Sendable>(
        _ limit: Duration, for subjects: [Subject], _ body: @escaping @Sendable (Subject) -> Result
    ) -> [Result?] {
        let answers = subjects.map { subject in begin { body(subject) } }
        let end = deadline(after: limit)
        return answers.map { $0.wait(until: end) }
    }

    private static func begin<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Answer<Result> {
        let answer = Answer<Result>()
        // None of a pool's: those that wait for one mount would keep others from being looked at.
        let thread = try? NamedThread(starting: "quire-look") {
            let result = body()
            answer.value.withLock { $0 = result }
            answer.arrived.signal()
        }
        thread?.detach()
        return answer
    }

    private static func deadline(after limit: Duration) -> DispatchTime {
        .now() + (Double(limit.components.seconds) + Double(limit.components.attoseconds) / 1e18)
    }

    private final class Answer<Result: Sendable>: Sendable {
        let value = Mutex<Result?>(nil)
        let arrived = DispatchSemaphore(value: 0)

        func wait(until end: DispatchTime) -> Result? { arrived.wait(timeout: end) == .success ? value.withLock { $0 } : nil }
    }
}
