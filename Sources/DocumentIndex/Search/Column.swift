/// One value for each row of a segment. A row that is not there has the value `missing`: what is damaged ends no process.
struct Column<Value: Sendable>: Sendable {
    private var values: [Value] = []
    private let missing: Value

    init(missing: Value) { self.missing = missing }

    /// - Parameter count: how many rows there are; none if it is negative.
    init(repeating value: Value, count: Int, missing: Value) {
        values = Array(repeating: value, count: max(count, 0))
        self.missing = missing
    }

    var count: Int { values.count }
    var rows: Range<Int> { values.indices }

    mutating func append(_ value: Value) { values.append(value) }

    subscript(row: Int) -> Value {
        get { row >= 0 && row < values.count ? values[row] : missing }
        set { if row >= 0, row < values.count { values[row] = newValue } }
    }

    /// The first row, from `start` on, whose value does not meet a condition that those before it meet. O(log n); for a row that is close to
    /// `start` O(log distance).
    func partitioned(from start: Int = 0, where isBefore: (Value) -> Bool) -> Int {
        var low = max(start, 0)
        var step = 1
        // Doubling steps: what is sought in order is close to the last place.
        while low &+ step <= count, isBefore(self[low &+ step &- 1]) {
            low &+= step
            step &*= 2
        }
        var high = min(low &+ step &- 1, count)
        while low < high {
            let middle = low &+ (high &- low) / 2
            if isBefore(self[middle]) { low = middle &+ 1 } else { high = middle }
        }
        return low
    }
}
