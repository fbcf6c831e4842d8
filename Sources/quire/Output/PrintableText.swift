/// Text of others' choice as a terminal may be sent it: names of files, processes, tags and purposes. The one place where commands
/// take out what would move the cursor, change the window's title, turn the direction of writing, or pass for another line.
///
/// Control characters, those that change the direction of text or are not seen, line separators, and bytes that are no UTF-8 are
/// written `\x1B` or `\u{202E}`. `--json` is exact instead.
package enum PrintableText {
    /// One line: line breaks and tabs are taken out too.
    package static func line(_ bytes: some Sequence<UInt8>) -> String { printable(Array(bytes), keepsLines: false) }

    package static func line(_ text: String) -> String { line(text.utf8) }

    /// Several lines, which are the command's own.
    package static func lines(_ text: String) -> String { printable(Array(text.utf8), keepsLines: true) }

    private static func printable(_ bytes: [UInt8], keepsLines: Bool) -> String {
        // Most text is.
        if bytes.allSatisfy({ (0x20..<0x7f).contains($0) || keepsLines && $0 == 0x0a }) { return String(decoding: bytes, as: UTF8.self) }
        var result = ""
        var decoder = UTF8()
        var rest = bytes.makeIterator()
        var start = 0
        while true {
            switch decoder.decode(&rest) {
            case .emptyInput: return result
            case .scalarValue(let scalar):
                start += UTF8.width(scalar)
                if isPlain(scalar) || keepsLines && (scalar == "\n" || scalar == "\t") {
                    result.unicodeScalars.append(scalar)
                } else {
                    result += scalar.value < 0x80 ? hex(UInt8(truncatingIfNeeded: scalar.value)) : "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
                }
            case .error:
                // What the decoder took for one error may be several bytes: go on after the first.
                result += hex(bytes[start])
                start += 1
                decoder = UTF8()
                rest = Array(bytes[start...]).makeIterator()
            }
        }
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return "\\x" + (digits.count < 2 ? "0" : "") + digits
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        // Format characters are those of direction, and what is not seen; joiners are parts of words and of pictures.
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}" || scalar == "\u{AD}"
        default: true
        }
    }
}
