import SystemCalls

extension Table {
    func addFolderChecks() {
        family("mkdir") {
            check("a new folder is empty and has two links") {
                try mkdir("d")
                let status = try stat("d")
                try expectEqual(status.type, S_IFDIR, "type")
                try expectEqual(status.links, 2, "links")
                try expectEqual(try names(in: "d"), [])
            }
            check("an existing folder, file, link or dangling link is EEXIST") {
                try mkdir("d")
                try makeFile("f")
                try symlink("d", "l")
                try symlink("missing", "dangling")
                for name in ["d", "f", "l", "dangling"] { try expect(.fileExists) { try mkdir(name) } }
            }
            check("dot and dot-dot exist") {
                for name in [".", "..", "./.", "../."] { try expect(.fileExists) { try mkdir(name) } }
            }
            check("a trailing slash is allowed") {
                try mkdir("d/")
                try expectEqual(try stat("d").type, S_IFDIR)
            }
            check("each subfolder adds one link to its parent") {
                try mkdir("d")
                for number in 1...5 {
                    try mkdir("d/\(number)")
                    try expectEqual(try stat("d").links, UInt32(2 + number), "links")
                }
                try makeFile("d/file")
                try expectEqual(try stat("d").links, 7, "links")
            }
            check("the parent's times move") {
                try mkdir("d")
                try expectFolderTimesMove("d") { try mkdir("d/e") }
            }
            for (mask, mode, result) in [
                (UInt32(0o022), UInt32(0o777), UInt32(0o755)), (0, 0o777, 0o777), (0o077, 0o755, 0o700), (0o777, 0o777, 0),
                (0, 0o1777, 0o1777),
            ] {
                let (maskText, modeText) = (String(mask, radix: 8), String(mode, radix: 8))
                check("umask \(maskText) takes its bits from mode \(modeText)") {
                    umask(mask)
                    try mkdir("d", mode)
                    try expectMode(try stat("d").permissions, result)
                }
            }
            check("mkdirat is relative to a folder") {
                try mkdir("d")
                try withFile("d", O_RDONLY) { fd in try mkdirat(fd, "e") }
                try expectEqual(try names(in: "d"), ["e"])
            }
            check("a folder without a name left takes no new entry") {
                try mkdir("d")
                let fd = try open("d", O_RDONLY)
                try rmdir("d")
                try expect(.noSuchFileOrDirectory) { try mkdirat(fd, "e") }
                try expect(.noSuchFileOrDirectory) { try openat(fd, "f", O_WRONLY | O_CREAT) }
            }
            rootCheck("a folder without write permission is EACCES") {
                try makeFolder("d", mode: 0o555, owner: .alice)
                try asUser(.alice) { try expect(.permissionDenied) { try mkdir("d/e") } }
            }
            rootCheck("a new folder belongs to who makes it") {
                try makeFolder("d", mode: 0o777)
                try asUser(.bob) { try mkdir("d/e") }
                try expectEqual(try stat("d/e").uid, Identity.bob.uid, "uid")
                try expectEqual(try stat("d/e").gid, Identity.bob.gid, "gid")
            }
        }
        family("rmdir") {
            check("an empty folder is removed") {
                try mkdir("d")
                try rmdir("d")
                try expectGone("d")
                try expectEqual(try names(in: "."), [])
            }
            check("a folder with a file, folder, link or hidden entry is ENOTEMPTY") {
                try mkdir("d")
                for make in [{ try makeFile("d/e") }, { try symlink("x", "d/e") }, { try makeFile("d/.e") }] {
                    try make()
                    try expect(.directoryNotEmpty) { try rmdir("d") }
                    for entry in try names(in: "d") { try unlink("d/\(entry)") }
                }
                try mkdir("d/e")
                try expect(.directoryNotEmpty) { try rmdir("d") }
                try rmdir("d/e")
                try rmdir("d")
            }
            check("a missing folder is ENOENT") { try expect(.noSuchFileOrDirectory) { try rmdir("d") } }
            check("a file is ENOTDIR") {
                try makeFile("f")
                try expect(.notDirectory) { try rmdir("f") }
            }
            check("a link to a folder is ENOTDIR") {
                try mkdir("d")
                try symlink("d", "l")
                try expect(.notDirectory) { try rmdir("l") }
            }
            check("dot is EINVAL") {
                try mkdir("d")
                try expect(.invalidArgument) { try rmdir("d/.") }
                try expect(.invalidArgument) { try rmdir(".") }
            }
            check("dot-dot is ENOTEMPTY") {
                try mkdir("d")
                try mkdir("d/e")
                try expect(.directoryNotEmpty) { try rmdir("d/e/..") }
            }
            check("the parent loses a link and its times move") {
                try mkdir("d")
                try mkdir("d/e")
                try expectFolderTimesMove("d") { try rmdir("d/e") }
                try expectEqual(try stat("d").links, 2, "links")
            }
            check("an open folder that was removed has no links, no list and is no parent") {
                try mkdir("d")
                let fd = try open("d", O_RDONLY)
                try rmdir("d")
                try expectEqual(try fstat(fd).links, 0, "links")
                try expect(.noSuchFileOrDirectory) { try getdents(fd) }
                try expect(.noSuchFileOrDirectory) { try openat(fd, "x", O_RDONLY) }
            }
            check("a removed folder's name can be used at once") {
                for _ in 0..<20 {
                    try mkdir("d")
                    try rmdir("d")
                    try makeFile("d")
                    try unlink("d")
                }
            }
            check("the working directory can be removed, and then finds nothing") {
                try mkdir("d")
                try chdir("d")
                try rmdir("../d")
                try expect(.noSuchFileOrDirectory) { try open("x", O_WRONLY | O_CREAT) }
                try expect(.noSuchFileOrDirectory) { try mkdir("x") }
                try expect(.noSuchFileOrDirectory) { try getcwd() }
                try expectEqual(try stat(".").links, 0, "links")
                try chdir("..")
            }
            check("dot-dot of a removed folder still leads up") {
                try mkdir("d")
                let parent = try stat(".").inode
                try chdir("d")
                try rmdir("../d")
                try expectEqual(try stat("..").inode, parent, "inode")
            }
            rootCheck("a parent without write permission is EACCES") {
                try makeFolder("d", owner: .alice)
                try makeFolder("d/e", owner: .alice)
                try chmod("d", 0o555)
                try asUser(.alice) { try expect(.permissionDenied) { try rmdir("d/e") } }
            }
            rootCheck("a sticky parent lets only the owners remove") {
                try makeFolder("d", mode: 0o1777)
                try makeFolder("d/e", owner: .alice)
                try asUser(.bob) { try expect(.notPermitted) { try rmdir("d/e") } }
                try asUser(.alice) { try rmdir("d/e") }
            }
        }
    }
}
