internal import Foundation

/// Text without case and accents, so that `Resume` finds `Résumé.pdf`.
public enum Folding {
    /// The bytes folded: lower case, without what is combined with a letter. In what is no UTF-8 that is so of ASCII alone. O(length); ASCII, as most
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
        guard let text = String(validating: Array(bytes), as: UTF8.self) else { return }
        folded.removeLast(folded.count &- start)
        let decomposed = String(bounded(text.lowercased().unicodeScalars)).decomposedStringWithCompatibilityMapping
        var plain = String.UnicodeScalarView()
        plain.append(contentsOf: decomposed.unicodeScalars.lazy.filter { !isAccent($0) })
        // What is left of other scripts is composed as it is typed: Hangul, Kana.
        folded.append(contentsOf: String(plain).precomposedStringWithCanonicalMapping.utf8)
    }

    /// Without accents, which are dropped anyway, and of other marks the first few on each letter: normalizing sorts them, in the square of
    /// their number.
    private static func bounded(_ scalars: String.UnicodeScalarView) -> String.UnicodeScalarView {
        var (kept, marks) = (String.UnicodeScalarView(), 0)
        for scalar in scalars where !isAccent(scalar) {
            marks = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : marks &+ 1
            if marks <= mostMarks { kept.append(scalar) }
        }
        return kept
    }

    private static let mostMarks = 8

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
