/// A method of the service, declared once for those who call it and for those who carry it out.
///
/// Its interface's text describes it in varlink's own language (varlink.org/Interface-Definition).
public struct ServiceMethod<Parameters: Codable & Sendable, Reply: Codable & Sendable>: Sendable {
    /// With that of its interface: `org.quire.Mount.Status`.
    public let name: String
    /// Whether carrying it out may take seconds: it keeps none of its user's other calls waiting.
    public let isLong: Bool
    /// How long a client waits for the reply; nil: as long as the connection has calls wait.
    public let timeout: Duration?

    init(_ interface: String, _ name: String, isLong: Bool = false, timeout: Duration? = nil) {
        self.name = "\(interface).\(name)"
        self.isLong = isLong
        self.timeout = timeout
    }
}

/// The parameters or reply of a method that has none.
public struct Empty: Codable, Sendable {
    public init() {}
}
