import StorePrimitives
import Testing

struct ListDifferenceTests {
    private func apply(_ difference: ListDifference, to old: [Int], for new: [Int]) -> [Int] {
        var list = old
        for place in (difference.removed + difference.moved.map(\.from)).sorted().reversed() { list.remove(at: place) }
        let added = difference.inserted.map { ($0, new[$0]) } + difference.moved.map { ($0.to, old[$0.from]) }
        for (place, element) in added.sorted(by: { $0.0 < $1.0 }) { list.insert(element, at: place) }
        return list
    }

    /// How many elements of one list can stay in their order, by trying all.
    private func mostStaying(_ old: [Int], _ new: [Int]) -> Int {
        let both = old.filter(new.contains)
        var most = 0
        for mask in 0..<(1 << both.count) {
            let chosen: [Int] = both.indices.filter { mask >> $0 & 1 == 1 }.map { both[$0] }
            if new.filter(chosen.contains) == chosen { most = max(most, chosen.count) }
        }
        return most
    }

    @Test func itLeadsFromOneListToTheOtherWithTheFewestMoves() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let old = Array((0..<8).shuffled(using: &random).prefix(Int.random(in: 0...8)))
            let new = Array((0..<8).shuffled(using: &random).prefix(Int.random(in: 0...8)))
            let difference = ListDifference(from: old, to: new)
            #expect(apply(difference, to: old, for: new) == new, "\(old) \(new)")
            let both = old.filter(new.contains).count
            #expect(difference.moved.count == both - mostStaying(old, new), "\(old) \(new)")
            #expect(difference.removed.count == old.count - both && difference.inserted.count == new.count - both)
            #expect(difference.isEmpty == (old == new))
        }
    }

    @Test func longListsTakeNoSquareOfTheirLength() {
        let old = Array(0..<200_000)
        let difference = ListDifference(from: old, to: old.reversed())
        #expect(difference.moved.count == 199_999)
        #expect(ListDifference(from: old, to: Array(old.dropFirst()) + [0]).moved == [.init(from: 0, to: 199_999)])
    }

    /// As a damaged list may have.
    @Test func anElementTwiceTrapsNothing() {
        _ = ListDifference(from: [1, 1, 2], to: [2, 2, 1, 1])
    }
}
