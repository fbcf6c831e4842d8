import CLinux
import DocumentStore
import Glibc
import Logging
import StorePrimitives
import Synchronization

/// A watcher, and what it told and when.
final class ChangeRecorder: Sendable {
    private struct Told {
        var changes: [(change: OutsideChange, at: Int64)] = []
    }
    private let told: Box
    let watcher: StoreWatcher

    private final class Box: Sendable {
        let state = Mutex(Told())
    }

    init(
        _ root: Descriptor, _ method: StoreWatcher.Method, adjust: (inout StoreWatcher.Options) -> Void = { _ in }
    ) throws {
        let box = Box()
        told = box
        var options = StoreWatcher.Options()
        options.method = method
        adjust(&options)
        watcher = try StoreWatcher(root: root, log: Logger(label: "test"), options: options) { changes in
            let now = cl_monotonic_ns()
            box.state.withLock { $0.changes.append(contentsOf: changes.map { ($0, now) }) }
        }
    }

    var changes: [OutsideChange] { told.state.withLock { $0.changes.map(\.change) } }

    func forget() { told.state.withLock { $0.changes = [] } }

    /// Waits for a change that fits; nil after the time is over. The default is far over what is promised, for a machine
    /// under load.
    func first(
        within milliseconds: Int64 = 60_000, _ fits: (OutsideChange) -> Bool
    ) -> OutsideChange? { entry(within: milliseconds, fits)?.change }

    private func entry(
        within milliseconds: Int64, _ fits: (OutsideChange) -> Bool
    ) -> (change: OutsideChange, at: Int64)? {
        let deadline = cl_monotonic_ns() + milliseconds * 1_000_000
        repeat {
            if let found = told.state.withLock({ $0.changes.first { fits($0.change) } }) { return found }
            usleep(1_000)
        } while cl_monotonic_ns() < deadline
        return nil
    }

    /// Milliseconds from the end of `action` until a fitting change was told; nil if it was not, within 2 s.
    func delay(of action: () throws -> Void, until fits: (OutsideChange) -> Bool) rethrows -> Int64? {
        forget()
        try action()
        let done = cl_monotonic_ns()
        return entry(within: 2_000, fits).map { max(0, ($0.at - done) / 1_000_000) }
    }
}

extension OutsideChange {
    func tells(_ kind: Kind, _ path: String) -> Bool { self.kind == kind && self.path == StorePath(path) }

    var target: StorePath? {
        if case .moved(let place) = kind { place.path } else { nil }
    }
}
