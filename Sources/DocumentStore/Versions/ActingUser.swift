import CLinux
import Glibc
public import SystemPackage

/// As whom a file of the store or of the state folder is made and filled: whose quota it counts for, whether it may take the blocks
/// that are kept for root, and what a server of the store that judges by user sees. Never whom the thread happened to act for last, so
/// whatever makes something takes one.
public struct ActingUser: Hashable, Sendable {
    public let uid: UInt32
    public let gid: UInt32
    /// Whether the thread takes the identity: the daemon serves several users.
    private let isAssumed: Bool

    /// The user that a daemon that serves several acts for. The thread must have been prepared to keep its capabilities.
    public init(uid: UInt32, gid: UInt32) { (self.uid, self.gid, isAssumed) = (uid, gid, true) }

    private init(daemon uid: UInt32, _ gid: UInt32) { (self.uid, self.gid, isAssumed) = (uid, gid, false) }

    /// Whoever the daemon runs as: only on threads that act for nobody else, or if there is nobody else.
    public static var daemon: ActingUser { ActingUser(daemon: geteuid(), getegid()) }

    /// Has the calling thread act for the user from here on. No system call if it did.
    public func assume() throws(Errno) {
        guard isAssumed else { return }
        let result = cl_assume_ids(uid, gid)
        if result < 0 { throw Errno(rawValue: -result) }
    }
}
