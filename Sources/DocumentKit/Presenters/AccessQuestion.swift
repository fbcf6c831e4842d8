import Foundation
import Synchronization

/// What presenters are asked before an access.
struct AccessQuestion: Sendable {
    /// What is accessed: the presented item, one in it, or a folder that holds it.
    let item: AbsolutePath
    let isWriting: Bool
    let savesChanges: Bool
    /// Whether the item will be gone.
    let isDeletion: Bool
}

/// What a presenter relinquished, until it is told to go on.
final class Relinquishment: Sendable {
    private enum State {
        case asked
        case relinquished(@Sendable () -> Void)
        case over
    }
    /// A leaf lock.
    private let state = Mutex(State.asked)
    private let send: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// - Parameter send: runs a block where the presenter's messages run.
    init(send: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) { self.send = send }

    /// The presenter has let go, and wants `reacquire` to be called when the access is over.
    func keep(_ reacquire: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if case .over = state { return true }
            state = .relinquished(reacquire)
            return false
        }
        if isOver { send(reacquire) }
    }

    /// The access is over, or was given up. Once.
    func end() {
        let reacquire = state.withLock { state -> (@Sendable () -> Void)? in
            defer { state = .over }
            if case .relinquished(let reacquire) = state { return reacquire }
            return nil
        }
        if let reacquire { send(reacquire) }
    }
}

/// The answer to one question: the first counts.
final class Once: Sendable {
    private let isDone = Mutex(false)
    private let body: @Sendable (String?) -> Void

    init(_ body: @escaping @Sendable (String?) -> Void) { self.body = body }

    func answer(_ failure: String?) {
        guard !isDone.withLock({ isDone in defer { isDone = true }; return isDone }) else { return }
        body(failure)
    }
}
