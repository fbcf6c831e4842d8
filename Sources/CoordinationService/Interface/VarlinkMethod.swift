/// One interface: its description in varlink's own language, and the methods that carry it out.
struct VarlinkInterface: Sendable {
    let name: String
    let description: String
    let methods: [VarlinkMethod]
}

/// Replies without an end, of a method that is called with `more`.
protocol ReplyStream: Sendable {
    /// The next reply; nil if there is none now: the stream has its `wake` called when there is. Off the event loop.
    func next() throws -> (any Encodable & Sendable)?
    /// Nobody asks any more.
    func end()
}

/// A method's name within its interface, and how to make a runnable call of it from a message.
struct VarlinkMethod: Sendable {
    /// Carries the call out for a peer. Throws VarlinkError or ServiceFailure; runs off the event loop.
    enum BoundCall: Sendable {
        case once(@Sendable (Peer) throws -> any Encodable & Sendable)
        case stream(@Sendable (Peer, _ wake: @escaping @Sendable () -> Void) throws -> any ReplyStream)
    }

    let name: String
    let bind: @Sendable (CallMessage.Parameters) throws -> BoundCall

    init<Parameters: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ name: String, _ run: @escaping @Sendable (Parameters, Peer) throws -> Reply
    ) {
        self.name = name
        bind = { encoded in
            let parameters = try encoded.decode(Parameters.self)
            return .once { try run(parameters, $0) }
        }
    }

    /// A method that is to be called with `more`, and is answered until the peer closes the connection.
    init<Parameters: Decodable & Sendable>(
        _ name: String,
        streaming open: @escaping @Sendable (Parameters, Peer, @escaping @Sendable () -> Void) throws -> any ReplyStream
    ) {
        self.name = name
        bind = { encoded in
            let parameters = try encoded.decode(Parameters.self)
            return .stream { try open(parameters, $0, $1) }
        }
    }
}

/// The parameters or reply of a method that has none.
struct Empty: Codable, Sendable {}
