/// An absolute path on the wire.
///
/// JSON strings are text and paths are bytes: a path in UTF-8 is written as it is, any other as a `file:///` URI with its
/// bytes percent-encoded. Absolute paths begin with a slash, so the two forms are never mistaken for each other.
public struct DocumentPath: Hashable, Sendable {
    public let bytes: [UInt8]

    public init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// Parses either form; nil if the text is neither, or holds a NUL.
    public init?(wire text: String) {
        if text.hasPrefix("/") {
            bytes = Array(text.utf8)
        } else if text.hasPrefix("file:///"), let decoded = Self.percentDecoded(text.utf8.dropFirst(7)) {
            bytes = decoded
        } else {
            return nil
        }
        if bytes.contains(0) { return nil }
    }

    /// The form that goes over the wire and into JSON output.
    public var wire: String { String(validating: bytes, as: UTF8.self) ?? "file://" + Self.percentEncoded(bytes) }

    private static func percentDecoded(_ text: Substring.UTF8View) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue)
            else { return nil }
            result.append(high << 4 | low)
        }
        return result
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func percentEncoded(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF")
        var text = ""
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text.append("%")
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 15)])
            }
        }
        return text
    }
}

extension DocumentPath: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let path = DocumentPath(wire: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an absolute path or file URI")
        }
        self = path
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wire)
    }
}

extension DocumentPath: CustomStringConvertible {
    /// For messages: invalid UTF-8 shows as U+FFFD.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
