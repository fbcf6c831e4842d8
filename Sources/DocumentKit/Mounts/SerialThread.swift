import Dispatch
import StorePrimitives
import Synchronization

/// A thread for calls that block and must keep their order. Begins with the first and stays.
final class SerialThread: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var hasBegun = false
    }

    private let name: String
    /// A leaf lock.
    private let state = Mutex(State())
    private let arrived = DispatchSemaphore(value: 0)

    init(_ name: String) { self.name = name }

    func run(_ job: @escaping @Sendable () -> Void) {
        let begins = state.withLock { state in
            state.jobs.append(job)
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
        if begins { NamedThread(name) { [self] in work() }.detach() }
        arrived.signal()
    }

    private func work() {
        while true {
            arrived.wait()
            state.withLock { $0.jobs.removeFirst() }()
        }
    }
}
