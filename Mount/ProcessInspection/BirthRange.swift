/// The numbers of the processes started between two moments. They rise by one for each process and thread, and begin anew at
/// the limit.
public enum BirthRange {
    /// Numbers that are taken into account after the first round: below are the kernel's own, given at its start.
    private static let reserved: Int32 = 300

    /// - Parameters:
    ///   - last: the number given last before.
    ///   - now: the number given last now.
    ///   - limit: numbers stay below it.
    public static func numbers(after last: Int32, through now: Int32, below limit: Int32) -> [ClosedRange<Int32>] {
        if now == last { return [] }
        if now > last { return [last + 1...now] }
        let first = now >= reserved ? reserved : 1
        return last < limit - 1 ? [last + 1...limit - 1, first...now] : [first...now]
    }

    /// Whether the numbers may have gone all the way round since, so that they tell nothing.
    /// - Parameter ticksPerSecond: of the clock that `age` is measured by.
    public static func mayHaveLapped(age: UInt64, ticksPerSecond: UInt64, below limit: Int32) -> Bool {
        age / ticksPerSecond >= UInt64(clamping: limit) / maximumRate
    }

    /// Processes and threads a second: more than a machine starts for long.
    private static let maximumRate: UInt64 = 10_000
}
