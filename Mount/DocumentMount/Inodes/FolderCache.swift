import StorePrimitives

/// Keeps the O_PATH descriptors of the folders used last, so that a request needs no walk from the root. Bounded: the oldest
/// that was not used since its last turn goes (second chance). What the kernel has forgotten is let go at once.
final class FolderCache: Sendable {
    private struct Ring {
        var places: [Unmanaged<Node>?] = []
        var free: [Int] = []
        /// The place to be looked at next when room is needed.
        var hand = 0
    }

    private let capacity: Int
    /// Rank 1f (see Mount/README.md): before any node's state. Guards `Node.cachePlace` and `Node.isForgotten`.
    private let ring = Locked(Ring())

    init(capacity: Int) { self.capacity = capacity }

    /// `node` was just given its descriptor: makes room for it. Takes the ring, then one node's state at a time (rank 2),
    /// so the caller holds neither.
    func added(_ node: Node) {
        ring.withLock { ring in
            // The daemon may look at a folder that the kernel has forgotten; nobody would tell that it is gone.
            if node.isForgotten { return node.state.withLock { $0.folder = nil } }
            guard node.cachePlace == nil else { return }
            let place = ring.free.popLast() ?? (ring.places.count < capacity ? ring.places.count : vacated(&ring))
            if place == ring.places.count { ring.places.append(nil) }
            ring.places[place] = .passRetained(node)
            node.cachePlace = UInt32(clamping: place)
        }
    }

    /// The kernel has forgotten the folder. Takes the same locks.
    func forgotten(_ node: Node) {
        let held = ring.withLock { ring -> Unmanaged<Node>? in
            node.isForgotten = true
            node.state.withLock { $0.folder = nil }
            guard let place = node.cachePlace.map({ Int($0) }) else { return nil }
            node.cachePlace = nil
            ring.free.append(place)
            defer { ring.places[place] = nil }
            return ring.places[place]
        }
        held?.release()
    }

    /// Takes the place of a folder that was not used since its last turn.
    private func vacated(_ ring: inout Ring) -> Int {
        while true {
            let place = ring.hand
            ring.hand = (place + 1) % ring.places.count
            guard let oldest = ring.places[place] else { return place }
            let isUsed = oldest._withUnsafeGuaranteedRef { node in
                node.state.withLock { state in
                    defer { state.folderUsed = false }
                    if !state.folderUsed { state.folder = nil }
                    return state.folderUsed
                }
            }
            if isUsed { continue }
            oldest._withUnsafeGuaranteedRef { $0.cachePlace = nil }
            oldest.release()
            ring.places[place] = nil
            return place
        }
    }
}
