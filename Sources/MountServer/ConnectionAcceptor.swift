import CLinux
import Glibc
import Logging
import MountProtocol
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
    typealias Receiver = @Sendable (_ socket: Int32, _ peer: Peer, _ pause: Duration, _ place: TakenShare) -> Void

    private let listener: Descriptor
    private let access: ServiceAccess
    private let shares: UserShares
    private let log: Logger
    private let onConnection: Receiver
    private let notAllowed = CallDispatcher.encode(VarlinkError(.permissionDenied("this mount belongs to another user")))
    private let (tooManyOfUser, tooManyOfAll): ([UInt8], [UInt8])
    private let thread = Locked<NamedThread?>(nil)

    /// In microseconds.
    private static let restAfterRefusal: UInt32 = 500

    /// - Parameter listener: a listening socket that blocks.
    init(_ listener: Descriptor, access: ServiceAccess, shares: UserShares, log: Logger, onConnection: @escaping Receiver) throws(Errno) {
        (self.listener, self.access, self.shares, self.log, self.onConnection) = (listener, access, shares, log, onConnection)
        let bound = shares.bound(of: .connections)
        tooManyOfUser = CallDispatcher.encode(VarlinkError.tooManyConnections(limit: bound.forUser))
        tooManyOfAll = CallDispatcher.encode(VarlinkError.tooManyConnections(limit: bound.forAll))
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
        var pace = ConnectionPace(processors: Int(cl_usable_processors()))
        while true {
            let socket = cl_accept(listener.number)
            switch -socket {
            case ...0: if !take(socket, &pace) { _ = cl_close(socket) }
            case EINVAL: return
            case EINTR, ECONNABORTED: break
            // No descriptors or memory: until somebody lets some go.
            default: usleep(10_000)
            }
        }
    }

    /// False if the connection is not to be.
    private func take(_ socket: Int32, _ pace: inout ConnectionPace) -> Bool {
        // Found by one system call: the others are made for connections that are not refused.
        guard let credentials = Peer.credentials(of: socket) else { return false }
        let user = credentials.uid
        guard access.allows(user) else { return refuse(notAllowed, socket) }
        guard let place = TakenShare(.connections, of: shares, for: user) else {
            log.debug("refused a connection: too many", metadata: ["uid": "\(user)"])
            return refuse(shares.refusal(of: .connections, for: user) == .allHaveMost ? tooManyOfAll : tooManyOfUser, socket)
        }
        let pause = pace.pause(for: shares.accounts.owner(of: user), atMost: shares.bound(of: .connections).forUser)
        onConnection(socket, Peer(credentials, of: socket), pause, place)
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
