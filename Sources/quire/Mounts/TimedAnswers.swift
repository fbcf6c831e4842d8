import Dispatch
import StorePrimitives
import Synchronization

/// Asking many mounts at once, whose daemons may never answer.
enum TimedAnswers {
    /// Runs `body` for each on a thread of its own. Returns their results, nil for those that have none when the time is over: these threads are
    /// left behind, and end with the process. So `body` may wait in no system call that a signal does not end (`MountServer`).
    static func collect<Subject: Sendable, Result: Sendable>(
        _ limit: Duration, for subjects: [Subject], _ body: @escaping @Sendable (Subject) -> Result
    ) -> [Result?] {
        let answers = subjects.map { subject in begin { body(subject) } }
        let end = deadline(after: limit)
        return answers.map { $0.wait(until: end) }
    }

    private static func begin<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Answer<Result> {
        let answer = Answer<Result>()
        // None of a pool's: those that wait for one mount would keep others from being looked at.
        let thread = try? NamedThread(starting: "quire-check") {
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
