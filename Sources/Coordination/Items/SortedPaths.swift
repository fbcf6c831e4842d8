import StorePrimitives

/// Distinct paths in the order of their bytes: what is inside a folder stands together.
///
/// Finding a place is a binary search, and inserting moves at most a block of paths.
struct SortedPaths: Sendable {
    /// None is empty.
    private var blocks: [[StorePath]] = []
    private static let mostInBlock = 512

    mutating func insert(_ path: StorePath) {
        guard !blocks.isEmpty else { return blocks.append([path]) }
        let block = block(of: path)
        let index = Self.place(of: path, in: blocks[block])
        blocks[block].insert(path, at: index)
        guard blocks[block].count > Self.mostInBlock else { return }
        let half = blocks[block].count / 2
        let upper = Array(blocks[block][half...])
        blocks[block].removeSubrange(half...)
        blocks.insert(upper, at: block + 1)
    }

    mutating func remove(_ path: StorePath) {
        guard !blocks.isEmpty else { return }
        let block = block(of: path)
        let index = Self.place(of: path, in: blocks[block])
        guard index < blocks[block].count, blocks[block][index] == path else { return }
        blocks[block].remove(at: index)
        if blocks[block].isEmpty { blocks.remove(at: block) }
    }

    /// Those in the folder, at any depth, so many at most.
    func inside(_ folder: StorePath, limit: Int = .max) -> [StorePath] {
        guard !blocks.isEmpty, limit > 0 else { return [] }
        // The least that may be inside.
        let first = folder.isRoot ? folder : StorePath(unchecked: folder.bytes + [UInt8(ascii: "/")])
        var block = block(of: first)
        var index = Self.place(of: first, in: blocks[block])
        var found: [StorePath] = []
        while block < blocks.count {
            while index < blocks[block].count {
                let path = blocks[block][index]
                if path.isInside(folder) { found.append(path) } else if !path.isRoot { return found }
                if found.count == limit { return found }
                index += 1
            }
            (block, index) = (block + 1, 0)
        }
        return found
    }

    /// The block that has a path, or is to have it: the last that does not begin after it.
    private func block(of path: StorePath) -> Int {
        let after = Self.partition(blocks.count) { Self.precedes(path, blocks[$0][0]) }
        return max(0, after - 1)
    }

    private static func place(of path: StorePath, in block: [StorePath]) -> Int {
        partition(block.count) { !precedes(block[$0], path) }
    }

    /// The first number for which `isBehind` holds; it holds for all after it.
    private static func partition(_ count: Int, _ isBehind: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            if isBehind(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private static func precedes(_ one: StorePath, _ other: StorePath) -> Bool {
        one.bytes.lexicographicallyPrecedes(other.bytes)
    }
}
