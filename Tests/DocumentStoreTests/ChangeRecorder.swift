import CLinux
import DocumentStore
import Glibc
import Logging
import StorePrimitives
import Synchronization

/// A watcher, and what it told.
final class ChangeRecorder: Sendable {
    private struct Told {
        var changes: [OutsideChange] = []
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
        watcher = try StoreWatcher(SharedStore(root), log: Logger(label: "test"), options: options) { changes in
            box.state.withLock { $0.changes.append(contentsOf: changes) }
        }
    }

    var changes: [OutsideChange] { told.state.withLock { $0.changes } }

    func forget() { told.state.withLock { $0.changes = [] } }

    /// Waits for a change that fits; nil after the time is over. The default is far over what is promised, for a machine
    /// under load.
    func first(
        within milliseconds: Int64 = 60_000, _ fits: (OutsideChange) -> Bool
    ) -> OutsideChange? {
        let deadline = cl_monotonic_ns() + milliseconds * 1_000_000
        repeat {
            if let found = told.state.withLock({ $0.changes.first(where: fits) }) { return found }
            usleep(1_000)
        } while cl_monotonic_ns() < deadline
        return nil
    }
}

extension OutsideChange {
    func tells(_ kind: Kind, _ path: String) -> Bool { self.kind == kind && self.path == StorePath(path) }

    var target: StorePath? {
        if case .moved(let place) = kind { place.path } else { nil }
    }
}
