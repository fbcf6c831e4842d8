public import StorePrimitives

/// The items of presenters that opens ask, looked up while the presenters change: see `ClaimedItems`. Thread-safe.
public final class PresentedItems: Sendable {
    /// Leaf.
    private let index = Locked(PresenterIndex())

    init() {}

    var isEmpty: Bool { index.withLock { $0.isEmpty } }

    /// Whether opens of an item have anybody to ask. O(length of the path) for each user who presents something.
    public func contains(_ path: StorePath) -> Bool { index.withLock { $0.shows(path) } }

    /// As `PresenterIndex.nearest`.
    func nearest(_ path: StorePath, mostOfUser most: Int) -> [PresenterID] {
        index.withLock { $0.nearest(path, mostOfUser: most) }
    }

    func insert(_ id: PresenterID, _ presenter: Presenter) { index.withLock { $0.insert(id, presenter) } }

    func remove(_ id: PresenterID, _ presenter: Presenter) { index.withLock { $0.remove(id, presenter) } }
}
