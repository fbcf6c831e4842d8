import SystemCalls

extension Table {
    func addRenameFlagChecks() {
        family("renameat2") {
            check("NOREPLACE moves to a free name") {
                try makeFile("f", "abc")
                try rename("f", "g", flags: RENAME_NOREPLACE)
                try expectContent("g", "abc")
                try expectGone("f")
            }
            check("NOREPLACE refuses a name that exists: file, folder, link, dangling link") {
                try makeFile("f", "abc")
                try makeFile("g")
                try mkdir("d")
                try symlink("g", "l")
                try symlink("missing", "dangling")
                for name in ["g", "d", "l", "dangling"] {
                    try expect(.fileExists) { try rename("f", name, flags: RENAME_NOREPLACE) }
                }
                try expectContent("f", "abc")
            }
            check("NOREPLACE refuses another link of the same file") {
                try makeFile("f")
                try link("f", "g")
                try expect(.fileExists) { try rename("f", "g", flags: RENAME_NOREPLACE) }
            }
            check("EXCHANGE swaps two files") {
                try makeFile("f", "in f")
                try makeFile("g", "in g")
                let (f, g) = (try stat("f").inode, try stat("g").inode)
                try rename("f", "g", flags: RENAME_EXCHANGE)
                try expectContent("f", "in g")
                try expectContent("g", "in f")
                try expectEqual([try stat("f").inode, try stat("g").inode], [g, f], "inodes")
            }
            check("EXCHANGE swaps a file and a folder") {
                try makeFile("f", "abc")
                try mkdir("d")
                try makeFile("d/x", "in d")
                try rename("f", "d", flags: RENAME_EXCHANGE)
                try expectContent("d", "abc")
                try expectContent("f/x", "in d")
            }
            check("EXCHANGE swaps two folders with content and their parents' link counts stay") {
                try mkdir("a")
                try mkdir("b")
                try mkdir("a/d")
                try mkdir("b/e")
                try makeFile("a/d/1")
                try makeFile("b/e/2")
                try rename("a/d", "b/e", flags: RENAME_EXCHANGE)
                try expectEqual(try names(in: "a/d"), ["2"])
                try expectEqual(try names(in: "b/e"), ["1"])
                try expectEqual([try stat("a").links, try stat("b").links], [3, 3], "links")
                try expectEqual(try stat("a/d/..").inode, try stat("a").inode, "inode of ..")
            }
            check("EXCHANGE of a file and a folder between parents moves a link") {
                try mkdir("a")
                try mkdir("b")
                try mkdir("a/x")
                try makeFile("b/y")
                try rename("a/x", "b/y", flags: RENAME_EXCHANGE)
                try expectEqual([try stat("a").links, try stat("b").links], [2, 3], "links")
            }
            check("EXCHANGE with a missing name is ENOENT") {
                try makeFile("f")
                try expect(.noSuchFileOrDirectory) { try rename("f", "g", flags: RENAME_EXCHANGE) }
                try expect(.noSuchFileOrDirectory) { try rename("g", "f", flags: RENAME_EXCHANGE) }
            }
            check("EXCHANGE with one's own subfolder is EINVAL") {
                try mkdir("a")
                try mkdir("a/b")
                try expect(.invalidArgument) { try rename("a", "a/b", flags: RENAME_EXCHANGE) }
                try expect(.invalidArgument) { try rename("a/b", "a", flags: RENAME_EXCHANGE) }
            }
            check("EXCHANGE swaps a link and a file without following") {
                try makeFile("f", "abc")
                try symlink("x", "l")
                try rename("f", "l", flags: RENAME_EXCHANGE)
                try expectContent("l", "abc")
                try expectEqual(try readlink("f"), "x")
            }
            check("EXCHANGE leaves open handles on their files") {
                try makeFile("f", "in f")
                try makeFile("g", "in g")
                let fd = try open("f", O_RDONLY)
                try rename("f", "g", flags: RENAME_EXCHANGE)
                try expectText(try read(fd, 9), "in f")
                try expectEqual(try fstat(fd).inode, try stat("g").inode, "inode")
            }
            check("EXCHANGE moves both change times") {
                try makeFile("f")
                try makeFile("g")
                let before = [try stat("f").change_ns, try stat("g").change_ns]
                pauseForClock()
                try rename("f", "g", flags: RENAME_EXCHANGE)
                try expectTrue(try stat("g").change_ns > before[0], "a later change time of the first")
                try expectTrue(try stat("f").change_ns > before[1], "a later change time of the second")
            }
            check("EXCHANGE of a file with itself does nothing") {
                try makeFile("f", "abc")
                try rename("f", "f", flags: RENAME_EXCHANGE)
                try expectContent("f", "abc")
            }
            check("EXCHANGE with NOREPLACE is EINVAL") {
                try makeFile("f")
                try makeFile("g")
                try expect(.invalidArgument) { try rename("f", "g", flags: RENAME_EXCHANGE | RENAME_NOREPLACE) }
            }
            check("EXCHANGE with WHITEOUT is EINVAL") {
                try makeFile("f")
                try makeFile("g")
                try expect(.invalidArgument) { try rename("f", "g", flags: RENAME_EXCHANGE | RENAME_WHITEOUT) }
            }
            check("an unknown flag is EINVAL") {
                try makeFile("f")
                try expect(.invalidArgument) { try rename("f", "g", flags: 1 << 10) }
            }
            rootCheck("WHITEOUT leaves a character device 0:0 in the old place") {
                try makeFile("f", "abc")
                try orSkip("RENAME_WHITEOUT", [.invalidArgument]) { try rename("f", "g", flags: RENAME_WHITEOUT) }
                try expectContent("g", "abc")
                let status = try lstat("f")
                try expectEqual(status.type, S_IFCHR, "type")
                try expectEqual(status.special, 0, "device")
            }
            rootCheck("WHITEOUT replaces an existing file") {
                try makeFile("f", "abc")
                try makeFile("g", "old")
                try orSkip("RENAME_WHITEOUT", [.invalidArgument]) { try rename("f", "g", flags: RENAME_WHITEOUT) }
                try expectContent("g", "abc")
                try expectEqual(try lstat("f").type, S_IFCHR, "type")
            }
            rootCheck("WHITEOUT with NOREPLACE refuses an existing name") {
                try makeFile("f", "abc")
                try makeFile("g", "old")
                try expect(.fileExists) { try rename("f", "g", flags: RENAME_WHITEOUT | RENAME_NOREPLACE) }
            }
            rootCheck("EXCHANGE needs write permission in both folders") {
                try makeFolder("a", mode: 0o777)
                try makeFolder("b", mode: 0o755)
                try makeFile("a/f")
                try makeFile("b/g")
                try asUser(.alice) {
                    try expect(.permissionDenied) { try rename("a/f", "b/g", flags: RENAME_EXCHANGE) }
                }
            }
            rootCheck("EXCHANGE in a sticky folder is for owners of both files") {
                try makeFolder("d", mode: 0o1777)
                try makeFile("d/f", owner: .alice)
                try makeFile("d/g", owner: .bob)
                try asUser(.alice) {
                    try expect(.notPermitted) { try rename("d/f", "d/g", flags: RENAME_EXCHANGE) }
                }
            }
        }
    }

