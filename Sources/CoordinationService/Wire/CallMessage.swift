/// A call as it arrives. Decoded in one pass: the method's name finds the method, which decodes its own parameters.
struct CallMessage: Decodable {
    enum Key: String, CodingKey { case method, parameters, oneway, more }

    /// The `parameters` member, still encoded; a missing one counts as an empty object.
    struct Parameters {
        let container: KeyedDecodingContainer<Key>

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            guard container.contains(.parameters), try !container.decodeNil(forKey: .parameters) else {
                return try Value(from: EmptyObjectDecoder())
            }
            return try container.decode(type, forKey: .parameters)
        }
    }

    static let methodsKey = CodingUserInfoKey(rawValue: "org.quire.methods")!

    let oneway: Bool
    /// The peer takes any number of replies.
    let more: Bool
    /// The call, ready to run, or why it cannot be.
    let call: Result<VarlinkMethod.BoundCall, VarlinkError>

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let method = try container.decode(String.self, forKey: .method)
        oneway = try container.decodeIfPresent(Bool.self, forKey: .oneway) ?? false
        more = try container.decodeIfPresent(Bool.self, forKey: .more) ?? false
        guard let table = decoder.userInfo[Self.methodsKey] as? MethodTable else {
            preconditionFailure("a call is decoded with the method table in userInfo")
        }
        call = table.find(method).flatMap { found in
            do {
                return .success(try found.bind(Parameters(container: container)))
            } catch let error as DecodingError {
                return .failure(.invalidParameter(error.parameterName))
            } catch {
                return .failure(.invalidParameter(Key.parameters.rawValue))
            }
        }
    }
}

/// Finds methods by their qualified names.
struct MethodTable: Sendable {
    private let interfaces: [String: [String: VarlinkMethod]]

    init(_ interfaces: [VarlinkInterface]) {
        self.interfaces = Dictionary(
            uniqueKeysWithValues: interfaces.map { interface in
                (interface.name, Dictionary(uniqueKeysWithValues: interface.methods.map { ($0.name, $0) }))
            })
    }

    func find(_ qualifiedName: String) -> Result<VarlinkMethod, VarlinkError> {
        guard let dot = qualifiedName.lastIndex(of: ".") else { return .failure(.interfaceNotFound(qualifiedName)) }
        let interface = String(qualifiedName[..<dot])
        guard let methods = interfaces[interface] else { return .failure(.interfaceNotFound(interface)) }
        guard let method = methods[String(qualifiedName[qualifiedName.index(after: dot)...])] else {
            return .failure(.methodNotFound(qualifiedName))
        }
        return .success(method)
    }
}

extension DecodingError {
    /// The parameter at fault: the outermost key below `parameters`.
    fileprivate var parameterName: String {
        var path: [any CodingKey]
        switch self {
        case .keyNotFound(let key, let context): path = context.codingPath + [key]
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            path = context.codingPath
        @unknown default: path = []
        }
        if path.first?.stringValue == CallMessage.Key.parameters.rawValue, path.count > 1 { path.removeFirst() }
        return path.first?.stringValue ?? CallMessage.Key.parameters.rawValue
    }
}
