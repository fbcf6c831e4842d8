import Foundation
import Synchronization

/// Sends a presenter its messages on its queue: in order, and one at a time whatever the queue.
final class Mailbox: Sendable {
    private struct State {
        var messages: [@Sendable () -> Void] = []
        var isSending = false
    }

    private let queue: OperationQueue
    /// A leaf lock.
    private let state = Mutex(State())

    init(_ queue: OperationQueue) { self.queue = queue }

    func send(_ message: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            state.messages.append(message)
            defer { state.isSending = true }
            return !state.isSending
        }
        if starts { queue.addOperation { [self] in sendNext() } }
    }

    private func sendNext() {
        let message = state.withLock { $0.messages.removeFirst() }
        message()
        let hasMore = state.withLock { state in
            state.isSending = !state.messages.isEmpty
            return state.isSending
        }
        if hasMore { queue.addOperation { [self] in sendNext() } }
    }
}
