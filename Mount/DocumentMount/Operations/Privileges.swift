import CLinux
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// What the daemon may do, and how it acts for others.
///
/// As root its serving threads keep their capabilities whatever identity they take, except two: CAP_FSETID, so that every
/// write, truncate and chown strips set-ID bits as it would for the app (the kernel leaves that to us, HANDLE_KILLPRIV_V2),
/// and CAP_SYS_RESOURCE, so that quotas hold for who writes through the mount.
struct Privileges: Sendable {
    /// Serves several users: what is made belongs to the caller.
    let actsForCallers: Bool
    /// Kernel passthrough may be asked for.
    let passthrough: Bool

    func prepareThread() {
        // One umask a thread: callers' umasks differ. No privilege is needed.
        _ = cl_unshare_fs()
        guard actsForCallers else { return }
        _ = cl_keep_capabilities()
        _ = cl_raise_capability(Int32(truncatingIfNeeded: CL_CAP_FSETID), 0)
        _ = cl_raise_capability(Int32(truncatingIfNeeded: CL_CAP_SYS_RESOURCE), 0)
    }

    /// Has a prepared thread act for nobody but the daemon again.
    func resetThread() {
        if actsForCallers { _ = cl_assume_ids(geteuid(), getegid()) }
    }

    /// Makes something as the caller: owner, group and umask are the caller's; setgid folders and default ACLs do the rest.
    /// No system call when the thread last acted for the same caller.
    @inline(__always)
    func acting<Result>(as caller: Caller, mode: mode_t, _ make: () throws(Errno) -> Result) throws(Errno) -> Result {
        _ = try check(cl_assume(caller.uid, caller.gid, caller.umask, actsForCallers ? 1 : 0))
        return try keepingGroupBit(mode, make)
    }

    /// Has what the thread does in the store from here on be the caller's: for the room it takes, and for stores whose server judges by
    /// user. Two system calls at most when the thread last acted for another.
    @inline(__always)
    func identify(as caller: Caller) {
        if actsForCallers { _ = cl_assume_ids(caller.uid, caller.gid) }
    }

    /// As whom copies are made for a caller.
    func user(_ caller: Caller) -> ActingUser {
        actsForCallers ? ActingUser(uid: caller.uid, gid: caller.gid) : .daemon
    }

    /// As whom copies are made for a client of the service.
    func user(_ client: Credentials) -> ActingUser {
        actsForCallers ? ActingUser(uid: client.uid, gid: client.gid) : .daemon
    }

    /// As whom the thread acts when it has acted for nobody.
    var ownUser: ActingUser { actsForCallers ? ActingUser(uid: geteuid(), gid: getegid()) : .daemon }

    /// Uses space as the caller: the blocks that a file system keeps for root are not for others. No system call when the thread
    /// last acted for the same caller.
    @inline(__always)
    func using<Result>(as caller: Caller, _ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        if actsForCallers { _ = try check(cl_assume(caller.uid, caller.gid, caller.umask, 1)) }
        return try body()
    }

    /// Changes a file that may have set-ID bits, by a write, a change of its size, space or owner: they stay or go as they would for
    /// the caller, of whose groups the first alone counts.
    func writingSetID<Result>(as caller: Caller, _ write: () throws(Errno) -> Result) throws(Errno) -> Result {
        try using(as: caller) { () throws(Errno) in try keepingGroupBit(caller.uid == 0 ? S_ISGID : 0, write) }
    }

    /// Runs with CAP_FSETID if `mode` has the set-group-ID bit: the kernel has already decided whether the caller may set it.
    @inline(__always)
    func keepingGroupBit<Result>(_ mode: mode_t, _ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        guard actsForCallers, mode & S_ISGID != 0 else { return try body() }
        _ = cl_raise_capability(Int32(truncatingIfNeeded: CL_CAP_FSETID), 1)
        defer { _ = cl_raise_capability(Int32(truncatingIfNeeded: CL_CAP_FSETID), 0) }
        return try body()
    }
}
