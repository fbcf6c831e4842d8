import MountProtocol

/// Turns one message into its reply: decodes, authorises by running the method as the peer, encodes. Pure but for what the
/// methods do; called on the service's threads.
struct CallDispatcher: Sendable {
    /// What to send, and whether the connection can go on.
    struct Outcome: Sendable {
        /// A whole message with its NUL; nil for a call that asked for no reply.
        var reply: [UInt8]?
        var closes = false
        /// More replies come from here.
        var stream: (any ReplyStream)?
        /// It is the stream's last reply.
        var endsStream = false
    }

    private let methods: MethodTable

    init(service: any MountService, version: String) {
        let own = [
            MountInterface.interface(service), RecoverInterface.interface(service), EventInterface.interface(service),
            CoordinationInterface.interface(service), PresenterInterface.interface(service), ThumbnailInterface.interface(service),
            SearchInterface.interface(service),
            BookmarkInterface.interface(service), GrantInterface.interface(service),
        ]
        methods = MethodTable(own + [ServiceInterface.interface(describing: own, version: version)])
    }

    /// The call that a message is; nil if it is none at all.
    func call(_ message: [UInt8]) -> CallMessage? { try? CallMessage(JSONValue(parsing: message), methods) }

    /// - Parameters:
    ///   - call: nil: what came is no call.
    ///   - wake: what a stream calls, on any thread, when it has another reply.
    func outcome(
        of call: CallMessage?, from connection: PeerConnection, wake: @escaping @Sendable () -> Void
    ) -> Outcome {
        guard let call else {
            // There is no telling what the peer means by the rest of its stream.
            return Outcome(reply: Self.encode(VarlinkError.invalidParameter("call")), closes: true)
        }
        do {
            switch try call.call.get().run {
            case .once(let run):
                let parameters = try run(connection)
                let reply = parameters is Empty ? Self.empty : Self.message(CallReply(parameters: parameters))
                return Outcome(reply: call.oneway ? nil : reply)
            case .stream(let isEndless, let open):
                guard !call.oneway, call.more || !isEndless else { throw VarlinkError.expectedMore }
                let stream = try open(connection, wake)
                // Most claims are granted at once.
                let first = isEndless ? Outcome() : next(of: stream)
                return first.endsStream ? first : Outcome(reply: first.reply, stream: stream)
            }
        } catch {
            let reply = Self.encode(VarlinkError(any: error))
            return Outcome(reply: call.oneway ? nil : reply)
        }
    }

    /// The next message of a stream; nil if there is none now.
    func next(of stream: any ReplyStream) -> Outcome {
        do {
            guard let next = try stream.next() else { return Outcome(reply: nil) }
            let reply = Self.message(CallReply(parameters: next.parameters, continues: !next.isLast))
            return Outcome(reply: reply, endsStream: next.isLast)
        } catch {
            return Outcome(reply: Self.encode(VarlinkError(any: error)), endsStream: true)
        }
    }

    static func encode(_ error: VarlinkError) -> [UInt8] {
        message(ErrorReply(error: error.name, parameters: error.parameters))
    }

    private static func message(_ reply: some Encodable) -> [UInt8] {
        guard let text = try? JSONText.encode(reply) else {
            // Only a number that JSON cannot write (an infinity) comes here.
            return encode(VarlinkError(.failed("the reply cannot be written as JSON")))
        }
        return text + [0]
    }

    /// What most calls are answered.
    private static let empty = message(CallReply(parameters: Empty()))

    private struct CallReply: Encodable {
        enum Key: CodingKey { case parameters, continues }
        let parameters: any Encodable & Sendable
        var continues = false

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(parameters, forKey: .parameters)
            if continues { try container.encode(true, forKey: .continues) }
        }
    }

    private struct ErrorReply: Encodable {
        let error: String
        let parameters: [String: VarlinkError.Value]
    }
}
