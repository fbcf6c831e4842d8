/// One interface: its description in varlink's own language, and the methods that carry it out.
struct VarlinkInterface: Sendable {
    let name: String
    let description: String
    let methods: [VarlinkMethod]
}

/// Replies that come when there is something to tell.
protocol ReplyStream: Sendable {
    /// The next reply; nil if there is none now: the stream has its `wake` called when there is. An error is the last reply.
    /// Off the event loop.
    func next() throws -> StreamedReply?
    /// The peer has gone before the last reply.
    func end()
}

struct StreamedReply: Sendable {
    let parameters: any Encodable & Sendable
    /// It ends the call, and what the stream holds goes on without it.
    var isLast = false
}

/// A method's name within its interface, and how to make a runnable call of it from a message.
struct VarlinkMethod: Sendable {
    /// Carries the call out for a peer. Throws VarlinkError or ServiceFailure; runs off the event loop.
    enum BoundCall: Sendable {
        case once(@Sendable (PeerConnection) throws -> any Encodable & Sendable)
        /// `isEndless`: to be called with `more`.
        case stream(
            isEndless: Bool,
            @Sendable (PeerConnection, _ wake: @escaping @Sendable () -> Void) throws -> any ReplyStream)
    }

    let name: String
    let bind: @Sendable (CallMessage.Parameters) throws -> BoundCall

    init<Parameters: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ name: String, _ run: @escaping @Sendable (Parameters, Peer) throws -> Reply
    ) {
        self.init(name, onConnection: { try run($0, $1.peer) })
    }

    /// A method that is about what its connection keeps.
    init<Parameters: Decodable & Sendable, Reply: Encodable & Sendable>(
        _ name: String, onConnection run: @escaping @Sendable (Parameters, PeerConnection) throws -> Reply
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
        streaming open: @escaping @Sendable (Parameters, PeerConnection, @escaping @Sendable () -> Void) throws -> any ReplyStream
    ) {
        self.init(name, isEndless: true, open)
    }

    /// A method whose one reply may take long.
    init<Parameters: Decodable & Sendable>(
        _ name: String,
        waiting open: @escaping @Sendable (Parameters, PeerConnection, @escaping @Sendable () -> Void) throws -> any ReplyStream
    ) {
        self.init(name, isEndless: false, open)
    }

    private init<Parameters: Decodable & Sendable>(
        _ name: String, isEndless: Bool,
        _ open: @escaping @Sendable (Parameters, PeerConnection, @escaping @Sendable () -> Void) throws -> any ReplyStream
    ) {
        self.name = name
        bind = { encoded in
            let parameters = try encoded.decode(Parameters.self)
            return .stream(isEndless: isEndless) { try open(parameters, $0, $1) }
        }
    }
}

/// The parameters or reply of a method that has none.
struct Empty: Codable, Sendable {}
