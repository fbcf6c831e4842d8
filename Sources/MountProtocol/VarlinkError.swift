/// An error as it goes over the wire: a qualified name and parameters.
public struct VarlinkError: Error, Hashable, Sendable {
    /// A parameter's value: what Quire's errors and the standard ones need.
    public enum Value: Hashable, Sendable {
        case text(String)
        case number(Int)
    }

    public let name: String
    public let parameters: [String: Value]

    public init(name: String, parameters: [String: Value] = [:]) {
        self.name = name
        self.parameters = parameters
    }

    package static func invalidParameter(_ parameter: String) -> Self {
        standard("InvalidParameter", ["parameter": .text(parameter)])
    }
    package static func methodNotFound(_ method: String) -> Self { standard("MethodNotFound", ["method": .text(method)]) }
    package static func interfaceNotFound(_ interface: String) -> Self {
        standard("InterfaceNotFound", ["interface": .text(interface)])
    }
    /// The method is answered by more than one reply, and the call did not ask for that.
    package static let expectedMore = standard("ExpectedMore", [:])
    package static func messageTooLarge(limit: Int) -> Self { mount("MessageTooLarge", ["limit": .number(limit)]) }
    package static func tooManyConnections(limit: Int) -> Self { mount("TooManyConnections", ["limit": .number(limit)]) }

    /// The one map from the daemon's failures to the wire.
    package init(_ failure: ServiceFailure) {
        self =
            switch failure {
            case .notFound(let what): .mount("NotFound", ["what": .text(what)])
            case .permissionDenied(let what): .mount("PermissionDenied", ["what": .text(what)])
            case .invalidParameter(let parameter): .invalidParameter(parameter)
            case .invalidQuery(let message, let range):
                VarlinkError(
                    name: "\(SearchInterface.name).InvalidQuery",
                    parameters: ["message": .text(message), "start": .number(range.lowerBound), "end": .number(range.upperBound)])
            case .failed(let message): .mount("Failed", ["message": .text(message)])
            case .timedOut(let message): .claim("TimedOut", ["message": .text(message)])
            case .notPublished(let message): .claim("NotPublished", ["message": .text(message)])
            case .noSnapshot(let message): .claim("NoSnapshot", ["message": .text(message)])
            case .deadlock(let message): .claim("Deadlock", ["message": .text(message)])
            }
    }

    package init(any error: any Error) {
        self =
            switch error {
            case let error as VarlinkError: error
            case let failure as ServiceFailure: VarlinkError(failure)
            default: VarlinkError(.failed("\(error)"))
            }
    }

    private static func standard(_ name: String, _ parameters: [String: Value]) -> Self {
        VarlinkError(name: "\(ServiceInterface.name).\(name)", parameters: parameters)
    }
    private static func claim(_ name: String, _ parameters: [String: Value]) -> Self {
        VarlinkError(name: "\(CoordinationInterface.name).\(name)", parameters: parameters)
    }
    private static func mount(_ name: String, _ parameters: [String: Value]) -> Self {
        VarlinkError(name: "\(MountInterface.name).\(name)", parameters: parameters)
    }
}

extension VarlinkError.Value: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else {
            self = .text((try? container.decode(String.self)) ?? "")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        }
    }
}

extension VarlinkError: CustomStringConvertible {
    public var description: String {
        let values = parameters.sorted { $0.key < $1.key }.map { entry in
            switch entry.value {
            case .text(let text): text
            case .number(let number): "\(entry.key) \(number)"
            }
        }
        let shortName = name.split(separator: ".").last.map(String.init) ?? name
        return values.isEmpty ? shortName : "\(shortName): \(values.joined(separator: ", "))"
    }
}

extension VarlinkError {
    /// A claim was not granted in time.
    public var isClaimTimeout: Bool { name == "\(CoordinationInterface.name).TimedOut" }
}
