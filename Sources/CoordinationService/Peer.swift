/// Who is at the other end of a connection, as the kernel tells (SO_PEERCRED): the credentials the process had when it
/// connected. Every request is authorised by these and never by what a message says.
public struct Peer: Hashable, Sendable {
    public let uid: UInt32
    public let gid: UInt32
    public let pid: Int32

    public init(uid: UInt32, gid: UInt32, pid: Int32) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
    }
}
