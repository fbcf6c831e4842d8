import StorePrimitives

/// Presenters by the items that they show, those of folders with what is in them apart.
struct PresenterIndex: Sendable {
    private var items = ItemIndex<PresenterID>()
    private var folders = ItemIndex<PresenterID>()

    var isEmpty: Bool { items.isEmpty }

    mutating func insert(_ id: PresenterID, _ presenter: Presenter) {
        items.insert(id, at: presenter.path)
        if presenter.coversContents { folders.insert(id, at: presenter.path) }
    }

    mutating func remove(_ id: PresenterID, at path: StorePath) {
        items.remove(id, at: path)
        folders.remove(id, at: path)
    }

    func at(_ path: StorePath) -> Set<PresenterID> { items[path] }

    /// Those of an item, and of the folders that hold it with what is in them.
    func showing(_ path: StorePath) -> Set<PresenterID> { folders.above(path).reduce(items[path]) { $0.union($1) } }

    /// Those of what is in a folder.
    func inside(_ folder: StorePath) -> Set<PresenterID> { items.inside(folder).reduce(into: []) { $0.formUnion($1) } }
}
