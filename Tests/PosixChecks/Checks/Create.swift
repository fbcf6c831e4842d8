import SystemCalls

extension Table {
    func addCreateChecks() {
        family("create") {
            check("O_EXCL refuses an existing file") {
                try makeFile("f", "abc")
                try expect(.fileExists) { try open("f", O_WRONLY | O_CREAT | O_EXCL) }
                try expectContent("f", "abc")
            }
            check("O_EXCL refuses an existing folder") {
                try mkdir("d")
                try expect(.fileExists) { try open("d", O_WRONLY | O_CREAT | O_EXCL) }
            }
            check("a new file is empty, regular, with one link") {
                let fd = try open("f", O_WRONLY | O_CREAT | O_EXCL)
                let status = try fstat(fd)
                try expectEqual(status.type, S_IFREG, "type")
                try expectEqual(status.size, 0, "size")
                try expectEqual(status.blocks, 0, "blocks")
                try expectEqual(status.links, 1, "links")
            }
            check("a new file belongs to who makes it") {
                try makeFile("f")
                let status = try stat("f")
                try expectEqual(status.uid, geteuid(), "uid")
                try expectEqual(status.gid, getegid(), "gid")
            }
            for (mask, mode, result) in [
                (UInt32(0o022), UInt32(0o666), UInt32(0o644)), (0o077, 0o777, 0o700), (0, 0o777, 0o777), (0o777, 0o666, 0),
                (0o027, 0o666, 0o640), (0, 0, 0),
            ] {
                let (maskText, modeText) = (String(mask, radix: 8), String(mode, radix: 8))
                check("umask \(maskText) takes its bits from mode \(modeText)") {
                    umask(mask)
                    try close(try open("f", O_WRONLY | O_CREAT | O_EXCL, mode))
                    try expectMode(try stat("f").permissions, result)
                }
            }
            check("a file may be made with setuid and setgid bits") {
                umask(0)
                try close(try open("f", O_WRONLY | O_CREAT | O_EXCL, 0o6755))
                try expectMode(try stat("f").permissions, 0o6755)
            }
            check("a file made without read permission is written by its maker") {
                let fd = try open("f", O_RDWR | O_CREAT | O_EXCL, 0)
                try write(fd, "abc")
                try expectText(try pread(fd, 3, at: 0), "abc")
            }
            check("a file made read-only is written through the handle that made it") {
                let fd = try open("f", O_WRONLY | O_CREAT, 0o444)
                try write(fd, "abc")
                try close(fd)
                try expectContent("f", "abc")
            }
            check("the folder's times move") {
                try mkdir("d")
                try expectFolderTimesMove("d") { try makeFile("d/f") }
            }
            check("the folder's times stay when the file existed") {
                try mkdir("d")
                try makeFile("d/f")
                let before = try stat("d")
                pauseForClock()
                try close(try open("d/f", O_WRONLY | O_CREAT))
                try expectEqual(try stat("d").modify_ns, before.modify_ns)
            }
            check("all three times of a new file are about now") {
                try makeFile("a")
                pauseForClock()
                let fd = try open("f", O_WRONLY | O_CREAT)
                let (old, new) = (try stat("a"), try fstat(fd))
                try expectTrue(new.access_ns > old.access_ns, "a later access time")
                try expectTrue(new.modify_ns > old.modify_ns, "a later modification time")
                try expectTrue(new.change_ns > old.change_ns, "a later change time")
            }
            check("a file made and removed can be made again") {
                for round in 0..<50 {
                    try makeFile("f", "round \(round)")
                    try expectContent("f", "round \(round)")
                    try unlink("f")
                    try expectGone("f")
                }
            }
            check("a name that was looked for in vain can be made") {
                try expectGone("f")
                try makeFile("f", "abc")
                try expectContent("f", "abc")
            }
            check("the new file is in its folder's list at once") {
                try makeFile("f")
                try expectEqual(try names(in: "."), ["f"])
            }
            check("one of two processes that make a file with O_EXCL succeeds") {
                for round in 0..<20 {
                    let children = try (0..<2).map { _ in
                        try Child { side in
                            try side.awaitParent()
                            do {
                                try close(try open("f\(round)", O_WRONLY | O_CREAT | O_EXCL))
                            } catch {
                                throw Skipped(reason: (error as? Errno)?.symbol ?? "?")
                            }
                        }
                    }
                    for child in children { try child.tell() }
                    var losers = 0
                    for child in children {
                        do { try child.finish() } catch let lost as Skipped {
                            try expectEqual(lost.reason, "EEXIST")
                            losers += 1
                        }
                    }
                    try expectEqual(losers, 1, "losers")
                }
            }
            check("O_TMPFILE makes a file without a name") {
                let fd = try orSkip("O_TMPFILE") { try open(".", O_RDWR | O_TMPFILE) }
                try write(fd, "abc")
                try expectText(try pread(fd, 9, at: 0), "abc")
                try expectEqual(try fstat(fd).links, 0, "links")
                try expectEqual(try names(in: "."), [])
            }
            check("O_TMPFILE is given a name by linkat") {
                let fd = try orSkip("O_TMPFILE") { try open(".", O_RDWR | O_TMPFILE, 0o640) }
                try write(fd, "abc")
                try linkat(AT_FDCWD, "/proc/self/fd/\(fd)", AT_FDCWD, "f", AT_SYMLINK_FOLLOW)
                try expectContent("f", "abc")
                try expectEqual(try stat("f").links, 1, "links")
                try expectMode(try stat("f").permissions, 0o640)
            }
            check("O_TMPFILE with O_EXCL is given no name") {
                let fd = try orSkip("O_TMPFILE") { try open(".", O_RDWR | O_TMPFILE | O_EXCL) }
                try expect(.noSuchFileOrDirectory) {
                    try linkat(AT_FDCWD, "/proc/self/fd/\(fd)", AT_FDCWD, "f", AT_SYMLINK_FOLLOW)
                }
            }
            check("O_TMPFILE read-only is invalid") {
                try expect(oneOf: [.invalidArgument, .notSupportedOnSocket]) { try open(".", O_RDONLY | O_TMPFILE) }
            }
            rootCheck("a folder without write permission takes no new file") {
                try makeFolder("d", mode: 0o555, owner: .alice)
                try asUser(.alice) { try expect(.permissionDenied) { try open("d/f", O_WRONLY | O_CREAT) } }
            }
            rootCheck("an existing file in a folder without write permission opens with O_CREAT") {
                try makeFolder("d", owner: .alice)
                try makeFile("d/f", "abc", mode: 0o644, owner: .alice)
                try chmod("d", 0o555)
                try asUser(.alice) { try close(try open("d/f", O_RDWR | O_CREAT)) }
            }
            rootCheck("a file made by a user belongs to the user and the user's group") {
                try makeFolder("d", mode: 0o777)
                try asUser(.alice) { try makeFile("d/f") }
                let status = try stat("d/f")
                try expectEqual(status.uid, Identity.alice.uid, "uid")
                try expectEqual(status.gid, Identity.alice.gid, "gid")
            }
            rootCheck("a setgid folder gives its group to a new file") {
                try makeFolder("d")
                try chown("d", 0, Int(Identity.sharedGroup))
                try chmod("d", 0o2777)
                try asUser(.alice) { try makeFile("d/f") }
                try expectEqual(try stat("d/f").gid, Identity.sharedGroup, "gid")
                try expectEqual(try stat("d/f").uid, Identity.alice.uid, "uid")
            }
            rootCheck("a setgid folder gives its group and the bit to a new folder") {
                try makeFolder("d")
                try chown("d", 0, Int(Identity.sharedGroup))
                try chmod("d", 0o2777)
                try asUser(.alice) { try mkdir("d/e") }
                try expectEqual(try stat("d/e").gid, Identity.sharedGroup, "gid")
                try expectMode(try stat("d/e").permissions, 0o2755)
            }
            rootCheck("a new file in another group's setgid folder loses its own setgid bit") {
                try makeFolder("d")
                try chown("d", 0, Int(Identity.sharedGroup))
                try chmod("d", 0o2777)
                try asUser(.alice) {
                    umask(0)
                    try close(try open("d/f", O_WRONLY | O_CREAT | O_EXCL, 0o2775))
                }
                try expectMode(try stat("d/f").permissions, 0o775)
            }
            rootCheck("a folder writable by a supplementary group takes a file from its member") {
                try makeFolder("d")
                try chown("d", 0, Int(Identity.sharedGroup))
                try chmod("d", 0o770)
                try asUser(.alice.joining(Identity.sharedGroup)) {
                    try makeFile("d/f", "abc")
                    try expectContent("d/f", "abc")
                }
                try expectEqual(try stat("d/f").gid, Identity.alice.gid, "gid")
            }
            rootCheck("a folder writable by a group refuses who is not in it") {
                try makeFolder("d")
                try chown("d", 0, Int(Identity.sharedGroup))
                try chmod("d", 0o770)
                try asUser(.bob) { try expect(.permissionDenied) { try makeFile("d/f") } }
            }
            rootCheck("the last of 40 supplementary groups counts") {
                try makeFolder("d")
                try chown("d", 0, Int(Identity.sharedGroup))
                try chmod("d", 0o770)
                var member = Identity.alice
                member.groups = (0..<39).map { 62000 + $0 } + [Identity.sharedGroup]
                try asUser(member) { try makeFile("d/f") }
            }
        }
    }
}
