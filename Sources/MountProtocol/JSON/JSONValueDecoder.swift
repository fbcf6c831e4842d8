/// Decodes types from a parsed JSON value. Keeps no path on its way down: errors are given theirs on their way up.
struct JSONValueDecoder: Decoder {
    let value: JSONValue

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(JSONObjectReader(members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([Any].self) }
        return JSONArrayReader(elements: elements)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: [], debugDescription: "another kind of value was expected"))
    }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value == .null }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let bool) = value else { throw mismatch(type) }
        return bool
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let string) = value else { throw mismatch(type) }
        return string
    }

    func decode(_ type: Double.Type) throws -> Double {
        guard case .number(let digits) = value, let number = Double(digits), number.isFinite else { throw mismatch(type) }
        return number
    }

    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value.decode(type) }

    /// Also of `2.0` and `2e3`, which are integers to JSON, as far as a Double holds all of their digits.
    private func integer<Integer: FixedWidthInteger>() throws -> Integer {
        guard case .number(let digits) = value,
            let number = Integer(digits) ?? Double(digits).flatMap({ abs($0) < 0x1p53 ? Integer(exactly: $0) : nil })
        else { throw mismatch(Integer.self) }
        return number
    }
}

private struct JSONObjectReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [JSONValue.Member]

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { members.contains { $0.name == key.stringValue } }

    func decodeNil(forKey key: Key) throws -> Bool { try value(key) == .null }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let value = try value(key)
        do {
            return try value.decode(type)
        } catch let error as DecodingError {
            throw error.below(key)
        }
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try JSONValueDecoder(value: value(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try JSONValueDecoder(value: value(key)).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { JSONValueDecoder(value: .object(members)) }
    func superDecoder(forKey key: Key) throws -> any Decoder { JSONValueDecoder(value: try value(key)) }

    private func value(_ key: Key) throws -> JSONValue {
        guard let member = members.first(where: { $0.name == key.stringValue }) else {
            throw DecodingError.keyNotFound(key, .init(codingPath: [], debugDescription: "it is missing"))
        }
        return member.value
    }
}

private struct JSONArrayReader: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    private(set) var currentIndex = 0

    init(elements: [JSONValue]) { self.elements = elements }

    var codingPath: [any CodingKey] { [] }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, elements[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().decode(type) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try JSONValueDecoder(value: next()).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try JSONValueDecoder(value: next()).unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { JSONValueDecoder(value: try next()) }

    private mutating func next() throws -> JSONValue {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(JSONValue.self, .init(codingPath: [], debugDescription: "the array ends before"))
        }
        defer { currentIndex += 1 }
        return elements[currentIndex]
    }
}

extension DecodingError {
    /// The same, of what stands below `key`.
    fileprivate func below(_ key: any CodingKey) -> DecodingError {
        func extended(_ context: Context) -> Context {
            Context(codingPath: [key] + context.codingPath, debugDescription: context.debugDescription)
        }
        return switch self {
        case .keyNotFound(let missing, let context): .keyNotFound(missing, extended(context))
        case .typeMismatch(let type, let context): .typeMismatch(type, extended(context))
        case .valueNotFound(let type, let context): .valueNotFound(type, extended(context))
        case .dataCorrupted(let context): .dataCorrupted(extended(context))
        @unknown default: self
        }
    }
}
