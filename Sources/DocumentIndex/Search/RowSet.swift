/// A set of rows of a segment: a bit for each. Operations of two sets are O(rows / 64), and both have as many rows.
struct RowSet {
    private var words: Column<UInt64>
    let count: Int

    /// - Parameter count: how many rows there are.
    init(count: Int, all: Bool = false) {
        self.count = max(count, 0)
        words = Column(repeating: all ? .max : 0, count: (self.count &+ 63) / 64, missing: 0)
        if all, self.count % 64 != 0 { words[self.count >> 6] = Self.bit(self.count) &- 1 }
    }

    private static func bit(_ row: Int) -> UInt64 { 1 << (UInt64(truncatingIfNeeded: row) & 63) }

    /// No error, and nothing done, for a row that is not there.
    mutating func insert(_ row: Int) { if row < count { words[row >> 6] |= Self.bit(row) } }
    mutating func remove(_ row: Int) { words[row >> 6] &= ~Self.bit(row) }

    func contains(_ row: Int) -> Bool { words[row >> 6] & Self.bit(row) != 0 }

    var isEmpty: Bool { words.rows.allSatisfy { words[$0] == 0 } }
    /// How many rows are in it.
    var size: Int { words.rows.reduce(0) { $0 &+ words[$1].nonzeroBitCount } }

    mutating func formIntersection(_ other: RowSet) { combine(other) { $0 & $1 } }
    mutating func formUnion(_ other: RowSet) { combine(other) { $0 | $1 } }
    mutating func subtract(_ other: RowSet) { combine(other) { $0 & ~$1 } }

    private mutating func combine(_ other: RowSet, _ operation: (UInt64, UInt64) -> UInt64) {
        for index in words.rows { words[index] = operation(words[index], other.words[index]) }
    }

    /// Calls `body` with each row, in order.
    func forEach<Failure>(_ body: (Int) throws(Failure) -> Void) throws(Failure) {
        for index in words.rows {
            var rest = words[index]
            while rest != 0 {
                try body(index &* 64 &+ rest.trailingZeroBitCount)
                rest &= rest &- 1
            }
        }
    }

    /// The rows for which `isKept` says so.
    func filter<Failure>(_ isKept: (Int) throws(Failure) -> Bool) throws(Failure) -> RowSet {
        var kept = RowSet(count: count)
        try forEach { (row) throws(Failure) in if try isKept(row) { kept.insert(row) } }
        return kept
    }
}
