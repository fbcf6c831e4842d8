import SystemCalls

extension Table {
    func addOwnerChecks() {
        family("chown") {
            check("owner and group left as they are, as an owner may") {
                try makeFile("f")
                let before = try stat("f")
                try chown("f", -1, -1)
                try chown("f", Int(geteuid()), Int(getegid()))
                try expectEqual(try stat("f").uid, before.uid, "uid")
            }
            rootCheck("root gives a file away, by path and by handle") {
                try makeFile("f")
                try chown("f", 61001, 61002)
                try expectEqual([try stat("f").uid, try stat("f").gid], [61001, 61002], "owner")
                try withFile("f", O_RDONLY) { fd in try fchown(fd, 61003, 61004) }
                try expectEqual([try stat("f").uid, try stat("f").gid], [61003, 61004], "owner")
            }
            rootCheck("root gives a folder, fifo and socket away") {
                try mkdir("d")
                try mkfifo("p")
                try mknod("s", UInt32(S_IFSOCK) | 0o644)
                for name in ["d", "p", "s"] {
                    try chown(name, 61001, 61002)
                    try expectEqual([try stat(name).uid, try stat(name).gid], [61001, 61002], "owner of \(name)")
                }
            }
            rootCheck("-1 leaves a part") {
                try makeFile("f")
                try chown("f", 61001, -1)
                try expectEqual([try stat("f").uid, try stat("f").gid], [61001, 0], "owner")
                try chown("f", -1, 61002)
                try expectEqual([try stat("f").uid, try stat("f").gid], [61001, 61002], "owner")
            }
            rootCheck("large ids are kept") {
                try makeFile("f")
                try chown("f", 0xffff_fffe, 0xffff_fffd)
                try expectEqual([try stat("f").uid, try stat("f").gid], [0xffff_fffe, 0xffff_fffd], "owner")
            }
            rootCheck("the change time moves, the modification time stays") {
                try makeFile("f")
                let before = try stat("f")
                try expectChangeTime(of: "f") { try chown("f", 61001, 61001) }
                try expectEqual(try stat("f").modify_ns, before.modify_ns, "modification time")
            }
            rootCheck("an open unlinked file changes hands by handle") {
                try makeFile("f")
                let fd = try open("f", O_RDONLY)
                try unlink("f")
                try fchown(fd, 61001, 61002)
                try expectEqual([try fstat(fd).uid, try fstat(fd).gid], [61001, 61002], "owner")
            }
            rootCheck("an owner does not give a file away") {
                try makeFile("f", owner: .alice)
                try asUser(.alice) { try expect(.notPermitted) { try chown("f", 61002, -1) } }
            }
            rootCheck("an owner gives a file to a group of theirs") {
                try makeFile("f", owner: .alice)
                try asUser(.alice.joining(Identity.sharedGroup)) { try chown("f", -1, Int(Identity.sharedGroup)) }
                try expectEqual(try stat("f").gid, Identity.sharedGroup, "gid")
            }
            rootCheck("an owner does not give a file to a foreign group") {
                try makeFile("f", owner: .alice)
                try asUser(.alice) { try expect(.notPermitted) { try chown("f", -1, Int(Identity.sharedGroup)) } }
            }
            rootCheck("another's file is EPERM") {
                try makeFile("f", mode: 0o666)
                try asUser(.alice) { try expect(.notPermitted) { try chown("f", 61001, -1) } }
                try asUser(.alice) { try expect(.notPermitted) { try chown("f", -1, 61001) } }
            }
            rootCheck("changing the owner takes setuid and setgid away") {
                try makeFile("f", mode: 0o6755)
                try chown("f", 61001, 61001)
                try expectMode(try stat("f").permissions, 0o755)
            }
            rootCheck("changing the group by the owner takes setuid and setgid away") {
                try makeFile("f", mode: 0o6755, owner: .alice)
                try asUser(.alice.joining(Identity.sharedGroup)) { try chown("f", -1, Int(Identity.sharedGroup)) }
                try expectMode(try stat("f").permissions, 0o755)
            }
            rootCheck("a setgid bit without group execution stays") {
                try makeFile("f", mode: 0o2644)
                try chown("f", 61001, 61001)
                try expectMode(try stat("f").permissions, 0o2644)
            }
            rootCheck("a folder's setgid bit stays") {
                try makeFolder("d", mode: 0o2775)
                try chown("d", 61001, 61001)
                try expectMode(try stat("d").permissions, 0o2775)
            }
        }
    }

