/// One interface: its description in varlink's own language, and the methods that carry it out.
struct VarlinkInterface: Sendable {
    let name: String
    let description: String
    let methods: [VarlinkMethod]
}

/// A method's name within its interface, and how to make a runnable call of it from a message.
struct VarlinkMethod: Sendable {
    /// Carries the call out for a peer. Throws VarlinkError or ServiceFailure; runs off the event loop.
    typealias BoundCall = @Sendable (Peer) throws -> any Encodable & Sendable

    let name: String
    let bind: @Sendable (CallMessage.Parameters) throws -> BoundCall

    init<Parameters: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ name: String, _ run: @escaping @Sendable (Parameters, Peer) throws -> Reply
    ) {
        self.name = name
        bind = { encoded in
            let parameters = try encoded.decode(Parameters.self)
            return { try run(parameters, $0) }
        }
    }
}

/// The parameters or reply of a method that has none.
struct Empty: Codable, Sendable {}
