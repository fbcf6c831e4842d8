import Glibc
public import StorePrimitives
import Synchronization

/// Hidden names that could not be removed, as their folders take no changes now: an ordinary user's daemon is held back by a folder's
/// mode as its user is, and everybody's by the attribute of a folder that takes new names only (chattr +a). They are removed when the
/// folder may have become writable. Thread-safe.
public final class LeftNames: Sendable {
    /// Leaf.
    private let places = Locked<[HiddenPlace]>([])
    private let areSome = Atomic<Bool>(false)
    /// Each holds its folder open. The next daemon's sweep takes the others.
    private static let most = 1_000

    init() {}

    /// Removes a hidden name, now or later. False if later.
    @discardableResult
    func remove(_ place: HiddenPlace) -> Bool {
        let result = WorkingCopy.unlink(place)
        // It may be gone with its folder.
        guard result != 0, result != -ENOENT else { return true }
        places.withLock { places in
            if places.count < Self.most { places.append(place) }
        }
        areSome.store(true, ordering: .relaxed)
        return false
    }

    /// Tries again: a folder's mode, owner or flags have changed, one is to be removed, or the mount is ending. One atomic load if
    /// none was left. True if some were removed now.
    @discardableResult
    public func removeAgain() -> Bool {
        guard areSome.exchange(false, ordering: .relaxed) else { return false }
        let left = places.withLock { places in
            defer { places = [] }
            return places
        }
        return !left.filter { remove($0) }.isEmpty
    }
}
