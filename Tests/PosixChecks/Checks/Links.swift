import SystemCalls

extension Table {
    func addLinkChecks() {
        family("link") {
            check("two names are one file") {
                try makeFile("f", "abc")
                try link("f", "g")
                let (f, g) = (try stat("f"), try stat("g"))
                try expectEqual(f.inode, g.inode, "inode")
                try expectEqual([f.links, g.links], [2, 2], "links")
            }
            check("what is written by one name is read by the other") {
                try makeFile("f", "abc")
                try link("f", "g")
                try withFile("f", O_WRONLY) { fd in try write(fd, "xyz!") }
                try expectContent("g", "xyz!")
                try expectEqual(try stat("g").size, 4, "size")
            }
            check("mode and times are the same by both names at once") {
                try makeFile("f", "abc")
                try link("f", "g")
                _ = try stat("g")
                try chmod("f", 0o600)
                try utimens("f", access: .at(seconds: 1, nanoseconds: 0), modify: .at(seconds: 2, nanoseconds: 0))
                try expectMode(try stat("g").permissions, 0o600)
                try expectEqual(try stat("g").modify_ns, 2_000_000_000, "modification time")
            }
            check("truncating by one name is seen by the other") {
                try makeFile("f", "abcdef")
                try link("f", "g")
                _ = try stat("g")
                try truncate("f", 2)
                try expectContent("g", "ab")
            }
            check("an existing name is EEXIST") {
                try makeFile("f")
                try makeFile("g")
                try mkdir("d")
                for name in ["g", "d", "f"] { try expect(.fileExists) { try link("f", name) } }
            }
            check("a missing file is ENOENT") { try expect(.noSuchFileOrDirectory) { try link("f", "g") } }
            check("a folder is EPERM") {
                try mkdir("d")
                try expect(.notPermitted) { try link("d", "e") }
            }
            check("a link into another folder works") {
                try mkdir("d")
                try makeFile("f", "abc")
                try link("f", "d/g")
                try expectContent("d/g", "abc")
                try expectEqual(try stat("f").links, 2, "links")
            }
            check("the file's change time moves, its modification time stays") {
                try makeFile("f")
                let before = try stat("f")
                try expectChangeTime(of: "f") { try link("f", "g") }
                try expectEqual(try stat("f").modify_ns, before.modify_ns, "modification time")
            }
            check("the new name's folder's times move") {
                try mkdir("d")
                try makeFile("f")
                try expectFolderTimesMove("d") { try link("f", "d/g") }
            }
            check("a hundred links are counted up and down") {
                try makeFile("f", "abc")
                for number in 1...100 { try link("f", "l\(number)") }
                try expectEqual(try stat("f").links, 101, "links")
                for number in 1...100 { try unlink("l\(number)") }
                try expectEqual(try stat("f").links, 1, "links")
            }
            check("a symbolic link itself is linked") {
                try makeFile("f")
                try symlink("f", "l")
                try link("l", "m")
                try expectEqual(try readlink("m"), "f")
                try expectEqual(try lstat("l").inode, try lstat("m").inode, "inode")
            }
            check("AT_SYMLINK_FOLLOW links the target") {
                try makeFile("f", "abc")
                try symlink("f", "l")
                try linkat(AT_FDCWD, "l", AT_FDCWD, "g", AT_SYMLINK_FOLLOW)
                try expectEqual(try lstat("g").inode, try stat("f").inode, "inode")
            }
            check("an open file is linked through /proc/self/fd") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in
                    try linkat(AT_FDCWD, "/proc/self/fd/\(fd)", AT_FDCWD, "g", AT_SYMLINK_FOLLOW)
                }
                try expectEqual(try stat("g").inode, try stat("f").inode, "inode")
            }
            check("a fifo is linked") {
                try mkfifo("p")
                try link("p", "q")
                try expectEqual(try stat("q").type, S_IFIFO, "type")
                try expectEqual(try stat("q").links, 2, "links")
            }
            check("an open handle sees the links change") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in
                    try link("f", "g")
                    try expectEqual(try fstat(fd).links, 2, "links")
                    try unlink("f")
                    try expectEqual(try fstat(fd).links, 1, "links")
                }
            }
            check("a file made, linked and unlinked keeps its inode and content") {
                try makeFile("f", "abc")
                let inode = try stat("f").inode
                try link("f", "g")
                try unlink("f")
                try link("g", "f")
                try unlink("g")
                try expectEqual(try stat("f").inode, inode, "inode")
                try expectContent("f", "abc")
            }
            check("another file system is EXDEV") {
                try makeFile("f")
                try expect(.improperLink) { try link("/proc/self/status", "g") }
                try expect(.improperLink) { try rename("f", "/proc/posix-check") }
            }
            rootCheck("AT_EMPTY_PATH links an open file") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in try linkat(fd, "", AT_FDCWD, "g", AT_EMPTY_PATH) }
                try expectEqual(try stat("g").inode, try stat("f").inode, "inode")
            }
            rootCheck("a folder without write permission is EACCES") {
                try makeFolder("d")
                try makeFile("f", owner: .alice)
                try asUser(.alice) { try expect(.permissionDenied) { try link("f", "d/g") } }
            }
            rootCheck("an owner links into a folder of theirs") {
                try makeFolder("d", owner: .alice)
                try makeFile("f", owner: .alice)
                try asUser(.alice) { try link("f", "d/g") }
                try expectEqual(try stat("f").links, 2, "links")
            }
        }
    }

    func addSymlinkChecks() {
        family("symlink") {
            check("readlink gives the target as written") {
                for (index, target) in [
                    "f", "../x//y/./z", "/absolute/path", " ", "missing/", String(repeating: "t", count: 300),
                ]
                .enumerated() {
                    try symlink(target, "l\(index)")
                    try expectEqual(try readlink("l\(index)"), target)
                }
            }
            check("the size of a link is its target's length") {
                for length in [1, 59, 60, 61, 255, 1000, 4000] {
                    try symlink(String(repeating: "t", count: length), "l\(length)")
                    try expectEqual(try lstat("l\(length)").size, UInt64(length), "size")
                    try expectEqual(try readlink("l\(length)").utf8.count, length, "length")
                }
            }
            check("a target of 4095 bytes works where the file system allows, 4096 is ENAMETOOLONG") {
                probe("target of 4095 bytes") { try symlink(String(repeating: "t", count: 4095), "l") }
                try expect(.fileNameTooLong) { try symlink(String(repeating: "t", count: 4096), "m") }
            }
            check("an empty target is ENOENT") { try expect(.noSuchFileOrDirectory) { try symlink("", "l") } }
            check("an existing name is EEXIST") {
                try makeFile("f")
                try mkdir("d")
                try symlink("x", "l")
                for name in ["f", "d", "l"] { try expect(.fileExists) { try symlink("y", name) } }
            }
            check("a link's mode is 777 whatever the umask") {
                umask(0o077)
                try symlink("x", "l")
                try expectMode(try lstat("l").mode, 0o120777)
            }
            check("stat follows, lstat does not") {
                try makeFile("f", "abc")
                try symlink("f", "l")
                try expectEqual(try stat("l").inode, try stat("f").inode, "inode")
                try expectEqual(try lstat("l").type, S_IFLNK, "type")
            }
            check("a dangling link is there, its target is not") {
                try symlink("missing", "l")
                try expectEqual(try lstat("l").type, S_IFLNK, "type")
                try expect(.noSuchFileOrDirectory) { try stat("l") }
                try expect(.noSuchFileOrDirectory) { try open("l", O_RDONLY) }
            }
            check("a link that points to itself is ELOOP") {
                try symlink("l", "l")
                try expect(.tooManySymbolicLinkLevels) { try stat("l") }
                _ = try lstat("l")
            }
            check("readlink of a file or folder is EINVAL") {
                try makeFile("f")
                try mkdir("d")
                for name in ["f", "d"] { try expect(.invalidArgument) { try readlink(name) } }
            }
            check("readlink into too little room gives the beginning") {
                try symlink("abcdef", "l")
                try expectEqual(try readlink("l", room: 3), "abc")
            }
            check("a link into a folder is walked through") {
                try mkdir("d")
                try makeFile("d/f", "abc")
                try symlink("d", "l")
                try expectContent("l/f", "abc")
                try makeFile("l/g")
                try expectEqual(try names(in: "d"), ["f", "g"])
            }
            check("an absolute target leaves the folder") {
                try symlink("/proc/self/status", "l")
                try expectTrue(!content("l").isEmpty, "a status")
            }
            check("dot-dot in a target is relative to the link's folder") {
                try mkdir("d")
                try makeFile("f", "abc")
                try symlink("../f", "d/l")
                try expectContent("d/l", "abc")
            }
            check("a link replaced by rename leads to the new target") {
                try makeFile("one", "1")
                try makeFile("two", "2")
                try symlink("one", "l")
                try expectContent("l", "1")
                try symlink("two", "l2")
                try rename("l2", "l")
                try expectContent("l", "2")
            }
            check("a link has one link and times of its own") {
                try makeFile("f")
                try symlink("f", "l")
                try expectEqual(try lstat("l").links, 1, "links")
                try utimens(
                    "l", access: .at(seconds: 7, nanoseconds: 0), modify: .at(seconds: 8, nanoseconds: 9),
                    flags: AT_SYMLINK_NOFOLLOW)
                try expectEqual(try lstat("l").modify_ns, 8_000_000_009, "link's modification time")
                try expectTrue(try stat("f").modify_ns != 8_000_000_009, "another time of the target")
            }
            check("the folder's times move") {
                try mkdir("d")
                try expectFolderTimesMove("d") { try symlink("x", "d/l") }
            }
            check("chmod through a link changes the target") {
                try makeFile("f")
                try symlink("f", "l")
                try chmod("l", 0o600)
                try expectMode(try stat("f").permissions, 0o600)
                try expectMode(try lstat("l").permissions, 0o777)
            }
            check("the link's modification does not touch the target's times") {
                try makeFile("f")
                let before = try stat("f").change_ns
                pauseForClock()
                try symlink("f", "l")
                try unlink("l")
                try expectEqual(try stat("f").change_ns, before, "change time")
            }
            rootCheck("lchown gives the link away, not the target") {
                try makeFile("f")
                try symlink("f", "l")
                try lchown("l", 61001, 61002)
                try expectEqual([try lstat("l").uid, try lstat("l").gid], [61001, 61002], "owner of the link")
                try expectEqual(try stat("f").uid, 0, "owner of the target")
            }
            rootCheck("chown through a link gives the target away") {
                try makeFile("f")
                try symlink("f", "l")
                try chown("l", 61001, 61002)
                try expectEqual(try stat("f").uid, 61001, "owner of the target")
                try expectEqual(try lstat("l").uid, 0, "owner of the link")
            }
        }
    }
}
