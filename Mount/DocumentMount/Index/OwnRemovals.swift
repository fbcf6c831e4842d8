import Glibc
import StorePrimitives
import Synchronization

/// Names that the mount's own operations take away, so that inotify's word of them is not taken for a change from outside:
/// that would have the kernel drop what it knows of the folder. Every other own change is known by what the name stands for
/// (`OutsideChangeHandler`); of a name that is gone there is nothing to compare.
///
/// What is expected comes within a second, or is not waited for: a folder's watch may have been set after the removal.
final class OwnRemovals: Sendable {
    private struct Key: Hashable {
        let folder: FileIdentity
        let name: Int
    }

    private struct Expectation {
        var count: Int
        var since: Int64
    }

    private let expected = Locked<[Key: Expectation]>([:])
    /// Fanotify does not tell of the daemon's own changes.
    private let isNeeded = Atomic<Bool>(false)
    /// Beyond this the watcher is long behind, and what it tells is taken for changes from outside.
    private static let capacity = 100_000
    private static let lifetime: Int64 = 1_000_000_000

    func begin() { isNeeded.store(true, ordering: .relaxed) }

    /// A name is about to go. Before the system call: the watcher may hear of it at once.
    func expect(_ name: UnsafePointer<CChar>, in folder: Node) {
        guard isNeeded.load(ordering: .relaxed) else { return }
        let key = Key(folder: folder.identity, name: Self.hash(UnsafeRawBufferPointer(start: name, count: strlen(name))))
        expected.withLock { expected in
            if expected.count >= Self.capacity { expected = [:] }
            expected[key] = Expectation(count: (expected[key]?.count ?? 0) + 1, since: Clock.now)
        }
    }

    /// The watcher tells that a name is gone, or it did not go after all: whether that was expected.
    @discardableResult
    func take(_ name: EntryName, in folder: FileIdentity) -> Bool {
        guard isNeeded.load(ordering: .relaxed) else { return false }
        let key = Self.key(name, folder)
        return expected.withLock { expected in
            guard var found = expected.removeValue(forKey: key) else { return false }
            guard Clock.now - found.since < Self.lifetime else { return false }
            found.count -= 1
            if found.count > 0 { expected[key] = found }
            return true
        }
    }

    /// Whether that is expected.
    func isExpected(_ name: EntryName, in folder: FileIdentity) -> Bool {
        guard isNeeded.load(ordering: .relaxed) else { return false }
        let key = Self.key(name, folder)
        return expected.withLock { expected in expected[key].map { Clock.now - $0.since < Self.lifetime } ?? false }
    }

    /// Events were lost.
    func forgetAll() { expected.withLock { $0 = [:] } }

    private static func key(_ name: EntryName, _ folder: FileIdentity) -> Key {
        Key(folder: folder, name: name.bytes.withUnsafeBytes(hash))
    }

    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return hasher.finalize()
    }
}
