import SystemCalls

extension Table {
    func addUnlinkChecks() {
        family("unlink") {
            check("a file is gone") {
                try makeFile("f")
                try unlink("f")
                try expectGone("f")
                try expectEqual(try names(in: "."), [])
            }
            check("a missing file is ENOENT") { try expect(.noSuchFileOrDirectory) { try unlink("f") } }
            check("a folder is EISDIR") {
                try mkdir("d")
                try expect(.isDirectory) { try unlink("d") }
                _ = try stat("d")
            }
            check("dot is EISDIR") { try expect(oneOf: [.isDirectory, .invalidArgument]) { try unlink(".") } }
            check("a trailing slash after a file is ENOTDIR") {
                try makeFile("f")
                try expect(.notDirectory) { try unlink("f/") }
            }
            check("a link is removed, not its target") {
                try makeFile("f", "abc")
                try symlink("f", "l")
                try unlink("l")
                try expectGone("l")
                try expectContent("f", "abc")
            }
            check("a fifo and a socket are removed") {
                try mkfifo("p")
                try mknod("s", UInt32(S_IFSOCK) | 0o644)
                try unlink("p")
                try unlink("s")
                try expectEqual(try names(in: "."), [])
            }
            check("one of two hard links leaves the other") {
                try makeFile("f", "abc")
                try link("f", "g")
                try unlink("f")
                try expectContent("g", "abc")
                try expectEqual(try stat("g").links, 1, "links")
            }
            check("the change time of the other hard link moves") {
                try makeFile("f")
                try link("f", "g")
                try expectChangeTime(of: "g") { try unlink("f") }
            }
            check("the folder's times move") {
                try mkdir("d")
                try makeFile("d/f")
                try expectFolderTimesMove("d") { try unlink("d/f") }
            }
            check("an open file is still read") {
                try makeFile("f", "abc")
                let fd = try open("f", O_RDONLY)
                try unlink("f")
                try expectText(try read(fd, 9), "abc")
            }
            check("an open file is still written") {
                try makeFile("f", "abc")
                let fd = try open("f", O_RDWR)
                try unlink("f")
                try pwrite(fd, "defg", at: 3)
                try expectText(try pread(fd, 9, at: 0), "abcdefg")
                try expectEqual(try fstat(fd).size, 7, "size")
            }
            check("an open file has no links") {
                try makeFile("f", "abc")
                let fd = try open("f", O_RDONLY)
                try unlink("f")
                let status = try fstat(fd)
                try expectEqual(status.links, 0, "links")
                try expectEqual(status.size, 3, "size")
            }
            check("an open file leaves no hidden entry behind") {
                try makeFile("f", "abc")
                let fd = try open("f", O_RDONLY)
                try unlink("f")
                try expectEqual(try names(in: "."), [])
                try close(fd)
            }
            check("a folder whose only file is open and unlinked is removed") {
                try mkdir("d")
                try makeFile("d/f", "abc")
                let fd = try open("d/f", O_RDWR)
                try unlink("d/f")
                try rmdir("d")
                try pwrite(fd, "x", at: 0)
                try expectText(try pread(fd, 9, at: 0), "xbc")
            }
            check("an open file still takes truncate, chmod, times and attributes") {
                try makeFile("f", "abc")
                let fd = try open("f", O_RDWR)
                try unlink("f")
                try ftruncate(fd, 10)
                try fchmod(fd, 0o600)
                try futimens(fd, access: .at(seconds: 5, nanoseconds: 0), modify: .at(seconds: 6, nanoseconds: 0))
                try fsetxattr(fd, "user.x", "v")
                let status = try fstat(fd)
                try expectEqual(status.size, 10, "size")
                try expectMode(status.permissions, 0o600)
                try expectEqual(status.modify_ns, 6_000_000_000, "modification time")
                try expectText(try fgetxattr(fd, "user.x"), "v")
            }
            check("an open file is synced") {
                try makeFile("f", "abc")
                let fd = try open("f", O_RDWR)
                try unlink("f")
                try write(fd, "x")
                try fsync(fd)
                try fdatasync(fd)
            }
            check("an open file is reopened through /proc/self/fd") {
                try makeFile("f", "abc")
                let fd = try open("f", O_RDONLY)
                try unlink("f")
                try withFile("/proc/self/fd/\(fd)", O_RDWR) { again in
                    try write(again, "x")
                    try expectEqual(try fstat(again).inode, try fstat(fd).inode, "inode")
                }
                try expectText(try read(fd, 9), "xbc")
            }
            check("the name made anew is another file") {
                try makeFile("f", "old")
                let fd = try open("f", O_RDONLY)
                try unlink("f")
                try makeFile("f", "new")
                try expectText(try read(fd, 9), "old")
                try expectContent("f", "new")
                try expectTrue(try fstat(fd).inode != stat("f").inode, "two inodes")
            }
            check("an unlinked file is not linked again") {
                try makeFile("f")
                let fd = try open("f", O_RDONLY)
                try unlink("f")
                try expect(.noSuchFileOrDirectory) {
                    try linkat(AT_FDCWD, "/proc/self/fd/\(fd)", AT_FDCWD, "g", AT_SYMLINK_FOLLOW)
                }
            }
            check("a file unlinked by another process is still read") {
                try makeFile("f", "abc")
                let fd = try open("f", O_RDONLY)
                try Child { _ in try unlink("f") }.finish()
                try expectText(try read(fd, 9), "abc")
                try expectEqual(try fstat(fd).links, 0, "links")
            }
            check("a read-only file is removed from a writable folder") {
                try makeFile("f", mode: 0o400)
                try unlink("f")
            }
            check("unlinkat with AT_REMOVEDIR removes a folder") {
                try mkdir("d")
                try mkdir("d/e")
                try withFile("d", O_RDONLY) { fd in
                    try expect(.isDirectory) { try unlinkat(fd, "e") }
                    try unlinkat(fd, "e", AT_REMOVEDIR)
                }
                try expectEqual(try names(in: "d"), [])
            }
            rootCheck("a folder without write permission is EACCES") {
                try makeFolder("d", owner: .alice)
                try makeFile("d/f", owner: .alice)
                try chmod("d", 0o555)
                try asUser(.alice) { try expect(.permissionDenied) { try unlink("d/f") } }
            }
            rootCheck("another's file is removed from a folder of one's own") {
                try makeFolder("d", owner: .alice)
                try makeFile("d/f", mode: 0o600)
                try asUser(.alice) { try unlink("d/f") }
            }
            rootCheck("a sticky folder lets the file's owner remove") {
                try makeFolder("d", mode: 0o1777)
                try makeFile("d/f", owner: .alice)
                try asUser(.alice) { try unlink("d/f") }
            }
            rootCheck("a sticky folder lets the folder's owner remove") {
                try makeFolder("d", mode: 0o1777, owner: .bob)
                try makeFile("d/f", owner: .alice)
                try asUser(.bob) { try unlink("d/f") }
            }
            rootCheck("a sticky folder refuses others") {
                try makeFolder("d", mode: 0o1777)
                try makeFile("d/f", mode: 0o666, owner: .alice)
                try asUser(.bob) { try expect(.notPermitted) { try unlink("d/f") } }
            }
        }
    }
}
