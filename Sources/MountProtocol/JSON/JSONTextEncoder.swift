/// Writes values as JSON texts, members in the order in which they are encoded.
package enum JSONText {
    /// Throws EncodingError for a number that JSON cannot hold: an infinity, or none at all. Types that encode themselves into
    /// nested containers (enumerations with associated values, classes that inherit) are a programming error.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let output = JSONOutput()
        try output.write(value)
        return output.bytes
    }
}

/// The text as far as it is written. A value is written by an encoder of its own, each after the other: the bytes tell where
/// a comma is due.
private final class JSONOutput {
    private(set) var bytes: [UInt8] = []
    /// What closes the container that the value being written has opened.
    private var closing: UInt8?

    init() { bytes.reserveCapacity(256) }

    func write(_ value: some Encodable) throws {
        let (outer, start) = (closing, bytes.count)
        closing = nil
        try value.encode(to: JSONTextEncoder(output: self))
        if let closing { bytes.append(closing) }
        // A type without members may ask for no container.
        if bytes.count == start { bytes += "{}".utf8 }
        closing = outer
    }

    func open(_ opening: UInt8, _ closing: UInt8) {
        guard self.closing == nil else { return precondition(self.closing == closing, "one value is one container") }
        bytes.append(opening)
        self.closing = closing
    }

    func beginElement() {
        if let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { bytes.append(UInt8(ascii: ",")) }
    }

    func beginMember(_ name: String) {
        beginElement()
        write(string: name)
        bytes.append(UInt8(ascii: ":"))
    }

    func write(plain text: String) { bytes += text.utf8 }

    func write(string: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0a: bytes += "\\n".utf8
            case 0x0d: bytes += "\\r".utf8
            case 0x09: bytes += "\\t".utf8
            case 0..<0x10: bytes += "\\u000\(String(byte, radix: 16))".utf8
            case 0x10..<0x20: bytes += "\\u00\(String(byte, radix: 16))".utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

private struct JSONTextEncoder: Encoder, SingleValueEncodingContainer {
    let output: JSONOutput

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        output.open(UInt8(ascii: "{"), UInt8(ascii: "}"))
        return KeyedEncodingContainer(JSONObjectWriter(output: output))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        output.open(UInt8(ascii: "["), UInt8(ascii: "]"))
        return JSONArrayWriter(output: output)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { output.write(plain: "null") }
    func encode(_ value: Bool) { output.write(plain: value ? "true" : "false") }
    func encode(_ value: String) { output.write(string: value) }
    func encode(_ value: Double) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "JSON has no such number"))
        }
        output.write(plain: value.description)
    }
    func encode(_ value: Float) throws { try encode(Double(value)) }
    func encode(_ value: Int) { output.write(plain: value.description) }
    func encode(_ value: Int8) { output.write(plain: value.description) }
    func encode(_ value: Int16) { output.write(plain: value.description) }
    func encode(_ value: Int32) { output.write(plain: value.description) }
    func encode(_ value: Int64) { output.write(plain: value.description) }
    func encode(_ value: UInt) { output.write(plain: value.description) }
    func encode(_ value: UInt8) { output.write(plain: value.description) }
    func encode(_ value: UInt16) { output.write(plain: value.description) }
    func encode(_ value: UInt32) { output.write(plain: value.description) }
    func encode(_ value: UInt64) { output.write(plain: value.description) }
    func encode<Value: Encodable>(_ value: Value) throws { try value.encode(to: self) }
}

private struct JSONObjectWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let output: JSONOutput

    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) {
        output.beginMember(key.stringValue)
        output.write(plain: "null")
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        output.beginMember(key.stringValue)
        try output.write(value)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        unsupportedContainer()
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { unsupportedContainer() }
    func superEncoder() -> any Encoder { unsupportedContainer() }
    func superEncoder(forKey key: Key) -> any Encoder { unsupportedContainer() }
}

private struct JSONArrayWriter: UnkeyedEncodingContainer {
    let output: JSONOutput
    private(set) var count = 0

    init(output: JSONOutput) { self.output = output }

    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() {
        output.beginElement()
        output.write(plain: "null")
        count += 1
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        output.beginElement()
        try output.write(value)
        count += 1
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> { unsupportedContainer() }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { unsupportedContainer() }
    func superEncoder() -> any Encoder { unsupportedContainer() }
}

/// A container whose end nobody tells cannot be closed in time.
private func unsupportedContainer() -> Never {
    preconditionFailure("give the nested value a type of its own, and encode that")
}