    func addPermissionChecks() {
        family("permissions") {
            for (who, identity) in [
                ("owner", Identity.alice), ("group", Identity(uid: 61002, gid: 61001)), ("others", Identity.carol),
            ] {
                let shift: UInt32 = who == "owner" ? 6 : who == "group" ? 3 : 0
                for bits in UInt32(0)...7 {
                    rootCheck("\(who) with bits \(bits) may read: \(bits & 4 != 0), write: \(bits & 2 != 0)") {
                        try makeFile("f", "abc", mode: bits << shift, owner: .alice)
                        try asUser(identity) {
                            func allowed(_ flags: Int32) throws -> Bool {
                                do { try close(try open("f", flags)) } catch {
                                    try expectEqual(error.symbol, "EACCES")
                                    return false
                                }
                                return true
                            }
                            try expectEqual(try allowed(O_RDONLY), bits & 4 != 0, "may read:")
                            try expectEqual(try allowed(O_WRONLY), bits & 2 != 0, "may write:")
                        }
                    }
                }
            }
            rootCheck("the owner's bits count for the owner even if the group's allow more") {
                try makeFile("f", "abc", mode: 0o077, owner: .alice)
                try asUser(.alice) { try expect(.permissionDenied) { try open("f", O_RDONLY) } }
            }
            rootCheck("the group's bits count for a member even if the others' allow more") {
                try makeFile("f", "abc", mode: 0o707)
                try chown("f", 0, Int(Identity.sharedGroup))
                try asUser(.alice.joining(Identity.sharedGroup)) {
                    try expect(.permissionDenied) { try open("f", O_RDONLY) }
                }
            }
            rootCheck("a supplementary group's member reads and writes what the group may") {
                try makeFile("f", "abc", mode: 0o660)
                try chown("f", 0, Int(Identity.sharedGroup))
                try asUser(.alice.joining(61099, Identity.sharedGroup)) {
                    try withFile("f", O_RDWR) { fd in try write(fd, "x") }
                }
                try asUser(.bob.joining(61099)) { try expect(.permissionDenied) { try open("f", O_RDONLY) } }
            }
            rootCheck("a folder without read permission is entered but not listed") {
                try makeFolder("d", mode: 0o711)
                try makeFile("d/f", "abc")
                try asUser(.alice) {
                    try expect(.permissionDenied) { try open("d", O_RDONLY) }
                    try expectContent("d/f", "abc")
                }
            }
            rootCheck("a folder without search permission is listed but not entered") {
                try makeFolder("d", mode: 0o744)
                try makeFile("d/f", "abc")
                try asUser(.alice) {
                    try expectEqual(try names(in: "d"), ["f"])
                    try expect(.permissionDenied) { try stat("d/f") }
                    try expect(.permissionDenied) { try chdir("d") }
                }
            }
            rootCheck("a folder closed while someone stands in it stays closed to others") {
                try makeFolder("d", mode: 0o755)
                try makeFile("d/f", "abc")
                try asUser(.alice) { try expectContent("d/f", "abc") }
                try chmod("d", 0o700)
                try asUser(.alice) { try expect(.permissionDenied) { try stat("d/f") } }
                try chmod("d", 0o755)
                try asUser(.alice) { try expectContent("d/f", "abc") }
            }
            rootCheck("root reads and writes without any permission") {
                try makeFile("f", "abc", mode: 0, owner: .alice)
                try withFile("f", O_RDWR) { fd in try write(fd, "x") }
                try expectContent("f", "xbc")
            }
            rootCheck("root enters and fills a folder without any permission") {
                try makeFolder("d", mode: 0, owner: .alice)
                try makeFile("d/f", "abc")
                try expectContent("d/f", "abc")
            }
        }
        family("access") {
            check("existence is told") {
                try makeFile("f", mode: 0)
                try access("f", F_OK)
                try expect(.noSuchFileOrDirectory) { try access("g", F_OK) }
            }
            check("an unknown mode is EINVAL") {
                try makeFile("f")
                try expect(.invalidArgument) { try access("f", 64) }
            }
            check("a readable and writable file is so, and not executable") {
                try makeFile("f", mode: 0o644)
                try access("f", R_OK | W_OK)
                try expect(.permissionDenied) { try access("f", X_OK) }
            }
            check("a dangling link is ENOENT, and exists without following") {
                try symlink("missing", "l")
                try expect(.noSuchFileOrDirectory) { try access("l", F_OK) }
                try faccessat(AT_FDCWD, "l", F_OK, AT_SYMLINK_NOFOLLOW)
            }
            rootCheck("the bits decide, in every combination") {
                try makeFile("f", owner: .alice)
                for bits in UInt32(0)...7 {
                    try chmod("f", bits << 6)
                    try asUser(.alice) {
                        for (wanted, bit) in [(R_OK, UInt32(4)), (W_OK, 2), (X_OK, 1)] {
                            let answer = (try? access("f", wanted)) != nil
                            try expectEqual(answer, bits & bit != 0, "bits \(bits), wanted \(bit):")
                        }
                    }
                }
            }
            rootCheck("access asks for the real user, AT_EACCESS for the effective") {
                try makeFile("f", mode: 0o600, owner: .alice)
                try Child { _ in
                    // Real bob, effective alice.
                    try call(SYS_setresgid, 61002, 61001, 61001)
                    try call(SYS_setresuid, 61002, 61001, 61001)
                    try expect(.permissionDenied) { try access("f", R_OK) }
                    try faccessat(AT_FDCWD, "f", R_OK, AT_EACCESS)
                }.finish()
            }
            rootCheck("the file system user decides about opening") {
                try makeFile("f", "abc", mode: 0o600, owner: .alice)
                try Child { _ in
                    try call(SYS_setfsgid, 61002)
                    try call(SYS_setfsuid, 61002)
                    try expect(.permissionDenied) { try open("f", O_RDONLY) }
                    try call(SYS_setfsuid, 61001)
                    try expectContent("f", "abc")
                }.finish()
            }
            rootCheck("root may execute only what someone may") {
                try makeFile("f", mode: 0o644)
                try expect(.permissionDenied) { try access("f", X_OK) }
                try chmod("f", 0o645)
                try access("f", X_OK)
            }
            rootCheck("a folder without search permission is EACCES") {
                try makeFolder("d", mode: 0o600, owner: .alice)
                try makeFile("d/f", owner: .alice)
                try asUser(.alice) { try expect(.permissionDenied) { try access("d/f", F_OK) } }
            }
        }
    }
}
