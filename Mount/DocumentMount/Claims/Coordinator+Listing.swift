import Coordination
import StorePrimitives

/// Lists of claims and presenters, for `quire status`.
extension Coordinator {
    struct ListedClaim {
        let id: ClaimID
        let phase: ClaimPhase
        let paths: [StorePath]
        let isWriting: Bool
        let holder: ClaimHolder
        /// In seconds.
        let age: Double
        let behind: [ClaimID]
    }

    struct ListedPresenter {
        let presenter: Presenter
        let session: PresenterSession
        var path: StorePath { presenter.path }
    }

    /// The oldest first. O(claims).
    var claims: [ListedClaim] {
        let now = Self.now
        return state.withLock { state in
            state.tickets.sorted { $0.key < $1.key }.compactMap { id, ticket in
                guard let request = state.claims[id], let phase = state.claims.phase(of: id) else { return nil }
                return ListedClaim(
                    id: id, phase: phase, paths: request.intents.map(\.path), isWriting: request.isWriting, holder: ticket.holder,
                    age: Double(now &- ticket.since) / 1e9, behind: state.claims.blockers(of: id))
            }
        }
    }

    /// The oldest first. O(presenters).
    var presentedItems: [ListedPresenter] {
        state.withLock { state in
            state.sessions.sorted { $0.key < $1.key }.compactMap { id, session in
                state.presenters[id].map { ListedPresenter(presenter: $0, session: session) }
            }
        }
    }

    var waitingOpens: Int { state.withLock { $0.waitingOpens.count } }
}
