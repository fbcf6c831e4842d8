import StorePrimitives

/// An open for writing that was let through a guarded gate. Later ones are greater.
struct OpenPass: Hashable, Comparable, Sendable {
    let rawValue: UInt64
    init(_ rawValue: UInt64) { self.rawValue = rawValue }
    static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// The opens that were let through while claims keep others out, until they are done. Thread-safe.
///
/// An open takes its pass before it checks whether its item is claimed, and a claim is entered before it looks at the passes: one
/// of them sees the other.
final class OpenPasses: Sendable {
    private struct State {
        var passing: Set<OpenPass> = []
        var last = OpenPass(0)
    }

    /// Leaf.
    private let state = Locked(State())

    func issue() -> OpenPass {
        state.withLock { state in
            state.last = OpenPass(state.last.rawValue + 1)
            state.passing.insert(state.last)
            return state.last
        }
    }

    func end(_ pass: OpenPass) { state.withLock { _ = $0.passing.remove(pass) } }

    /// The last that was issued.
    var last: OpenPass { state.withLock { $0.last } }

    /// Those that are not done.
    var passing: Set<OpenPass> { state.withLock { $0.passing } }
}
