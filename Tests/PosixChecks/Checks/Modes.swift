import SystemCalls

extension Table {
    func addModeChecks() {
        family("chmod") {
            for mode in [0, 0o400, 0o644, 0o755, 0o777, 0o1755, 0o2755, 0o4755, 0o7777] as [UInt32] {
                check("mode \(String(mode, radix: 8)) is kept, by path and by handle") {
                    try makeFile("f")
                    try withFile("f", O_RDONLY) { fd in
                        try chmod("f", mode)
                        try expectMode(try stat("f").permissions, mode)
                        try fchmod(fd, 0o111)
                        try expectMode(try fstat(fd).permissions, 0o111)
                        try fchmod(fd, mode)
                    }
                    try expectMode(try stat("f").permissions, mode)
                }
                check("mode \(String(mode, radix: 8)) is kept on a folder") {
                    try mkdir("d")
                    try chmod("d", mode)
                    try expectMode(try stat("d").permissions, mode)
                }
            }
            check("the change time moves, the modification time stays") {
                try makeFile("f")
                let before = try stat("f")
                try expectChangeTime(of: "f") { try chmod("f", 0o600) }
                try expectEqual(try stat("f").modify_ns, before.modify_ns, "modification time")
            }
            check("the type stays") {
                try makeFile("f")
                try chmod("f", UInt32(S_IFDIR) | 0o600)
                try expectEqual(try stat("f").type, S_IFREG, "type")
            }
            check("a dangling link is ENOENT") {
                try symlink("missing", "l")
                try expect(.noSuchFileOrDirectory) { try chmod("l", 0o600) }
            }
            check("a fifo and a socket take a mode") {
                try mkfifo("p")
                try mknod("s", UInt32(S_IFSOCK) | 0o644)
                for name in ["p", "s"] {
                    try chmod(name, 0o751)
                    try expectMode(try stat(name).permissions, 0o751)
                }
            }
            check("an open file's mode changes by fchmod after it was unlinked") {
                try makeFile("f")
                let fd = try open("f", O_RDONLY)
                try unlink("f")
                try fchmod(fd, 0o640)
                try expectMode(try fstat(fd).permissions, 0o640)
            }
            rootCheck("another's file is EPERM") {
                try makeFile("f", mode: 0o666)
                try asUser(.alice) { try expect(.notPermitted) { try chmod("f", 0o600) } }
                try asUser(.alice) {
                    try withFile("f", O_RDWR) { fd in try expect(.notPermitted) { try fchmod(fd, 0o600) } }
                }
            }
            rootCheck("an owner changes the mode without any permission on the file") {
                try makeFile("f", mode: 0, owner: .alice)
                try asUser(.alice) { try chmod("f", 0o600) }
                try expectMode(try stat("f").permissions, 0o600)
            }
            rootCheck("an owner outside the file's group loses the setgid bit") {
                try makeFile("f", mode: 0o755, owner: .alice)
                try chown("f", -1, Int(Identity.sharedGroup))
                try asUser(.alice) { try chmod("f", 0o2755) }
                try expectMode(try stat("f").permissions, 0o755)
            }
            rootCheck("an owner with the file's group as a supplementary one keeps the setgid bit") {
                try makeFile("f", mode: 0o755, owner: .alice)
                try chown("f", -1, Int(Identity.sharedGroup))
                try asUser(.alice.joining(Identity.sharedGroup)) { try chmod("f", 0o2755) }
                try expectMode(try stat("f").permissions, 0o2755)
            }
            rootCheck("an owner sets the sticky bit on a folder") {
                try makeFolder("d", owner: .alice)
                try asUser(.alice) { try chmod("d", 0o1777) }
                try expectMode(try stat("d").permissions, 0o1777)
            }
        }
        family("privilege bits") {
            /// A setuid and setgid program of alice's, changed by `change` as alice: what becomes of its bits.
            func changed(
                _ name: String, from mode: UInt32 = 0o6777, to result: UInt32, _ change: @escaping () throws -> Void
            ) {
                rootCheck(name) {
                    try makeFile("f", "abcdef", mode: mode, owner: .alice)
                    try asUser(.alice, change)
                    try expectMode(try stat("f").permissions, result)
                }
            }
            changed("writing takes setuid and setgid away", to: 0o777) {
                try withFile("f", O_WRONLY) { fd in try write(fd, "x") }
            }
            changed("writing at an offset takes setuid and setgid away", to: 0o777) {
                try withFile("f", O_WRONLY) { fd in try pwrite(fd, "x", at: 3) }
            }
            changed("appending takes setuid and setgid away", to: 0o777) {
                try withFile("f", O_WRONLY | O_APPEND) { fd in try write(fd, "x") }
            }
            changed("truncate takes setuid and setgid away", to: 0o777) { try truncate("f", 2) }
            changed("ftruncate takes setuid and setgid away", to: 0o777) {
                try withFile("f", O_WRONLY) { fd in try ftruncate(fd, 2) }
            }
            changed("O_TRUNC takes setuid and setgid away", to: 0o777) { try withFile("f", O_WRONLY | O_TRUNC) { _ in } }
            changed("copy_file_range takes setuid and setgid away", to: 0o777) {
                try withFile("f", O_RDWR) { fd in try copyFileRange(fd, 0, fd, 10, 3) }
            }
            changed("writing without group execution keeps setgid, a lock bit of old", from: 0o6666, to: 0o2666) {
                try withFile("f", O_WRONLY) { fd in try write(fd, "x") }
            }
            changed("reading leaves them", to: 0o6777) { _ = try content("f") }
            changed("setting times leaves them", to: 0o6777) { try touch("f") }
            changed("setting an attribute leaves them", to: 0o6777) { try setxattr("f", "user.x", "v") }
            changed("opening for writing and closing leaves them", to: 0o6777) { try withFile("f", O_RDWR) { _ in } }
            rootCheck("writing by another takes them away") {
                try makeFile("f", "abc", mode: 0o6777, owner: .alice)
                try asUser(.bob) { try withFile("f", O_WRONLY) { fd in try write(fd, "x") } }
                try expectMode(try stat("f").permissions, 0o777)
            }
            rootCheck("writing by root leaves them") {
                try makeFile("f", "abc", mode: 0o6777, owner: .alice)
                // A file system in user space hears of the close a moment after it: until then the file is open twice.
                sleep(milliseconds: 100)
                try withFile("f", O_WRONLY) { fd in try write(fd, "x") }
                try expectMode(try stat("f").permissions, 0o6777)
            }
            rootCheck("writing takes file capabilities away") {
                try makeFile("f", "abc", mode: 0o777, owner: .alice)
                // struct vfs_cap_data, version 2: cap_net_raw permitted and effective.
                try setxattr("f", "security.capability", [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
                try expectEqual(try getxattr("f", "security.capability").count, 20, "size")
                try asUser(.alice) { try withFile("f", O_WRONLY) { fd in try write(fd, "x") } }
                try expect(.noData) { try getxattr("f", "security.capability") }
            }
        }
    }
}
