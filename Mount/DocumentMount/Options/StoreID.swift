/// Names a store in the state and runtime folders: the same for the same canonical path, always.
public struct StoreID: Hashable, Sendable, CustomStringConvertible {
    /// 16 hexadecimal digits.
    public let description: String

    /// A hash of the path's bytes: a user's stores are few, and their paths are not an attacker's choice.
    public init(canonicalPath: some Sequence<UInt8>) {
        let digits = String(canonicalPath.fnv1a(), radix: 16)
        description = String(repeating: "0", count: 16 - digits.count) + digits
    }
}
