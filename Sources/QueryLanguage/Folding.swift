internal import Foundation

/// Text without case and accents, so that `Resume` finds `Résumé.pdf`.
public enum Folding {
    /// The bytes folded: lower case, without what is combined with a letter. What is no UTF-8 stays as it is. O(length); ASCII, as most
    /// names are, costs a nanosecond a byte.
    public static func fold(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var folded: [UInt8] = []
        fold(bytes, into: &folded)
        return folded
    }

    /// As `fold(_:)`, behind what is there.
    public static func fold(_ bytes: some Sequence<UInt8>, into folded: inout [UInt8]) {
        let start = folded.count
        var isASCII = true
        for byte in bytes {
            isASCII = isASCII && byte < 0x80
            folded.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
        }
        guard !isASCII else { return }
        let original = Array(bytes)
        folded.removeLast(folded.count &- start)
        guard let text = String(validating: original, as: UTF8.self) else { return folded.append(contentsOf: original) }
        for scalar in text.lowercased().decomposedStringWithCompatibilityMapping.unicodeScalars
        where scalar.properties.generalCategory != .nonspacingMark {
            folded.append(contentsOf: String(scalar).utf8)
        }
    }
}
