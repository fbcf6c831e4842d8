internal import FoundationEssentials

/// Turns one message into its reply: decodes, authorises by running the method as the peer, encodes. Pure but for what the
/// methods do; called on the service's threads.
struct Dispatcher: Sendable {
    /// What to send, and whether the connection can go on.
    struct Outcome: Sendable {
        /// A whole message with its NUL; nil for a call that asked for no reply.
        var reply: [UInt8]?
        var closes = false
    }

    private let methods: MethodTable

    init(service: any MountService, version: String) {
        let own = [MountInterface.interface(service), RecoverInterface.interface(service)]
        methods = MethodTable(own + [ServiceInterface.interface(describing: own, version: version)])
    }

    func outcome(of message: Data, from peer: Peer) -> Outcome {
        let decoder = JSONDecoder()
        decoder.userInfo[CallMessage.methodsKey] = methods
        guard let call = try? decoder.decode(CallMessage.self, from: message) else {
            // Not a call at all: there is no telling what the peer means by the rest of its stream.
            return Outcome(reply: Self.encode(VarlinkError.invalidParameter("call")), closes: true)
        }
        let reply: [UInt8]
        do {
            reply = Self.encode(try call.call.get()(peer))
        } catch let error as VarlinkError {
            reply = Self.encode(error)
        } catch let failure as ServiceFailure {
            reply = Self.encode(VarlinkError(failure))
        } catch {
            reply = Self.encode(VarlinkError(.failed("\(error)")))
        }
        return Outcome(reply: call.oneway ? nil : reply)
    }

    static func encode(_ error: VarlinkError) -> [UInt8] {
        message(ErrorReply(error: error.name, parameters: error.parameters))
    }

    private static func encode(_ parameters: any Encodable & Sendable) -> [UInt8] { message(Reply(parameters: parameters)) }

    private static func message(_ reply: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(reply) else {
            // Only a number that JSON cannot write (an infinity) comes here.
            return encode(VarlinkError(.failed("the reply cannot be written as JSON")))
        }
        return Array(data) + [0]
    }

    private struct Reply: Encodable {
        enum Key: CodingKey { case parameters }
        let parameters: any Encodable & Sendable

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(parameters, forKey: .parameters)
        }
    }

    private struct ErrorReply: Encodable {
        let error: String
        let parameters: [String: VarlinkError.Value]
    }
}
