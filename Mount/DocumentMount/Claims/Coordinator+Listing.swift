import Coordination

/// For `quire status`.
extension Coordinator {
    /// All but the locks. Linear in claims and presenters.
    var snapshot: CoordinationSnapshot {
        let now = Self.now
        return state.withLock { state in
            let claims = state.tickets.sorted { $0.key < $1.key }.compactMap { id, ticket -> CoordinationSnapshot.ClaimEntry? in
                guard let request = state.claims[id], let phase = state.claims.phase(of: id) else { return nil }
                return CoordinationSnapshot.ClaimEntry(
                    id: id, phase: phase, paths: request.intents.map(\.path), isWriting: request.isWriting, holder: ticket.holder,
                    age: Double(now &- ticket.since) / 1e9, behind: state.claims.blockers(of: id))
            }
            let presenters = state.sessions.sorted { $0.key < $1.key }.compactMap { id, session in
                state.presenters[id].map { presenter in
                    CoordinationSnapshot.PresenterEntry(
                        path: presenter.path, coversContents: presenter.coversContents, process: session.owner.process?.id ?? 0,
                        name: session.name, user: session.owner.user, hasUnsavedChanges: presenter.hasUnsavedChanges,
                        isSilent: presenter.isSilent)
                }
            }
            return CoordinationSnapshot(
                claims: claims, waitingOpens: state.waitingOpens.count, presenters: presenters, locks: [])
        }
    }
}
