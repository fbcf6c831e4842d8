import CLinux
import Glibc
public import Logging
public import MountProtocol
internal import NIOCore
internal import NIOPosix
public import StorePrimitives
public import SystemPackage

/// The varlink service of one mount on its Unix socket: a thread that accepts connections, two event loop threads that serve them, and
/// threads that carry out what may take a while (`CallLanes`). Thread-safe.
public final class ServiceServer: Sendable {
    private let socketPath: String
    private let socketIdentity: FileIdentity
    private let group: MultiThreadedEventLoopGroup
    private let lanes: CallLanes
    private let acceptor: ConnectionAcceptor
    /// The mount's requests go before calls: a thread with a longer slice is run later, and gets as much of the processors. In nanoseconds.
    static let slice: CUnsignedLongLong = 20_000_000

    /// Listens on `socketPath`, replacing a socket that an earlier daemon left there, and serves until `stop`.
    /// Connections count against `shares`. Throws .nameTooLong for a path over 107 bytes, .fileExists when something else than a socket is there, otherwise the
    /// errno of socket(2), bind(2), rename(2) or pthread_create(3). Blocks for the set-up, some milliseconds.
    public init(
        socketPath: String, access: ServiceAccess, service: any MountService, version: String,
        limits: ConnectionLimits = ConnectionLimits(), shares: UserShares = UserShares(), threads: CallThreads = CallThreads(), log: Logger
    ) throws(Errno) {
        let bound = try UnixSocket.listen(at: socketPath, mode: access.mode)
        self.socketPath = socketPath
        socketIdentity = bound.identity
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        self.group = group
        for loop in group.makeIterator() { loop.execute { _ = cl_set_thread_slice(Self.slice) } }
        let lanes = CallLanes(threads: threads, accounts: shares.accounts)
        self.lanes = lanes
        let dispatcher = CallDispatcher(service: service, version: version)
        do throws(Errno) {
            acceptor = try ConnectionAcceptor(bound.listener, access: access, shares: shares, log: log) { socket, peer, pause, place in
                Self.serve(socket, on: group) {
                    ConnectionHandler(peer: peer, pause: pause, dispatcher: dispatcher, limits: limits, lanes: lanes, log: log, place: place)
                }
            }
        } catch {
            _ = unlink(socketPath)
            lanes.stop()
            try? group.syncShutdownGracefully()
            throw error
        }
    }

    /// Stops listening, waits for the calls under way, closes every connection and removes the socket file if it is still
    /// this server's. To be called once, and not from a call.
    public func stop() {
        acceptor.stop()
        if let there = UnixSocket.identity(of: socketPath), there == socketIdentity { _ = unlink(socketPath) }
        lanes.stop()
        try? group.syncShutdownGracefully()
    }

    /// Has one of the event loops serve a connection.
    private static func serve(
        _ socket: Int32, on group: MultiThreadedEventLoopGroup, by handler: @escaping @Sendable () -> ConnectionHandler
    ) {
        _ = ClientBootstrap(group: group)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 1024, maximum: 65_536))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(handler()) }
            }
            .withConnectedSocket(socket)
    }
}