    func addRenamePermissionChecks() {
        family("rename permissions") {
            rootCheck("the old folder must be writable") {
                try makeFolder("a")
                try makeFolder("b", mode: 0o777)
                try makeFile("a/f", owner: .alice)
                try asUser(.alice) { try expect(.permissionDenied) { try rename("a/f", "b/f") } }
            }
            rootCheck("the new folder must be writable") {
                try makeFolder("a", mode: 0o777)
                try makeFolder("b")
                try makeFile("a/f", owner: .alice)
                try asUser(.alice) { try expect(.permissionDenied) { try rename("a/f", "b/f") } }
            }
            rootCheck("a folder that goes to another parent must be writable itself") {
                try makeFolder("a", mode: 0o777)
                try makeFolder("b", mode: 0o777)
                try makeFolder("a/d", mode: 0o755)
                try asUser(.alice) { try expect(.permissionDenied) { try rename("a/d", "b/d") } }
                try asUser(.alice) { try rename("a/d", "a/e") }
            }
            rootCheck("another's file is renamed in a folder of one's own") {
                try makeFolder("d", owner: .alice)
                try makeFile("d/f", mode: 0o600, owner: .bob)
                try asUser(.alice) { try rename("d/f", "d/g") }
            }
            rootCheck("a sticky folder keeps others' files from being renamed") {
                try makeFolder("d", mode: 0o1777)
                try makeFile("d/f", owner: .alice)
                try asUser(.bob) { try expect(.notPermitted) { try rename("d/f", "d/g") } }
            }
            rootCheck("a sticky folder keeps others' files from being replaced") {
                try makeFolder("d", mode: 0o1777)
                try makeFile("d/f", owner: .alice)
                try makeFile("d/g", owner: .bob)
                try asUser(.bob) { try expect(.notPermitted) { try rename("d/g", "d/f") } }
            }
            rootCheck("a sticky folder lets owners rename their own") {
                try makeFolder("d", mode: 0o1777)
                try makeFile("d/f", owner: .alice)
                try asUser(.alice) { try rename("d/f", "d/g") }
            }
            rootCheck("a sticky folder lets its owner rename all") {
                try makeFolder("d", mode: 0o1777, owner: .bob)
                try makeFile("d/f", owner: .alice)
                try asUser(.bob) { try rename("d/f", "d/g") }
            }
            rootCheck("a sticky source folder keeps others' files from leaving") {
                try makeFolder("d", mode: 0o1777)
                try makeFolder("e", mode: 0o777)
                try makeFile("d/f", mode: 0o666, owner: .alice)
                try asUser(.bob) { try expect(.notPermitted) { try rename("d/f", "e/f") } }
            }
        }
    }
}
