import Coordination
import Glibc
import StorePrimitives

/// Claims for reading are granted when their snapshot is taken.
extension Coordinator {
    /// A snapshot that is to be taken for a claim, of which nobody has to be waited for any more.
    struct WantedSnapshot: Sendable {
        let id: ClaimID
        let items: [SnapshotService.Item]
        /// Whom it is for.
        let claimant: Claimant
        let holder: Credentials

        fileprivate func membership(in coordinator: Coordinator) -> SnapshotService.Membership {
            { [unowned coordinator, claimant] id in coordinator.state.withLock { $0.claims.serves(claimant, id) } }
        }
    }

    /// Nobody is in the way of a claim any more.
    func grantOrFreeze(_ id: ClaimID, _ state: inout State, _ actions: inout Actions) {
        guard let request = state.claims[id], let holder = state.tickets[id]?.credentials else { return }
        let items = request.intents.filter(\.wantsSnapshot).map { SnapshotService.Item(path: $0.path, mayBeLive: $0.mayBeLive) }
        guard !items.isEmpty else { return grant(id, snapshots: [], &state, &actions) }
        state.awaitingSnapshots.insert(id)
        actions.snapshots.append(WantedSnapshot(id: id, items: items, claimant: request.claimant, holder: holder))
    }

    private func grant(_ id: ClaimID, snapshots: [StorePath], _ state: inout State, _ actions: inout Actions) {
        guard state.claims.grant(id), let ticket = state.tickets[id] else { return }
        actions.answers.append((ticket, .granted(snapshots: snapshots)))
    }

    /// Takes the snapshot of one document that nobody writes, which needs no thread; else false.
    func takeAtOnce(_ wanted: WantedSnapshot) -> Bool {
        guard wanted.items.count == 1, gate.isEmpty, passes.passing.isEmpty,
            let place = snapshots.takeAtOnce(
                wanted.items[0], for: wanted.id, of: wanted.holder, worksFor: wanted.membership(in: self))
        else { return false }
        finish(wanted.id, .success([place]))
        return true
    }

    /// On the thread for snapshots.
    func take(_ wanted: WantedSnapshot) {
        // Until now it has waited for others' snapshots.
        let isWanted = state.withLock { state in
            state.claims.waitsNoLonger(wanted.id)
            return state.awaitingSnapshots.contains(wanted.id)
        }
        guard isWanted else { return }
        do throws(SnapshotRefusal) {
            let places = try snapshots.take(
                wanted.items, for: wanted.id, of: wanted.holder, worksFor: wanted.membership(in: self)
            ) { awaitOpens() }
            finish(wanted.id, .success(places))
        } catch {
            finish(wanted.id, .failure(error))
        }
    }

    private func finish(_ id: ClaimID, _ result: Result<[StorePath], SnapshotRefusal>) {
        change { state, actions in
            // Released or expired meanwhile.
            guard state.awaitingSnapshots.remove(id) != nil, let ticket = state.tickets[id] else { return actions.ended.append(id) }
            switch result {
            case .success(let places): grant(id, snapshots: places, &state, &actions)
            case .failure(let refusal):
                let writer = refusal.writer.map { writer in
                    ClaimHolder(process: writer, user: 0, purpose: nil, path: refusal.path)
                }
                actions.answers.append((ticket, .refused(.noSnapshot(of: refusal.path, reason: refusal.reason, writer: writer))))
                end(id, &state, &actions)
            }
        }
    }

    /// Waits for the opens for writing that are on their way; false if that takes longer than two seconds.
    private func awaitOpens() -> Bool {
        let lastPass = passes.last
        return gate.opensEnded.wait(seconds: Self.openTime) {
            gate.isEmpty && !passes.passing.contains { $0 <= lastPass }
        }
    }

    private static let openTime = 2.0
}

/// Snapshots to be taken, one after the other, and those that are to go: with a version's last descriptor the file system
/// may have much to free.
final class SnapshotQueue: Sendable {
    private struct State {
        var wanted: [Coordinator.WantedSnapshot] = []
        /// Whose snapshot was taken last.
        var lastUser: UInt32?
        var unwanted: [Snapshot] = []
        var isOver = false

        /// Users take turns.
        mutating func next() -> Coordinator.WantedSnapshot? {
            guard let index = wanted.firstIndex(where: { $0.claimant.user != lastUser }) ?? wanted.indices.first else { return nil }
            lastUser = wanted[index].claimant.user
            return wanted.remove(at: index)
        }
    }
    /// Leaf.
    private let state = Locked(State())
    private let wake = Signal()

    func add(_ wanted: Coordinator.WantedSnapshot) {
        state.withLock { $0.wanted.append(wanted) }
        wake.signal()
    }

    func discard(_ snapshot: Snapshot) {
        state.withLock { $0.unwanted.append(snapshot) }
        wake.signal()
    }

    /// On a thread of its own, until `end`.
    func run(_ take: (Coordinator.WantedSnapshot) -> Void) {
        while true {
            var (next, unwanted, isOver) = state.withLock { state in
                defer { state.unwanted = [] }
                return (state.next(), state.unwanted, state.isOver)
            }
            let isIdle = next == nil && unwanted.isEmpty
            for snapshot in unwanted { snapshot.end() }
            unwanted = []
            if isOver { return }
            if let next { take(next) }
            if isIdle { wake.wait() }
        }
    }

    func end() {
        state.withLock { $0.isOver = true }
        wake.signal()
    }
}
