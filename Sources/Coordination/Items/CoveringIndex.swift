import StorePrimitives

/// What is registered for items of the store, some of it for folders with all that is in them.
struct CoveringIndex<Element: Hashable & Sendable>: Sendable {
    private(set) var items = ItemIndex<Element>()
    /// Of these, what covers what is in its folder.
    private(set) var folders = ItemIndex<Element>()

    var isEmpty: Bool { items.isEmpty }

    mutating func insert(_ element: Element, at path: StorePath, coversContents: Bool) {
        items.insert(element, at: path)
        if coversContents { folders.insert(element, at: path) }
    }

    mutating func remove(_ element: Element, at path: StorePath) {
        items.remove(element, at: path)
        folders.remove(element, at: path)
    }

    /// Sets that have what is registered for an item, and for the folders that hold it with what is in them, the nearest first.
    /// O(length of the path).
    func covering(_ path: StorePath) -> [Set<Element>] {
        guard !items.isEmpty else { return [] }
        let here = items[path]
        return (here.isEmpty ? [] : [here]) + folders.above(path).reversed()
    }
}
