import MountProtocol

/// A call as it arrives.
struct CallMessage {
    let oneway: Bool
    /// The peer takes any number of replies.
    let more: Bool
    /// The call, ready to run, or why it cannot be.
    let call: Result<VarlinkMethod.BoundCall, VarlinkError>

    /// Throws if the message is no call at all.
    init(_ message: JSONValue, _ methods: MethodTable) throws {
        guard case .string(let name)? = message.member("method") else { throw VarlinkError.invalidParameter("method") }
        oneway = try message.member("oneway")?.decode(Bool?.self) ?? false
        more = try message.member("more")?.decode(Bool?.self) ?? false
        call = methods.find(name).flatMap { method in
            let given = message.member("parameters") ?? .null
            do {
                // Missing ones count as an empty object.
                return .success(try method.bind(given == .null ? .object([]) : given))
            } catch let error as DecodingError {
                return .failure(.invalidParameter(error.parameterName))
            } catch {
                return .failure(.invalidParameter("parameters"))
            }
        }
    }
}

/// Finds methods by their qualified names.
struct MethodTable: Sendable {
    private let methods: [String: VarlinkMethod]
    private let interfaces: Set<String>

    init(_ interfaces: [VarlinkInterface]) {
        methods = Dictionary(uniqueKeysWithValues: interfaces.flatMap(\.methods).map { ($0.name, $0) })
        self.interfaces = Set(interfaces.map(\.name))
    }

    func find(_ qualifiedName: String) -> Result<VarlinkMethod, VarlinkError> {
        if let method = methods[qualifiedName] { return .success(method) }
        guard let dot = qualifiedName.utf8.lastIndex(of: UInt8(ascii: ".")) else { return .failure(.interfaceNotFound(qualifiedName)) }
        let interface = String(qualifiedName[..<dot])
        return .failure(interfaces.contains(interface) ? .methodNotFound(qualifiedName) : .interfaceNotFound(interface))
    }
}

extension DecodingError {
    /// The parameter at fault: the outermost key.
    fileprivate var parameterName: String {
        let path: [any CodingKey] =
            switch self {
            case .keyNotFound(let key, let context): context.codingPath + [key]
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context): context.codingPath
            @unknown default: []
            }
        return path.first?.stringValue ?? "parameters"
    }
}
