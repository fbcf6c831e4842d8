import Synchronization

/// The wait of one call for its access, which another thread may end.
final class AccessWait: Sendable {
    private struct State {
        var isCancelled = false
        var interrupt: (@Sendable () -> Void)?
    }
    /// A leaf lock.
    private let state = Mutex(State())

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func check() throws(FileCoordinationError) { if isCancelled { throw .cancelled } }

    /// Runs a blocking call, which `interrupt` ends, from another thread. Throws `cancelled` if the wait was ended before or
    /// meanwhile, whatever came of the call: `undo` then gets its result.
    func run<Result>(
        interrupt: (@Sendable () -> Void)?, undo: (Result) -> Void = { _ in },
        _ body: () throws(FileCoordinationError) -> Result
    ) throws(FileCoordinationError) -> Result {
        let isOver = state.withLock { state in
            if !state.isCancelled { state.interrupt = interrupt }
            return state.isCancelled
        }
        if isOver { throw .cancelled }
        let result: Result
        do {
            result = try body()
        } catch {
            if finish() { throw .cancelled }
            throw error
        }
        if finish() {
            undo(result)
            throw .cancelled
        }
        return result
    }

    /// Whether it was cancelled.
    private func finish() -> Bool {
        state.withLock { state in
            state.interrupt = nil
            return state.isCancelled
        }
    }

    func cancel() {
        let interrupt = state.withLock { state in
            state.isCancelled = true
            return state.interrupt.take()
        }
        interrupt?()
    }
}
