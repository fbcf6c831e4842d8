import MountProtocol

/// One interface: its description in varlink's own language, and the methods that carry it out.
struct VarlinkInterface: Sendable {
    let name: String
    let description: String
    let methods: [VarlinkMethod]
}

/// Replies that come when there is something to tell.
protocol ReplyStream: Sendable {
    /// The next reply; nil if there is none now: the stream has its `wake` called when there is. An error is the last reply.
    /// Off the event loop, but for the first reply of a brief call, and for streams whose replies are brief.
    func next() throws -> StreamedReply?
    /// Whether making a reply waits for nothing, the disk included.
    var isBrief: Bool { get }
    /// Whether making a reply may take seconds: it keeps none of its user's other calls waiting.
    var isLong: Bool { get }
    /// The peer has gone before the last reply.
    func end()
}

extension ReplyStream {
    var isBrief: Bool { false }
    var isLong: Bool { false }
}

struct StreamedReply: Sendable {
    let parameters: any Encodable & Sendable
    /// It ends the call, and what the stream holds goes on without it.
    var isLast = false
}

/// A method's name, and how to make a runnable call of it from a message.
struct VarlinkMethod: Sendable {
    typealias Wake = @Sendable () -> Void

    /// A call, decoded.
    struct BoundCall: Sendable {
        /// Carries the call out for a peer. Throws VarlinkError or ServiceFailure.
        enum Run: Sendable {
            case once(@Sendable (PeerConnection) throws -> any Encodable & Sendable)
            /// `isEndless`: to be called with `more`.
            case stream(isEndless: Bool, @Sendable (PeerConnection, @escaping Wake) throws -> any ReplyStream)
        }

        /// Whether, on a connection, it waits for nothing, the disk included: carried out on the event loop then, else off it.
        let isBrief: @Sendable (PeerConnection) -> Bool
        /// Whether it may take seconds: it keeps none of its user's other calls waiting.
        var isLong = false
        let run: Run
    }

    /// With that of its interface.
    let name: String
    let bind: @Sendable (JSONValue) throws -> BoundCall

    init<Parameters, Reply>(
        _ method: ServiceMethod<Parameters, Reply>, isBrief: Bool = false, _ run: @escaping @Sendable (Parameters, Peer) throws -> Reply
    ) {
        self.init(method, isBrief: { _, _ in isBrief }, onConnection: { try run($0, $1.peer) })
    }

    /// A method that is about what its connection keeps.
    init<Parameters, Reply>(
        _ method: ServiceMethod<Parameters, Reply>, isBrief: @escaping @Sendable (Parameters, PeerConnection) -> Bool = { _, _ in false },
        onConnection run: @escaping @Sendable (Parameters, PeerConnection) throws -> Reply
    ) {
        name = method.name
        bind = { encoded in
            let parameters = try encoded.decode(Parameters.self)
            return BoundCall(isBrief: { isBrief(parameters, $0) }, isLong: method.isLong, run: .once { try run(parameters, $0) })
        }
    }

    /// A method that is to be called with `more`, and is answered until the peer closes the connection.
    init<Parameters, Reply>(
        _ method: ServiceMethod<Parameters, Reply>,
        streaming open: @escaping @Sendable (Parameters, PeerConnection, @escaping Wake) throws -> any ReplyStream
    ) {
        self.init(method, isEndless: true, isBrief: { _, _ in false }, open)
    }

    /// A method whose one reply may take long; `isBrief` tells whether making it waits for nothing.
    init<Parameters, Reply>(
        _ method: ServiceMethod<Parameters, Reply>, isBrief: @escaping @Sendable (Parameters, Peer) -> Bool,
        waiting open: @escaping @Sendable (Parameters, PeerConnection, @escaping Wake) throws -> any ReplyStream
    ) {
        self.init(method, isEndless: false, isBrief: isBrief, open)
    }

    private init<Parameters, Reply>(
        _ method: ServiceMethod<Parameters, Reply>, isEndless: Bool, isBrief: @escaping @Sendable (Parameters, Peer) -> Bool,
        _ open: @escaping @Sendable (Parameters, PeerConnection, @escaping Wake) throws -> any ReplyStream
    ) {
        name = method.name
        bind = { encoded in
            let parameters = try encoded.decode(Parameters.self)
            return BoundCall(
                isBrief: { isBrief(parameters, $0.peer) }, run: .stream(isEndless: isEndless) { try open(parameters, $0, $1) })
        }
    }
}
