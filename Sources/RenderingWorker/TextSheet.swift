import CVips
import Glibc

/// A sheet of paper with the beginning of a text on it.
enum TextSheet {
    /// More than fits on any sheet.
    private static let bytesRead = 32 << 10

    /// - Parameter isCode: lines are shown as they are, cut at the margin, in a font of one width.
    static func render(_ input: Int32, isCode: Bool, maximum: Int) throws(WorkRefusal) -> Picture {
        try render(try text(of: input, atMost: bytesRead), isCode: isCode, maximum: maximum)
    }

    /// The beginning of a text, without control characters.
    static func text(of input: Int32, atMost limit: Int) throws(WorkRefusal) -> String {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = bytes.withUnsafeMutableBytes { pread(input, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { throw WorkRefusal("it is empty") }
        return try text(bytes.prefix(count))
    }

    static func render(_ text: String, isCode: Bool, maximum: Int) throws(WorkRefusal) -> Picture {
        let (height, width) = (maximum, maximum * 77 / 100)
        let font = max(4, maximum / 64 + 3)
        let margin = max(3, maximum / 18)
        let lines = (height - 2 * margin) / (font * 5 / 4)
        // What is cut away need not be laid out.
        let columns = isCode ? width / max(1, font / 3) : width * lines / max(1, font / 4)
        let shown = text.split(separator: "\n", maxSplits: lines, omittingEmptySubsequences: false).prefix(lines)
            .map { $0.prefix(columns) }.joined(separator: "\n")
        let paper = try framed(width, height)
        guard shown.contains(where: { !$0.isWhitespace }) else { return paper }
        let inner = width - 2 * margin
        let coverage = try Picture.text(
            escaped(shown), font: "\(isCode ? "Monospace" : "Serif") \(font)", width: isCode ? inner * 4 : inner)
        let ink = try Picture.sheet(width, height, grey: 48)
        return try paper.inked(ink, where: coverage.cropped(inner, height - 2 * margin), x: margin, y: margin)
    }

    /// White, with a thin grey edge.
    private static func framed(_ width: Int, _ height: Int) throws(WorkRefusal) -> Picture {
        try Picture.sheet(width, height, grey: 190).inserting(Picture.sheet(width - 2, height - 2, grey: 255), x: 1, y: 1)
    }

    /// UTF-8, UTF-16 with its mark, else as in Western Europe: something is shown of any text.
    private static func text(_ bytes: ArraySlice<UInt8>) throws(WorkRefusal) -> String {
        let bytes = Array(bytes)
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
            let isLittle = bytes[0] == 0xff
            let units = stride(from: 2, to: bytes.count - 1, by: 2).map {
                UInt16(bytes[isLittle ? $0 + 1 : $0]) << 8 | UInt16(bytes[isLittle ? $0 : $0 + 1])
            }
            return plain(String(decoding: units, as: UTF16.self))
        }
        guard !bytes.contains(0) else { throw WorkRefusal("it is not text") }
        let start = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        // The last character may be cut.
        for cut in 0..<4 where bytes.count - cut > start {
            if let text = String(validating: bytes[start..<(bytes.count - cut)], as: UTF8.self) { return plain(text) }
        }
        return plain(String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) })))
    }

    /// Without what Pango does not take, and tabs as wide as most editors show them.
    private static func plain(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\t": result.append(contentsOf: "    ".unicodeScalars)
            case "\n": result.append(scalar)
            default: if scalar.value >= 0x20, !(0x7f..<0xa0).contains(scalar.value) { result.append(scalar) }
            }
        }
        return String(result)
    }

    private static func escaped(_ text: String) -> String {
        let markup = g_markup_escape_text(text, gssize(text.utf8.count))!
        defer { g_free(markup) }
        return String(cString: markup)
    }
}
