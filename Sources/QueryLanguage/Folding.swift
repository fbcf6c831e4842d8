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
        var plain = String.UnicodeScalarView()
        plain.append(contentsOf: text.lowercased().decomposedStringWithCompatibilityMapping.unicodeScalars.filter { !isAccent($0) })
        // What is left of other scripts is composed as it is typed: Hangul, Kana.
        folded.append(contentsOf: String(plain).precomposedStringWithCanonicalMapping.utf8)
    }

    /// Accents of Latin, Greek and Cyrillic letters, and the points of Hebrew and Arabic, which most texts leave out. Other scripts' marks
    /// are vowels and voices.
    private static func isAccent(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x300...0x36F, 0x483...0x487, 0x591...0x5C7, 0x64B...0x65F, 0x670, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF,
            0xFE20...0xFE2F:
            scalar.properties.generalCategory == .nonspacingMark
        default: false
        }
    }
}
