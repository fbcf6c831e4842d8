public import Coordination
import StorePrimitives
import Synchronization

/// A client that presents items: what it is asked and told waits here until it takes it.
public final class PresenterSession: Sendable {
    public enum Message: Hashable, Sendable {
        case question(PresenterQuestion)
        /// What a question was asked for is over: the presenter may go on with its item.
        case isOver(PresenterQuestion.ID)
        case event(PresenterID, StoreEvent)

        fileprivate var isEvent: Bool { if case .event = self { true } else { false } }
    }

    private struct Outbox {
        var messages: [Message] = []
        var hasOverflowed = false
    }

    let owner: Claimant
    let name: String
    let credentials: Credentials
    let moment: SaveMoment
    private let shares: UserShares
    /// Its client has gone. Guarded by the coordinator's state.
    nonisolated(unsafe) var isEnded = false
    /// What it presents. Guarded by the coordinator's state.
    nonisolated(unsafe) var presenters: Set<PresenterID> = []
    /// Leaf.
    private let outbox = Mutex(Outbox())
    private let onMessage: @Sendable () -> Void

    /// More are not kept for a client that does not take them.
    private static let mostWaiting = 4_096

    init(
        owner: Claimant, name: String, credentials: Credentials, moment: SaveMoment, shares: UserShares,
        onMessage: @escaping @Sendable () -> Void
    ) {
        self.shares = shares
        (self.owner, self.name, self.credentials, self.moment) = (owner, name, credentials, moment)
        self.onMessage = onMessage
    }

    /// Where there is no room, events go first, of whose loss the client is told. A question that is not put counts as one that is not
    /// answered in time.
    func post(_ message: Message) {
        outbox.withLock { outbox in
            if !takeRoom(outbox) {
                let events = outbox.messages.count(where: \.isEvent)
                outbox.messages.removeAll(where: \.isEvent)
                shares.giveBack(.waitingMessages, events, for: owner.user)
                outbox.hasOverflowed = true
                guard !message.isEvent, takeRoom(outbox) else { return }
            }
            outbox.messages.append(message)
        }
    }

    private func takeRoom(_ outbox: borrowing Outbox) -> Bool {
        outbox.messages.count < Self.mostWaiting && shares.take(.waitingMessages, for: owner.user)
    }

    func lose() { outbox.withLock { $0.hasOverflowed = true } }

    /// Nobody takes any more, and no more comes.
    func discard() { _ = take(.max) }

    /// With no lock held.
    func wake() { onMessage() }

    /// The next messages, `limit` at most, and whether events were missed since the last ones.
    public func take(_ limit: Int) -> (messages: [Message], hasOverflowed: Bool) {
        outbox.withLock { outbox in
            let taken = Array(outbox.messages.prefix(limit))
            outbox.messages.removeFirst(taken.count)
            shares.giveBack(.waitingMessages, taken.count, for: owner.user)
            defer { outbox.hasOverflowed = false }
            return (taken, outbox.hasOverflowed)
        }
    }
}
