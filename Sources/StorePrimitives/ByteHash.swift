/// FNV-1a, 64 bits (draft-eastlake-fnv): the same for the same bytes in every process and version. For names and comparisons; whoever
/// chooses the bytes can make two alike.
extension Sequence where Element == UInt8 {
    /// - Parameter start: the hash of what stands before.
    @inlinable
    public func fnv1a(from start: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
        reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
