import CLinux
import Glibc
import StorePrimitives
import Synchronization

/// Who is at the other end of a connection, as the kernel tells (SO_PEERCRED, SO_PEERGROUPS): the credentials the process had
/// when it connected. Every request is authorised by these and never by what a message says, nor by what /proc says of the
/// pid, which may be another process's by then.
public struct Peer: Sendable {
    public let uid: UInt32
    public let gid: UInt32
    /// Supplementary groups.
    public let groups: [UInt32]
    public let pid: Int32
    private let process: PeerProcess

    /// When that process was started, in clock ticks since boot: with the number it names the process for ever. Nil if it had ended before
    /// this was asked first; the holder of the connection is then no process that is known. Reads /proc that time, which may take as long as
    /// that process likes: not for a thread that serves other users.
    public var start: UInt64? { process.start }

    public init(uid: UInt32, gid: UInt32, groups: [UInt32], pid: Int32, start: UInt64?) {
        self.init(uid: uid, gid: gid, groups: groups, pid: pid, .started(start))
    }

    private init(uid: UInt32, gid: UInt32, groups: [UInt32], pid: Int32, _ process: PeerProcess) {
        (self.uid, self.gid, self.groups, self.pid, self.process) = (uid, gid, groups, pid, process)
    }

    /// The peer of a connected Unix socket; nil if it is none.
    package init?(of socket: Int32) {
        guard let credentials = Self.credentials(of: socket) else { return nil }
        self.init(credentials, of: socket)
    }

    /// The peer of a connected Unix socket whose credentials are known: some ten system calls more.
    package init(_ credentials: Credentials, of socket: Int32) {
        self.init(
            uid: credentials.uid, gid: credentials.gid, groups: Self.groups(of: socket) ?? [], pid: credentials.pid,
            PeerProcess(credentials.pid, user: credentials.uid, at: socket))
    }

    /// A struct ucred.
    package typealias Credentials = (pid: Int32, uid: UInt32, gid: UInt32)

    /// The user and process at the other end of a connected Unix socket, found by one system call; nil if it is none.
    package static func credentials(of socket: Int32) -> Credentials? {
        var credentials: Credentials = (pid: 0, uid: 0, gid: 0)
        var length = socklen_t(clamping: MemoryLayout.size(ofValue: credentials))
        // Safe: the kernel fills a struct ucred, which is these three fields in this order.
        return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials : nil
    }

    /// Nil on a kernel before 4.13: the peer then has no more than its user and group.
    private static func groups(of socket: Int32) -> [UInt32]? {
        var groups: [UInt32] = []
        var size = socklen_t(0)
        // With too little room the answer is ERANGE, and the size says how much it takes.
        while getsockopt(socket, SOL_SOCKET, CL_SO_PEERGROUPS, &groups, &size) != 0 {
            guard errno == ERANGE, Int(size) / 4 > groups.count else { return nil }
            groups = Array(repeating: 0, count: Int(size) / 4)
        }
        return Array(groups.prefix(Int(size) / 4))
    }
}

/// The process that has connected a socket.
private enum PeerProcess: Sendable {
    /// When it was started; nil if it had ended before.
    case started(UInt64?)
    /// The kernel's handle of it (Linux 6.5): its number may be another process's by now.
    case handle(PeerHandle)

    init(_ pid: Int32, user: UInt32, at socket: Int32) {
        var handle: Int32 = -1
        var length = socklen_t(truncatingIfNeeded: MemoryLayout.size(ofValue: handle))
        if pid > 0, getsockopt(socket, SOL_SOCKET, CL_SO_PEERPIDFD, &handle, &length) == 0 {
            self = .handle(PeerHandle(pid, Descriptor(owning: handle)))
            return
        }
        // ESRCH and ENODATA: it is gone. Else the kernel is older, and who it was is to be found out now.
        var status = stat()
        let isThere = pid > 0 && errno == ENOPROTOOPT && stat("/proc/\(pid)", &status) == 0 && status.st_uid == user
        self = .started(isThere ? ProcessStat(of: pid)?.start : nil)
    }

    var start: UInt64? {
        switch self {
        case .started(let start): start
        case .handle(let handle): handle.start
        }
    }
}

private final class PeerHandle: Sendable {
    private let pid: Int32
    private let process: Descriptor
    private let known = Mutex<UInt64?>(nil)

    init(_ pid: Int32, _ process: consuming Descriptor) { (self.pid, self.process) = (pid, process) }

    /// Kept once it is known.
    var start: UInt64? {
        if let known = known.withLock({ $0 }) { return known }
        let start = ProcessStat(of: pid)?.start
        // Readable once the process has ended; until then the number was its own.
        var poll = pollfd(fd: process.number, events: Int16(truncatingIfNeeded: POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, 0) == 0 else { return nil }
        known.withLock { $0 = start }
        return start
    }
}
