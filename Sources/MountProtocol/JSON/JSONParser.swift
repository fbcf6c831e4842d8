extension JSONValue {
    /// Parses a whole text in UTF-8. Linear in its length; values nested deeper than 512 are refused.
    package init(parsing text: [UInt8]) throws(JSONSyntaxError) {
        var parser = JSONParser(text: text)
        self = try parser.whole()
    }
}

/// Reads a JSON text from its first byte to its last; what it does not expect it refuses. Every access to the text is checked.
private struct JSONParser {
    let text: [UInt8]
    private var position = 0

    private static let deepest = 512

    init(text: [UInt8]) { self.text = text }

    mutating func whole() throws(JSONSyntaxError) -> JSONValue {
        let value = try value(depth: 0)
        skipSpace()
        guard position == text.count else { throw unexpected }
        return value
    }

    private var unexpected: JSONSyntaxError { JSONSyntaxError(offset: position) }

    private var next: UInt8? { position < text.count ? text[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { position += 1 }
    }

    /// Takes `byte` if it comes next.
    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func require(_ bytes: StaticString) throws(JSONSyntaxError) {
        for offset in 0..<bytes.utf8CodeUnitCount {
            // Safe: within the literal.
            guard take(bytes.utf8Start[offset]) else { throw unexpected }
        }
    }

    private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard depth < Self.deepest else { throw unexpected }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object(try members(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try elements(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try require("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try require("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try require("null")
            return .null
        default: return .number(try number())
        }
    }

    private mutating func members(depth: Int) throws(JSONSyntaxError) -> [JSONValue.Member] {
        try require("{")
        var members: [JSONValue.Member] = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return members }
        repeat {
            skipSpace()
            let name = try string()
            skipSpace()
            try require(":")
            members.append(JSONValue.Member(name: name, value: try value(depth: depth)))
            skipSpace()
        } while take(UInt8(ascii: ","))
        try require("}")
        return members
    }

    private mutating func elements(depth: Int) throws(JSONSyntaxError) -> [JSONValue] {
        try require("[")
        var elements: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return elements }
        repeat {
            elements.append(try value(depth: depth))
            skipSpace()
        } while take(UInt8(ascii: ","))
        try require("]")
        return elements
    }

    // MARK: - Numbers

    private mutating func number() throws(JSONSyntaxError) -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    /// One or more.
    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw unexpected }
    }

    // MARK: - Strings

    private mutating func string() throws(JSONSyntaxError) -> String {
        try require("\"")
        let start = position
        try skipPlain()
        if take(UInt8(ascii: "\"")) { return try validated(text[start..<(position - 1)]) }
        var bytes = Array(text[start..<position])
        while !take(UInt8(ascii: "\"")) {
            try require("\\")
            try escaped(into: &bytes)
            let plain = position
            try skipPlain()
            bytes += text[plain..<position]
        }
        return try validated(bytes[...])
    }

    /// Up to a quote or a backslash.
    private mutating func skipPlain() throws(JSONSyntaxError) {
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            // Control characters are to be escaped.
            guard byte >= 0x20 else { throw unexpected }
            position += 1
        }
        guard next != nil else { throw unexpected }
    }

    private func validated(_ bytes: ArraySlice<UInt8>) throws(JSONSyntaxError) -> String {
        guard let string = String(validating: bytes, as: UTF8.self) else { throw unexpected }
        return string
    }

    /// What stands after a backslash.
    private mutating func escaped(into bytes: inout [UInt8]) throws(JSONSyntaxError) {
        guard let kind = next else { throw unexpected }
        position += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(kind)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0c)
        case UInt8(ascii: "n"): bytes.append(0x0a)
        case UInt8(ascii: "r"): bytes.append(0x0d)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            var units = [try codeUnit()]
            if UTF16.isLeadSurrogate(units[0]) {
                try require("\\u")
                units.append(try codeUnit())
            }
            guard let text = String(validating: units, as: UTF16.self) else { throw unexpected }
            bytes += text.utf8
        default: throw unexpected
        }
    }

    /// Four hexadecimal digits.
    private mutating func codeUnit() throws(JSONSyntaxError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = next.flatMap({ Character(Unicode.Scalar($0)).hexDigitValue }) else { throw unexpected }
            unit = unit << 4 | UInt16(clamping: digit)
            position += 1
        }
        return unit
    }
}
