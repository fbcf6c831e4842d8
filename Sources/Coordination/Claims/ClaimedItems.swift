public import StorePrimitives

/// The items that claims name, looked up while the claims change.
///
/// Most opens are of documents that nobody claims. They look here, behind a lock that is held for one item at a time, and wait for none
/// of the changes of the table, which may be of a thousand items. Thread-safe.
public final class ClaimedItems: Sendable {
    private struct State {
        var all = ItemIndex<ClaimID>()
        /// Those of claims that have begun and keep others from writing content.
        var excluding = ClaimIndex()
        /// Where claims are being moved: an item may stand at either place.
        var moves: [(old: StorePath, new: StorePath)] = []
    }

    /// Leaf.
    private let state = Locked(State())

    init() {}

    /// Whether a claim that has begun keeps others from writing an item. O(length of the path).
    public func keepWritersOut(of path: StorePath) -> Bool {
        state.withLock { state in
            state.excluding.meets(path)
                || state.moves.contains { move in path.moved(from: move.new, to: move.old).map(state.excluding.meets) ?? false }
        }
    }

    /// Whether anything is claimed that goes along when an item is moved.
    public func areMoved(with path: StorePath) -> Bool {
        state.withLock { !$0.all[path].isEmpty || !$0.all.paths(inside: path, limit: 1).isEmpty }
    }

    /// Whether any claim keeps others from writing. O(1).
    var keepWritersOut: Bool { state.withLock { !$0.excluding.isEmpty } }

    /// The claims that keep others from writing an item. O(length of the path).
    func excluding(_ path: StorePath) -> [Set<ClaimID>] { state.withLock { $0.excluding.meeting(path) } }

    /// The claims that name an item.
    subscript(path: StorePath) -> Set<ClaimID> { state.withLock { $0.all[path] } }

    /// The claimed items in a folder, at any depth.
    func paths(inside folder: StorePath) -> [StorePath] { state.withLock { $0.all.paths(inside: folder) } }

    func insert(_ id: ClaimID, at path: StorePath) { state.withLock { $0.all.insert(id, at: path) } }

    /// Has a claim that has begun keep others out.
    func exclude(_ id: ClaimID, _ intent: ClaimIntent) { state.withLock { $0.excluding.insert(id, intent) } }

    func remove(_ id: ClaimID, at path: StorePath) {
        state.withLock { state in
            state.all.remove(id, at: path)
            state.excluding.remove(id, at: path)
        }
    }

    func beginMove(from old: StorePath, to new: StorePath) { state.withLock { $0.moves.append((old, new)) } }

    func endMove(from old: StorePath, to new: StorePath) {
        state.withLock { state in
            if let index = state.moves.firstIndex(where: { $0 == (old, new) }) { state.moves.remove(at: index) }
        }
    }
}
