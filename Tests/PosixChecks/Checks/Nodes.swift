import SystemCalls

extension Table {
    func addNodeChecks() {
        family("mknod") {
            for (name, type) in [("fifo", S_IFIFO), ("socket", S_IFSOCK), ("regular file", S_IFREG)] {
                check("a \(name) has its type, mode and one link") {
                    try mknod("n", UInt32(type) | 0o666)
                    let status = try lstat("n")
                    try expectEqual(status.type, type, "type")
                    try expectMode(status.permissions, 0o644)
                    try expectEqual(status.links, 1, "links")
                    try expectEqual(status.size, 0, "size")
                }
                check("a \(name) does not replace what exists") {
                    try makeFile("f")
                    try expect(.fileExists) { try mknod("f", UInt32(type) | 0o644) }
                }
                check("a \(name)'s mode loses the umask's bits") {
                    umask(0o077)
                    try mknod("n", UInt32(type) | 0o777)
                    try expectMode(try lstat("n").permissions, 0o700)
                }
            }
            check("a type of zero makes a regular file") {
                try mknod("n", 0o644)
                try expectEqual(try lstat("n").type, S_IFREG, "type")
            }
            check("a folder is EPERM") { try expect(.notPermitted) { try mknod("n", UInt32(S_IFDIR) | 0o755) } }
            check("a link is EINVAL") { try expect(.invalidArgument) { try mknod("n", UInt32(S_IFLNK) | 0o755) } }
            check("the folder's times move") {
                try mkdir("d")
                try expectFolderTimesMove("d") { try mkfifo("d/p") }
            }
            check("a file made by mknod takes content") {
                try mknod("n", UInt32(S_IFREG) | 0o644)
                try withFile("n", O_WRONLY) { fd in try write(fd, "abc") }
                try expectContent("n", "abc")
            }
            rootCheck("a character device has its number") {
                try mknod("n", UInt32(S_IFCHR) | 0o600, sc_makedev(1, 3))
                let status = try lstat("n")
                try expectEqual(status.type, S_IFCHR, "type")
                try expectEqual(status.special, sc_makedev(1, 3), "device")
            }
            rootCheck("a block device has its number") {
                try mknod("n", UInt32(S_IFBLK) | 0o600, sc_makedev(7, 200))
                let status = try lstat("n")
                try expectEqual(status.type, S_IFBLK, "type")
                try expectEqual(status.special, sc_makedev(7, 200), "device")
            }
            rootCheck("a large device number is kept") {
                try mknod("n", UInt32(S_IFCHR) | 0o600, sc_makedev(4000, 70000))
                try expectEqual(try lstat("n").special, sc_makedev(4000, 70000), "device")
            }
            rootCheck("a device needs privilege") {
                try makeFolder("d", mode: 0o777)
                try asUser(.alice) {
                    try expect(.notPermitted) { try mknod("d/n", UInt32(S_IFCHR) | 0o600, sc_makedev(1, 3)) }
                    try expect(.notPermitted) { try mknod("d/n", UInt32(S_IFBLK) | 0o600, sc_makedev(7, 200)) }
                }
            }
            rootCheck("a fifo and a socket belong to the user that makes them") {
                try makeFolder("d", mode: 0o777)
                try asUser(.bob) {
                    try mkfifo("d/p")
                    try mknod("d/s", UInt32(S_IFSOCK) | 0o644)
                }
                for name in ["d/p", "d/s"] {
                    try expectEqual([try lstat(name).uid, try lstat(name).gid], [61002, 61002], "owner of \(name)")
                }
            }
            check("a fifo carries bytes between two processes") {
                try mkfifo("p")
                let writer = try Child { _ in try withFile("p", O_WRONLY) { fd in try write(fd, "through the fifo") } }
                try expectContent("p", "through the fifo")
                try writer.finish()
            }
            check("a fifo that was renamed while open still carries bytes") {
                try mkfifo("p")
                let reading = try open("p", O_RDONLY | O_NONBLOCK)
                let writing = try open("p", O_WRONLY)
                try rename("p", "q")
                try write(writing, "abc")
                try expectText(try read(reading, 9), "abc")
            }
            check("a unix socket bound in the folder takes connections") {
                let listening = Int32(try call(SYS_socket, AF_UNIX, SOCK_STREAM, 0))
                try done(sc_bind_unix(listening, "s"))
                try expectEqual(try lstat("s").type, S_IFSOCK, "type")
                try call(SYS_listen, listening, 1)
                let client = try Child { _ in
                    let fd = Int32(try call(SYS_socket, AF_UNIX, SOCK_STREAM, 0))
                    try done(sc_connect_unix(fd, "s"))
                    try write(fd, "hello")
                }
                let connection = Int32(try call(SYS_accept4, listening, 0, 0, 0))
                try expectText(try read(connection, 9), "hello")
                try client.finish()
            }
            check("a socket's name in use is not bound again") {
                let one = Int32(try call(SYS_socket, AF_UNIX, SOCK_STREAM, 0))
                try done(sc_bind_unix(one, "s"))
                let two = Int32(try call(SYS_socket, AF_UNIX, SOCK_STREAM, 0))
                try expect(.addressInUse) { try done(sc_bind_unix(two, "s")) }
            }
            check("a socket nobody listens on refuses") {
                try mknod("s", UInt32(S_IFSOCK) | 0o644)
                let fd = Int32(try call(SYS_socket, AF_UNIX, SOCK_STREAM, 0))
                try expect(.connectionRefused) { try done(sc_connect_unix(fd, "s")) }
            }
            check("a socket without a name is not found") {
                let one = Int32(try call(SYS_socket, AF_UNIX, SOCK_STREAM, 0))
                try done(sc_bind_unix(one, "s"))
                try call(SYS_listen, one, 1)
                try unlink("s")
                let fd = Int32(try call(SYS_socket, AF_UNIX, SOCK_STREAM, 0))
                try expect(.noSuchFileOrDirectory) { try done(sc_connect_unix(fd, "s")) }
            }
        }
    }
}
