import CLinux
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// Accepts the service's connections on a thread of its own: decides who may connect at all, whether the user's share has room, and how
/// soon the connection is served.
///
/// A connection that is refused costs no more than a few system calls, and after one the thread rests, so that a user who is refused
/// thousands of times a second does not take the processors that others' requests need. Others' connections wait in the kernel's
/// queue meanwhile, which holds 128.
final class ConnectionAcceptor: Sendable {
    /// A connection that was accepted. Its descriptor and its place in the user's share are the receiver's.
    typealias Receiver = @Sendable (_ socket: Int32, _ peer: Peer, _ pause: Duration) -> Void

    private let listener: Descriptor
    private let access: ServiceAccess
    private let shares: UserShares
    private let log: Logger
    private let onConnection: Receiver
    private let pace = Guarded(ConnectionPace(processors: sysconf(Int32(truncatingIfNeeded: _SC_NPROCESSORS_ONLN))))
    private let isOthers = Dispatcher.encode(VarlinkError(.permissionDenied("this mount belongs to another user")))
    private let areTooMany: [UInt8]
    private let thread = Guarded<NamedThread?>(nil)

    /// In microseconds.
    private static let restAfterRefusal: UInt32 = 500

    /// - Parameter listener: a listening socket that blocks.
    init(_ listener: Descriptor, access: ServiceAccess, shares: UserShares, log: Logger, onConnection: @escaping Receiver) throws(Errno) {
        (self.listener, self.access, self.shares, self.log, self.onConnection) = (listener, access, shares, log, onConnection)
        areTooMany = Dispatcher.encode(VarlinkError.tooManyConnections(limit: shares.bound(of: .connections).forUser))
        let started = try NamedThread(starting: "quire-accept") { self.run() }
        thread.withLock { $0 = started }
    }

    /// Stops listening. To be called once.
    func stop() {
        // accept(2) then answers EINVAL, also where it waits.
        shutdown(listener.number, Int32(truncatingIfNeeded: SHUT_RDWR))
        thread.withLock { $0 }?.join()
    }

    private func run() {
        _ = cl_set_thread_slice(ServiceServer.slice)
        while true {
            let socket = cl_accept(listener.number)
            switch -socket {
            case ...0: if !take(socket) { _ = cl_close(socket) }
            case EINVAL: return
            case EINTR, ECONNABORTED: break
            // No descriptors or memory: until somebody lets some go.
            default: usleep(10_000)
            }
        }
    }

    /// False if the connection is not to be.
    private func take(_ socket: Int32) -> Bool {
        guard let user = Peer.user(of: socket) else { return false }
        guard access.allows(user) else { return refuse(isOthers, socket) }
        guard shares.take(.connections, for: user) else {
            log.debug("refused a connection: too many", metadata: ["uid": "\(user)"])
            return refuse(areTooMany, socket)
        }
        guard let peer = Peer(of: socket) else {
            shares.giveBack(.connections, for: user)
            return false
        }
        let most = shares.bound(of: .connections).forUser
        onConnection(socket, peer, pace.withLock { $0.pause(for: user, atMost: most) })
        return true
    }

    /// The message fits any socket's buffer, so this never waits for the peer.
    private func refuse(_ message: [UInt8], _ socket: Int32) -> Bool {
        let flags = Int32(truncatingIfNeeded: MSG_DONTWAIT | MSG_NOSIGNAL)
        _ = message.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, flags) }
        usleep(Self.restAfterRefusal)
        return false
    }
}
