import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Stream sockets with a name in the file system (unix(7)).
package enum UnixSocket {
    /// Connections the kernel queues for accept(2).
    private static let backlog: Int32 = 128

    /// Binds and listens at `path` with the given permissions. The socket takes its place in one rename, so there is no
    /// moment with wrong permissions or without a socket, and a stale one is replaced. Throws .fileExists if `path` is no
    /// socket.
    package static func listen(at path: String, mode: UInt32) throws(Errno) -> (listener: Descriptor, identity: FileIdentity) {
        var existing = stat()
        if lstat(path, &existing) == 0, existing.st_mode & S_IFMT != S_IFSOCK { throw .fileExists }
        let temporary = "\(path).\(getpid())"
        let listener = Descriptor(owning: try open(nonBlocking: false))
        var succeeded = false
        _ = unlink(temporary)
        try withAddress(temporary) { (address, length) throws(Errno) in
            try call(bind(listener.number, address, length))
        }
        defer { if !succeeded { _ = unlink(temporary) } }
        try call(chmod(temporary, mode))
        try call(Glibc.listen(listener.number, backlog))
        try call(rename(temporary, path))
        guard let identity = identity(of: path) else { throw .noSuchFileOrDirectory }
        succeeded = true
        return (listener, identity)
    }

    /// Connects to `path` until `deadline`. The descriptor is non-blocking. Throws .timedOut, or connect(2)'s errno.
    package static func connect(to path: String, until deadline: ContinuousClock.Instant) throws(Errno) -> Descriptor {
        let socket = Descriptor(owning: try open(nonBlocking: true))
        while true {
            do {
                try withAddress(path) { (address, length) throws(Errno) in
                    try call(Glibc.connect(socket.number, address, length))
                }
                return socket
            } catch .resourceTemporarilyUnavailable {
                // The listener's queue is full; a Unix socket has no event for "there is room again".
                guard ContinuousClock.now < deadline else { throw .timedOut }
                usleep(5_000)
            }
        }
    }

    /// Which file is at `path`, links not followed; nil if none.
    package static func identity(of path: String) -> FileIdentity? {
        var status = cl_status()
        return cl_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status) < 0 ? nil : FileIdentity(status)
    }

    private static func open(nonBlocking: Bool) throws(Errno) -> Int32 {
        let flags = SOCK_CLOEXEC.rawValue | (nonBlocking ? SOCK_NONBLOCK.rawValue : 0)
        return try call(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | flags), 0))
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Errno) -> Void
    ) throws(Errno) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(truncatingIfNeeded: AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < room else { throw .fileNameTooLong }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        // Safe: sockaddr is the common beginning of all socket addresses, and the length says how far this one goes.
        try withUnsafePointer(to: &address) { (pointer) throws(Errno) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (generic) throws(Errno) in
                try body(generic, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    @discardableResult
    private static func call(_ result: Int32) throws(Errno) -> Int32 {
        if result < 0 { throw Errno(rawValue: errno) }
        return result
    }
}
