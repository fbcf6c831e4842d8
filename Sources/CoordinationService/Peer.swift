import CLinux
import Glibc

/// Who is at the other end of a connection, as the kernel tells (SO_PEERCRED, SO_PEERGROUPS): the credentials the process had
/// when it connected. Every request is authorised by these and never by what a message says, nor by what /proc says of the
/// pid, which may be another process's by then.
public struct Peer: Hashable, Sendable {
    public let uid: UInt32
    public let gid: UInt32
    /// Supplementary groups.
    public let groups: [UInt32]
    public let pid: Int32

    public init(uid: UInt32, gid: UInt32, groups: [UInt32], pid: Int32) {
        self.uid = uid
        self.gid = gid
        self.groups = groups
        self.pid = pid
    }

    /// The peer of a connected Unix socket; nil if it is none.
    init?(of socket: Int32) {
        var credentials = (pid: Int32(0), uid: UInt32(0), gid: UInt32(0))
        var length = socklen_t(MemoryLayout.size(ofValue: credentials))
        // Safe: the kernel fills a struct ucred, which is these three fields in this order.
        guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
        self.init(
            uid: credentials.uid, gid: credentials.gid, groups: Self.groups(of: socket) ?? [], pid: credentials.pid)
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
