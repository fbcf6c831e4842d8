/// Names a store in the state and runtime folders: the same for the same canonical path, always.
public struct StoreID: Hashable, Sendable, CustomStringConvertible {
    /// 16 hexadecimal digits.
    public let description: String

    /// FNV-1a over the path's bytes, 64 bits: a user's stores are few, and their paths are not an attacker's choice.
    public init(canonicalPath: some Sequence<UInt8>) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in canonicalPath { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let digits = String(hash, radix: 16)
        description = String(repeating: "0", count: 16 - digits.count) + digits
    }
}
