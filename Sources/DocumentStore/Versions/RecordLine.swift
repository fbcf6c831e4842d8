/// One record of the files in the state folder: a line of fields with a space between them and a checksum at the end, so that
/// a line cut off or damaged by a power cut is known as such, and people can read the others.
///
/// In a field, space, newline and `%` are written as `%` and two hex digits.
struct RecordLine: Equatable {
    var fields: [[UInt8]]

    init(_ fields: [[UInt8]]) { self.fields = fields }

    /// The line without its newline; nil if its checksum is wrong.
    init?(parsing line: some Sequence<UInt8>) {
        let parts = Array(line).split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count > 1, let sum = UInt64(String(decoding: parts[parts.count - 1], as: UTF8.self), radix: 16),
            sum == Self.checksum(parts.dropLast())
        else { return nil }
        fields = parts.dropLast().map(Self.unescaped)
    }

    /// Ends in a newline.
    var bytes: [UInt8] {
        let escaped = fields.map { Self.escaped($0)[...] }
        var line = Array(escaped.joined(separator: [UInt8(ascii: " ")]))
        line.append(UInt8(ascii: " "))
        line.append(contentsOf: String(Self.checksum(escaped[...]), radix: 16).utf8)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// Field `index` as a number; nil if there is no such field or it is none.
    func number<Number: FixedWidthInteger>(_ index: Int) -> Number? {
        index < fields.count ? Number(String(decoding: fields[index], as: UTF8.self)) : nil
    }

    func text(_ index: Int) -> String? { index < fields.count ? String(decoding: fields[index], as: UTF8.self) : nil }

    /// Of the fields, each with a space after it.
    private static func checksum(_ parts: ArraySlice<ArraySlice<UInt8>>) -> UInt64 { parts.map { $0 + [0x20] }.joined().fnv1a() }

    private static func escaped(_ field: [UInt8]) -> [UInt8] {
        field.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: " "): Array("%20".utf8)
            case UInt8(ascii: "\n"): Array("%0a".utf8)
            case UInt8(ascii: "%"): Array("%25".utf8)
            default: [byte]
            }
        }
    }

    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
                result.append(code)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}

extension RecordLine {
    /// Fields that are text or numbers.
    init(_ fields: [any CustomStringConvertible]) { self.init(fields.map { Array($0.description.utf8) }) }
}
