import Coordination
import FuseServer
import StorePrimitives

/// Who works for which claim.
extension Coordinator {
    /// The claim in whose name the caller writes an item, and whether that is for its content only, so that the item itself stays
    /// where it is until the claim ends. One lock if nobody claims the item.
    func transaction(
        of caller: Caller, writing path: StorePath, besides ending: Set<ClaimID>
    ) -> (id: ClaimID, isContentOnly: Bool)? {
        guard isClaimed(path) else { return nil }
        let writer = writers.claimant(of: caller)
        return state.withLock { state in
            state.claims.transaction(of: writer, writing: path, besides: ending).map { ($0, !state.claims.moves(path, for: $0)) }
        }
    }

    /// Whether a claim has not ended.
    func isHeld(_ id: ClaimID) -> Bool { state.withLock { $0.tickets[id] != nil } }

    /// When a claim was asked for, by `now`; nil if it has ended.
    func start(of id: ClaimID) -> UInt64? { state.withLock { $0.tickets[id]?.since } }

    /// Whether the caller works for a claim.
    func serves(_ id: ClaimID, _ caller: Caller) -> Bool {
        let asker = writers.claimant(of: caller)
        return state.withLock { $0.claims.serves(asker, id) }
    }

    /// The claim that what was saved within an ending one goes on to: it was asked for while that was held.
    func outerTransaction(of id: ClaimID, writing path: StorePath) -> ClaimID? {
        state.withLock { $0.claims.outerTransaction(of: id, writing: path) }
    }
}
