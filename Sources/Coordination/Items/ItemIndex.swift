import StorePrimitives

/// What is registered for items of the store, found by path: at an item, above it and inside it. An element is registered once
/// for a path, however often it names it.
///
/// A lookup above an item is one pass over its path with a lookup of each folder on the way, whatever else is in here; a lookup
/// inside a folder costs what is found there.
struct ItemIndex<Element: Hashable & Sendable>: Sendable {
    struct Place: Sendable {
        let path: StorePath
        fileprivate(set) var elements: Set<Element>
    }

    /// By the hash of the path; several only where hashes meet.
    private var places: [UInt64: [Place]] = [:]
    private var paths = SortedPaths()

    var isEmpty: Bool { places.isEmpty }

    subscript(path: StorePath) -> Set<Element> {
        guard !places.isEmpty else { return [] }
        var hash = PathHash()
        for byte in path.bytes { hash.add(byte) }
        return place(hash, path, length: path.bytes.count)?.elements ?? []
    }

    /// What is registered for the folders that hold the item, a set for each of these, the root's first.
    func above(_ path: StorePath) -> [Set<Element>] { placesAbove(path).map(\.elements) }

    func placesAbove(_ path: StorePath) -> [Place] {
        guard !places.isEmpty, !path.isRoot else { return [] }
        var found: [Place] = []
        var hash = PathHash()
        if let here = place(hash, path, length: 0) { found.append(here) }
        for (index, byte) in path.bytes.enumerated() {
            if byte == UInt8(ascii: "/"), let here = place(hash, path, length: index) { found.append(here) }
            hash.add(byte)
        }
        return found
    }

    /// The paths in the folder, at any depth, that something is registered for, so many at most. O(these).
    func paths(inside folder: StorePath, limit: Int = .max) -> [StorePath] {
        places.isEmpty ? [] : paths.inside(folder, limit: limit)
    }

    /// What is registered for items in the folder, at any depth, a set for each of these, of so many at most.
    func inside(_ folder: StorePath, limit: Int = .max) -> [Set<Element>] { paths(inside: folder, limit: limit).map { self[$0] } }

    mutating func insert(_ element: Element, at path: StorePath) {
        if Self.insert(element, at: path, into: &places[PathHash(of: path).value, default: []]) { paths.insert(path) }
    }

    /// Returns whether nothing had been registered for the path.
    private static func insert(_ element: Element, at path: StorePath, into here: inout [Place]) -> Bool {
        if let index = here.firstIndex(where: { $0.path == path }) {
            here[index].elements.insert(element)
            return false
        }
        here.append(Place(path: path, elements: [element]))
        return true
    }

    mutating func remove(_ element: Element, at path: StorePath) {
        guard !places.isEmpty else { return }
        let hash = PathHash(of: path).value
        // Taken out, most often for good.
        guard var here = places.removeValue(forKey: hash) else { return }
        if let index = here.firstIndex(where: { $0.path == path }) {
            var place = here.remove(at: index)
            place.elements.remove(element)
            if place.elements.isEmpty { paths.remove(path) } else { here.append(place) }
        }
        if !here.isEmpty { places[hash] = here }
    }

    /// What is registered for the first `length` bytes of a path, whose hash is known.
    private func place(_ hash: PathHash, _ path: StorePath, length: Int) -> Place? {
        places[hash.value]?.first { $0.path.bytes.count == length && path.bytes.starts(with: $0.path.bytes) }
    }
}

/// The hash of a path, byte by byte, so that those of all folders on the way come out of one pass. Where two meet, the paths are
/// compared.
private struct PathHash {
    private(set) var value: UInt64 = PathHash.seed
    /// Nobody can prepare paths whose hashes meet.
    private static let seed = UInt64.random(in: .min ... .max)

    init() {}

    init(of path: StorePath) {
        for byte in path.bytes { add(byte) }
    }

    mutating func add(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15
        value ^= value >> 29
    }
}
