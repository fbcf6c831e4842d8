import CLinux
import Glibc
public import Logging
internal import NIOCore
internal import NIOPosix
public import StorePrimitives
public import SystemPackage

/// The varlink service of one mount on its Unix socket: two event loop threads for the connections, and threads that
/// carry out what may take a while (`CallLanes`). Thread-safe.
public final class ServiceServer: Sendable {
    private let socketPath: String
    private let socketIdentity: FileIdentity
    private let group: MultiThreadedEventLoopGroup
    private let lanes = CallLanes()
    /// In nanoseconds.
    private static let slice: CUnsignedLongLong = 20_000_000
    private let listener: any Channel

    /// Listens on `socketPath`, replacing a socket that an earlier daemon left there, and serves until `stop`.
    /// Connections count against `shares`. Throws .nameTooLong for a path over 107 bytes, .fileExists when something else than a socket is there, otherwise the
    /// errno of socket(2), bind(2) or rename(2). Blocks for the set-up, some milliseconds.
    public init(
        socketPath: String, access: ServiceAccess, service: any MountService, version: String,
        limits: ServiceLimits = ServiceLimits(), shares: UserShares = UserShares(), log: Logger
    ) throws(Errno) {
        let bound = try UnixSocket.listen(at: socketPath, mode: access.mode)
        self.socketPath = socketPath
        socketIdentity = bound.identity
        group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        // The mount's requests go before calls: a thread with a longer slice is run later, and gets as much of the processors.
        for loop in group.makeIterator() { loop.execute { _ = cl_set_thread_slice(Self.slice) } }
        let lanes = lanes
        let dispatcher = Dispatcher(service: service, version: version)
        let bootstrap = ServerBootstrap(group: group)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 1024, maximum: 65_536)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Self.admit(
                        Self.peer(of: channel), on: channel, access: access, dispatcher: dispatcher, shares: shares,
                        limits: limits, lanes: lanes, log: log)
                }
            }
        do {
            listener = try bootstrap.withBoundSocket(bound.descriptor).wait()
        } catch {
            _ = unlink(socketPath)
            lanes.stop()
            try? group.syncShutdownGracefully()
            throw (error as? IOError).map { Errno(rawValue: $0.errnoCode) } ?? .invalidArgument
        }
    }

    /// Stops listening, waits for the calls under way, closes every connection and removes the socket file if it is still
    /// this server's. To be called once, and not from a call.
    public func stop() {
        try? listener.close().wait()
        if let there = UnixSocket.identity(of: socketPath), there == socketIdentity { _ = unlink(socketPath) }
        lanes.stop()
        try? group.syncShutdownGracefully()
    }

    /// On the channel's event loop.
    private static func peer(of channel: any Channel) throws -> Peer {
        let peer = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            Peer(of: $0)
        }
        guard let peer, let peer else { throw Errno.notSocket }
        return peer
    }

    private static func admit(
        _ peer: Peer, on channel: any Channel, access: ServiceAccess, dispatcher: Dispatcher, shares: UserShares,
        limits: ServiceLimits, lanes: CallLanes, log: Logger
    ) throws {
        guard access.allows(peer) else {
            return refuse(VarlinkError(.permissionDenied("this mount belongs to another user")), on: channel)
        }
        guard shares.take(.connections, for: peer.uid) else {
            log.debug("refused a connection: too many", metadata: ["uid": "\(peer.uid)", "pid": "\(peer.pid)"])
            return refuse(VarlinkError.tooManyConnections(limit: shares.bound(of: .connections).forUser), on: channel)
        }
        let handler = ConnectionHandler(
            peer: peer, dispatcher: dispatcher, limits: limits, lanes: lanes, log: log,
            onClose: { shares.giveBack(.connections, for: peer.uid) })
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    /// Tells a peer why before closing. The message fits any socket buffer, so this never waits for the peer.
    private static func refuse(_ error: VarlinkError, on channel: any Channel) {
        try? channel.pipeline.syncOperations.addHandler(RefusalHandler(message: Dispatcher.encode(error)))
    }
}

/// Sends one message as soon as the channel is up, and closes.
private final class RefusalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let message: [UInt8]

    init(message: [UInt8]) { self.message = message }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: message)), promise: nil)
        context.close(promise: nil)
    }
}
