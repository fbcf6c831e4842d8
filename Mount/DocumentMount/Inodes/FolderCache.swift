import StorePrimitives
import Synchronization

/// Keeps the O_PATH descriptors of the folders used last, so that a request needs no walk from the root. Bounded: the oldest
/// that was not used since its last turn goes (second chance).
final class FolderCache: Sendable {
    private let capacity: Int
    /// Rank 1b (see Mount/README.md): before any node's state.
    private let ring = Mutex<[Unmanaged<Node>]>([])

    init(capacity: Int) { self.capacity = capacity }

    /// `node` was just given its descriptor: makes room for it. Takes the ring, then one node's state at a time (rank 2),
    /// so the caller holds neither.
    func added(_ node: Node) {
        ring.withLock { ring in
            ring.append(.passRetained(node))
            while ring.count > capacity {
                let oldest = ring.removeFirst()
                let isUsed = oldest._withUnsafeGuaranteedRef { node in
                    node.state.withLock { state in
                        defer { state.folderUsed = false }
                        if !state.folderUsed { state.folder = nil }
                        return state.folderUsed
                    }
                }
                if isUsed { ring.append(oldest) } else { oldest.release() }
            }
        }
    }
}
