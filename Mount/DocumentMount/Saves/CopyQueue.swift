import StorePrimitives

/// Long copies, one after another, on a thread that serves nobody: versions that are kept, and saves that go into the document's own
/// inode when they have become streams.
///
/// What is queued is done before `stop` returns.
final class CopyQueue: @unchecked Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var isOver = false
    }
    /// Leaf.
    private let state = Guarded(State())
    private let wake = Signal()
    /// Set by `start`, once.
    private var thread: NamedThread?
    /// Each job holds a descriptor or two, and a version's room on disk.
    private static let capacity = 64

    func start(prepare: @escaping @Sendable () -> Void) {
        thread = NamedThread("quire-copies") { [self] in
            prepare()
            while true {
                let (job, isOver) = state.withLock { state in
                    (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isOver)
                }
                if let job {
                    job()
                } else if isOver {
                    return
                } else {
                    wake.wait()
                }
            }
        }
    }

    /// False if there are too many, or the mount ends: then whoever asks does it.
    func add(_ job: @escaping @Sendable () -> Void) -> Bool {
        let isAdded = state.withLock { state in
            guard !state.isOver, state.jobs.count < Self.capacity else { return false }
            state.jobs.append(job)
            return true
        }
        if isAdded { wake.signal() }
        return isAdded
    }

    func stop() {
        state.withLock { $0.isOver = true }
        wake.signal()
        thread?.join()
    }
}
