/// What leads from one list of distinct elements to another: an element is in a list once at most.
///
/// To apply it: take out what is at `removed` and at the places that `moved` elements come from, which are places of the old list, from the
/// last one on; then put in what is at `inserted`, and the moved elements, at their places in the new list, from the first one on.
public struct ListDifference: Hashable, Sendable {
    public struct Move: Hashable, Sendable, Codable {
        public let from, to: Int

        public init(from: Int, to: Int) { (self.from, self.to) = (from, to) }
    }

    /// Places in the old list, rising.
    public private(set) var removed: [Int] = []
    /// Places in the new list, rising.
    public private(set) var inserted: [Int] = []
    /// By the places in the new list, rising. As few as lead from one order to the other.
    public private(set) var moved: [Move] = []

    public var isEmpty: Bool { removed.isEmpty && inserted.isEmpty && moved.isEmpty }

    /// O(n log n). An element that is in a list more than once is taken to be where it is last.
    public init<Element: Hashable>(from old: some Collection<Element>, to new: some Collection<Element>) {
        var places = [Element: Int](minimumCapacity: old.count)
        for (place, element) in old.enumerated() { places[element] = place }
        var kept: [(old: Int, new: Int)] = []
        for (place, element) in new.enumerated() {
            if let before = places.removeValue(forKey: element) { kept.append((before, place)) } else { inserted.append(place) }
        }
        removed = places.values.sorted()
        let staying = Self.longestRise(kept.map(\.old))
        moved = zip(kept, staying).compactMap { pair, stays in stays ? nil : Move(from: pair.old, to: pair.new) }
    }

    /// Which of the distinct numbers belong to a longest subsequence that rises.
    private static func longestRise(_ numbers: [Int]) -> [Bool] {
        // By length, less one: where the subsequence of this length ends that ends lowest.
        var ends: [Int] = []
        var before = [Int?](repeating: nil, count: numbers.count)
        for (place, number) in numbers.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
            }
            before[place] = low > 0 ? ends[low - 1] : nil
            if low < ends.count { ends[low] = place } else { ends.append(place) }
        }
        var belongs = [Bool](repeating: false, count: numbers.count)
        var at = ends.last
        while let place = at {
            belongs[place] = true
            at = before[place]
        }
        return belongs
    }
}
