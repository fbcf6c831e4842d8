import CLinux
import Glibc
public import StorePrimitives
import Synchronization

/// Hidden names that could not be removed, since their folders take no changes now: an ordinary user's daemon is held back by a folder's
/// mode as its user is. They are removed when the folder may have become writable. Thread-safe.
public final class LeftNames: Sendable {
    /// Leaf.
    private let places = Guarded<[HiddenPlace]>([])
    private let areSome = Atomic<Bool>(false)
    /// Each holds its folder open. What is not noted is for the next daemon's sweep.
    private static let most = 1_000

    init() {}

    /// Removes a hidden name, now or later.
    func remove(_ place: HiddenPlace) {
        guard Self.unlinked(place) != 0 else { return }
        places.withLock { places in
            if places.count < Self.most { places.append(place) }
        }
        areSome.store(true, ordering: .relaxed)
    }

    /// Tries again: a folder's mode or owner has changed, or the mount is ending. One atomic look if none was left.
    public func removeAgain() {
        guard areSome.exchange(false, ordering: .relaxed) else { return }
        let left = places.withLock { places in
            defer { places = [] }
            return places
        }
        for place in left { remove(place) }
    }

    /// 0 also if it is gone, or its folder is.
    private static func unlinked(_ place: HiddenPlace) -> Int32 {
        let result = place.name.withCString { cl_unlinkat(place.folder.number, $0, 0) }
        return result == -ENOENT ? 0 : result
    }
}
