import StorePrimitives

/// Folders in which versions took documents' names. The kernel, which did not do that, keeps the times and the listings that it has of
/// them until it is told.
final class ChangedFolders: Sendable {
    private struct State {
        var waiting: [ObjectIdentifier: Node] = [:]
        /// The kernel is being told of them.
        var told: [ObjectIdentifier: Node] = [:]
    }
    /// Leaf.
    private let state = Locked(State())

    func add(_ folder: Node) { state.withLock { $0.waiting[ObjectIdentifier(folder)] = folder } }

    /// Whether the kernel may not have been told of the folder's last change.
    func contains(_ folder: Node) -> Bool {
        let id = ObjectIdentifier(folder)
        return state.withLock { $0.waiting[id] != nil || $0.told[id] != nil }
    }

    /// Calls `tell` for each folder that waits. On one thread at a time.
    func tellOfAll(_ tell: (Node) -> Void) {
        let told = state.withLock { state in
            (state.told, state.waiting) = (state.waiting, [:])
            return state.told
        }
        guard !told.isEmpty else { return }
        for folder in told.values { tell(folder) }
        // Without the lock for what is let go of.
        withExtendedLifetime(told) { state.withLock { $0.told = [:] } }
    }
}
