import Glibc
public import MountProtocol
import StorePrimitives
public import SystemPackage

/// Why a call got no answer.
public enum ServiceCallError: Error, Hashable, Sendable {
    /// Nobody serves the socket.
    case unreachable(socket: String, Errno)
    /// The service did not answer in time; whether it carried the call out is not known.
    case timedOut
    /// The service closed the connection.
    case disconnected
    /// The service answered with an error.
    case refused(VarlinkError)
    /// What came back is no reply to this call.
    case malformedReply
}

/// Ends a connection, and so a call that waits on it, which throws `.disconnected`. What the service keeps for the connection,
/// such as a claim that waits, ends with it.
public final class ConnectionBreaker: Sendable {
    private let socket: Descriptor

    fileprivate init(socket: Descriptor) { self.socket = socket }

    public func cut() { _ = shutdown(socket.number, Int32(truncatingIfNeeded: SHUT_RDWR)) }
}

/// A client's connection to a mount's service: blocking, one call at a time, each bounded by a timeout. Not thread-safe.
public final class ServiceConnection {
    private let socket: Descriptor
    private let timeout: Duration
    /// What has come after the last message.
    private var received: [UInt8] = []
    /// More replies to the same call come.
    private var hasMore = false

    /// Connects; `timeout` bounds this and, by default, each call.
    public init(to path: String, timeout: Duration = .seconds(10)) throws(ServiceCallError) {
        self.timeout = timeout
        do {
            socket = try UnixSocket.connect(to: path, until: .now + timeout)
        } catch {
            throw .unreachable(socket: path, error)
        }
    }

    /// The process that serves the socket.
    public var server: Peer? { Peer(of: socket.number) }

    /// Ends the connection from any thread.
    public var breaker: ConnectionBreaker { ConnectionBreaker(socket: socket) }

    /// Calls a method and waits for its reply: for the method's own time or the connection's unless `timeout` is given.
    @discardableResult
    public func call<Parameters, Reply>(
        _ method: ServiceMethod<Parameters, Reply>, _ parameters: Parameters, timeout: Duration? = nil
    ) throws(ServiceCallError) -> Reply {
        let deadline = ContinuousClock.now + (timeout ?? method.timeout ?? self.timeout)
        try send(Call(method: method.name, parameters: parameters, more: nil), until: deadline)
        return try reply(Reply.self, until: deadline).result.get()
    }

    @discardableResult
    public func call<Reply>(_ method: ServiceMethod<Empty, Reply>, timeout: Duration? = nil) throws(ServiceCallError) -> Reply {
        try call(method, Empty(), timeout: timeout)
    }

    /// Calls a method that has many replies, and gives each to `body`, until that returns false or the service ends the
    /// replies. Waits for them without limit. The connection serves for nothing else after that.
    public func stream<Parameters, Reply>(
        _ method: ServiceMethod<Parameters, Reply>, _ parameters: Parameters, _ body: (Reply) throws(ServiceCallError) -> Bool
    ) throws(ServiceCallError) {
        try open(method, parameters)
        while let reply = try nextReply(to: method) { guard try body(reply) else { return } }
    }

    /// Calls a method that has many replies, which `nextReply` takes. The connection serves for nothing else after that.
    public func open<Parameters, Reply>(_ method: ServiceMethod<Parameters, Reply>, _ parameters: Parameters) throws(ServiceCallError) {
        try send(Call(method: method.name, parameters: parameters, more: true), until: .now + timeout)
        hasMore = true
    }

    /// Waits for the next reply without limit; nil after the last one.
    public func nextReply<Parameters, Reply>(to method: ServiceMethod<Parameters, Reply>) throws(ServiceCallError) -> Reply? {
        guard hasMore else { return nil }
        let message = try reply(Reply.self, until: nil)
        hasMore = message.continues
        return try message.result.get()
    }

    private func send(_ call: Call<some Encodable>, until deadline: ContinuousClock.Instant) throws(ServiceCallError) {
        guard let message = try? JSONText.encode(call) else {
            preconditionFailure("parameters that JSON cannot hold: \(call.parameters)")
        }
        do {
            try send(message + [0], until: deadline)
        } catch ServiceCallError.disconnected {
            // The service may have said why before it closed.
        }
    }

    private func reply<Reply: Decodable>(
        _ type: Reply.Type, until deadline: ContinuousClock.Instant?
    ) throws(ServiceCallError) -> ReplyMessage<Reply> {
        let reply = try receive(until: deadline)
        guard let message = try? JSONValue(parsing: reply).decode(ReplyMessage<Reply>.self) else { throw .malformedReply }
        return message
    }

    private func send(_ message: [UInt8], until deadline: ContinuousClock.Instant) throws(ServiceCallError) {
        var rest = message[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket.number, $0.baseAddress, $0.count, Int32(truncatingIfNeeded: MSG_NOSIGNAL)) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try wait(for: POLLOUT, until: deadline)
            } else if errno != EINTR {
                throw .disconnected
            }
        }
    }

    /// No reply of a service is so long. Another user's socket may be served by anything.
    private static let longestReply = 64 << 20

    /// The bytes of the next message, without its NUL.
    private func receive(until deadline: ContinuousClock.Instant?) throws(ServiceCallError) -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: 16_384)
        var searched = 0
        while true {
            if let end = received[searched...].firstIndex(of: 0) {
                defer { received.removeSubrange(...end) }
                return Array(received[..<end])
            }
            guard received.count < Self.longestReply else { throw .malformedReply }
            if let deadline, ContinuousClock.now > deadline { throw .timedOut }
            searched = received.count
            let count = recv(socket.number, &chunk, chunk.count, 0)
            if count > 0 {
                received.append(contentsOf: chunk[..<count])
            } else if count == 0 {
                throw .disconnected
            } else if errno == EAGAIN {
                try wait(for: POLLIN, until: deadline)
            } else if errno != EINTR {
                throw .disconnected
            }
        }
    }

    private func wait(for event: Int32, until deadline: ContinuousClock.Instant?) throws(ServiceCallError) {
        var request = pollfd(fd: socket.number, events: Int16(clamping: event), revents: 0)
        guard let deadline else {
            _ = poll(&request, 1, -1)
            return
        }
        let left = deadline - .now
        guard left > .zero else { throw .timedOut }
        let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
        _ = poll(&request, 1, Int32(clamping: milliseconds))
    }

    private struct Call<Parameters: Encodable>: Encodable {
        let method: String
        let parameters: Parameters
        let more: Bool?
    }

    private struct ReplyMessage<Reply: Decodable>: Decodable {
        enum Key: CodingKey { case error, parameters, continues }
        let result: Result<Reply, ServiceCallError>
        /// More replies to the same call come.
        let continues: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            continues = try container.decodeIfPresent(Bool.self, forKey: .continues) ?? false
            if let name = try container.decodeIfPresent(String.self, forKey: .error) {
                let values = try container.decodeIfPresent([String: VarlinkError.Value].self, forKey: .parameters)
                result = .failure(.refused(VarlinkError(name: name, parameters: values ?? [:])))
            } else {
                result = .success(try container.decode(Reply.self, forKey: .parameters))
            }
        }
    }
}
