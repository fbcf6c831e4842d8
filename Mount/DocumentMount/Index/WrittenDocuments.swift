import StorePrimitives

/// The documents that changed last, so that of a list made a moment ago only those are looked at again.
final class WrittenDocuments: Sendable {
    private struct State {
        var written: [(path: StorePath, generation: UInt64)] = []
        /// All that was written after this generation is there.
        var floor: UInt64 = 0
    }
    private let state = Locked(State())
    private static let capacity = 256

    /// Notes documents as changed in a generation that is to come.
    func note(_ paths: [StorePath], in generation: UInt64) {
        guard !paths.isEmpty else { return }
        state.withLock { state in
            state.written += paths.suffix(Self.capacity).map { ($0, generation) }
            if paths.count > Self.capacity { state.floor = generation }
            let surplus = state.written.count - Self.capacity
            guard surplus > 0 else { return }
            state.floor = max(state.floor, state.written[surplus - 1].generation)
            state.written.removeFirst(surplus)
        }
    }

    /// Whether the document may have changed after a generation.
    func mayHave(_ path: StorePath, after generation: UInt64) -> Bool {
        state.withLock { state in
            generation < state.floor || state.written.contains { $0.generation > generation && $0.path == path }
        }
    }
}
