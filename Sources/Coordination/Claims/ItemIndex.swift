import StorePrimitives

/// What is registered for items of the store, found by path: at an item, above it and inside it.
///
/// Most lookups are for paths that nothing is registered for: O(depth) for these, whatever else is in here.
struct ItemIndex<Element: Hashable & Sendable>: Sendable {
    private var elements: [StorePath: [Element]] = [:]

    var isEmpty: Bool { elements.isEmpty }

    subscript(path: StorePath) -> [Element] { elements[path] ?? [] }

    /// What is registered for the folders that hold the item, the root last.
    func above(_ path: StorePath) -> [Element] {
        var found: [Element] = []
        var folder = path
        while !folder.isRoot {
            folder = folder.parent
            if let here = elements[folder] { found += here }
        }
        return found
    }

    /// What is registered for items in the folder, at any depth. O(paths).
    func inside(_ folder: StorePath) -> [Element] {
        elements.filter { $0.key.isInside(folder) }.flatMap(\.value)
    }

    /// Registers an element once for each path that names it.
    mutating func insert(_ element: Element, at path: StorePath) { elements[path, default: []].append(element) }

    mutating func remove(_ element: Element, at path: StorePath) {
        guard var there = elements[path], let index = there.firstIndex(of: element) else { return }
        there.remove(at: index)
        elements[path] = there.isEmpty ? nil : there
    }
}
