/// A JSON text, parsed (RFC 8259).
///
/// The service reads and writes JSON by itself: with Foundation's coders that was 43 % of what a claim costs.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// As it was written: which digits count is for the type that it is decoded as to say.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    package struct Member: Hashable, Sendable {
        package let name: String
        package let value: JSONValue
    }

    /// The first member of that name; nil if there is none, or this is no object.
    package func member(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// Throws DecodingError, whose path begins below this value.
    package func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: JSONValueDecoder(value: self)) }
}

/// Why a text is no JSON: at which byte.
package struct JSONSyntaxError: Error, Hashable {
    package let offset: Int

    package init(offset: Int) { self.offset = offset }
}
