/// Decodes any type from the empty JSON object `{}`: what a message that left its parameters out stands for. Optional
/// members become nil, required ones throw keyNotFound.
struct EmptyObjectDecoder: Decoder {
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Container<Key>())
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw mismatch([Any].self) }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw mismatch(String.self) }

    private func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: [], debugDescription: "the parameters are an object"))
    }

    private struct Container<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let codingPath: [any CodingKey] = []
        let allKeys: [Key] = []

        func contains(_ key: Key) -> Bool { false }
        func decodeNil(forKey key: Key) throws -> Bool { throw missing(key) }
        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { throw missing(key) }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { throw missing(key) }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw missing(key) }
        func superDecoder() throws -> any Decoder { EmptyObjectDecoder() }
        func superDecoder(forKey key: Key) throws -> any Decoder { throw missing(key) }

        private func missing(_ key: Key) -> DecodingError {
            .keyNotFound(key, .init(codingPath: [], debugDescription: "no parameters were given"))
        }
    }
}
