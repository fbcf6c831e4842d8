import StorePrimitives

/// Elements registered for items of the store, some of them for folders with all that is in them.
struct CoveringIndex<Element: Hashable & Sendable>: Sendable {
    private(set) var items = ItemIndex<Element>()
    /// Those elements that cover the contents of their folder.
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

    /// Whether an element is registered for an item, or for a folder that holds it with its contents. O(length of the path).
    func covers(_ path: StorePath) -> Bool { !items.isEmpty && (!items[path].isEmpty || !folders.placesAbove(path).isEmpty) }

    /// The elements of an item, and of the folders that hold it with their contents, a set for each of these, the nearest first.
    /// O(length of the path).
    func covering(_ path: StorePath) -> [Set<Element>] {
        guard !items.isEmpty else { return [] }
        let here = items[path]
        return (here.isEmpty ? [] : [here]) + folders.above(path).reversed()
    }
}
