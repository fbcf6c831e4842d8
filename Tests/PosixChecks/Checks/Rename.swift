import SystemCalls

extension Table {
    func addRenameChecks() {
        family("rename") {
            check("a file has the new name and not the old") {
                try makeFile("f", "abc")
                let inode = try stat("f").inode
                try rename("f", "g")
                try expectGone("f")
                try expectContent("g", "abc")
                try expectEqual(try stat("g").inode, inode, "inode")
                try expectEqual(try names(in: "."), ["g"])
            }
            check("a missing file is ENOENT") { try expect(.noSuchFileOrDirectory) { try rename("f", "g") } }
            check("an existing file is replaced") {
                try makeFile("f", "new")
                try makeFile("g", "old content")
                try rename("f", "g")
                try expectContent("g", "new")
                try expectEqual(try names(in: "."), ["g"])
            }
            check("a replaced file's other link stays, with one link fewer") {
                try makeFile("f", "new")
                try makeFile("g", "old")
                try link("g", "other")
                try rename("f", "g")
                try expectContent("other", "old")
                try expectEqual(try stat("other").links, 1, "links")
            }
            check("an open replaced file is still read") {
                try makeFile("f", "new")
                try makeFile("g", "old")
                let fd = try open("g", O_RDWR)
                try rename("f", "g")
                try expectText(try read(fd, 9), "old")
                try expectEqual(try fstat(fd).links, 0, "links")
                try pwrite(fd, "still", at: 0)
                try expectContent("g", "new")
            }
            check("an open moved file is still read and written") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    try rename("f", "g")
                    try write(fd, "x")
                }
                try expectContent("g", "xbc")
            }
            check("a file renamed to itself stays") {
                try makeFile("f", "abc")
                try rename("f", "f")
                try expectContent("f", "abc")
            }
            check("one hard link renamed to another of the same file leaves both") {
                try makeFile("f", "abc")
                try link("f", "g")
                try rename("f", "g")
                try expectEqual(try names(in: "."), ["f", "g"])
                try expectEqual(try stat("f").links, 2, "links")
            }
            check("hard links in two folders of the same file stay both") {
                try mkdir("d")
                try makeFile("f", "abc")
                try link("f", "d/g")
                try rename("f", "d/g")
                try expectEqual(try stat("f").inode, try stat("d/g").inode, "inode")
            }
            check("a file goes to another folder") {
                try mkdir("d")
                try mkdir("e")
                try makeFile("d/f", "abc")
                try rename("d/f", "e/f")
                try expectEqual(try names(in: "d"), [])
                try expectContent("e/f", "abc")
            }
            check("both folders' times move") {
                try mkdir("d")
                try mkdir("e")
                try makeFile("d/f")
                try expectFolderTimesMove("d") { try expectFolderTimesMove("e") { try rename("d/f", "e/f") } }
            }
            check("the file's change time moves, its modification time stays") {
                try makeFile("f", "abc")
                let before = try stat("f")
                pauseForClock()
                try rename("f", "g")
                let after = try stat("g")
                try expectTrue(after.change_ns > before.change_ns, "a later change time")
                try expectEqual(after.modify_ns, before.modify_ns, "modification time")
            }
            check("a file does not replace a folder") {
                try makeFile("f")
                try mkdir("d")
                try expect(.isDirectory) { try rename("f", "d") }
            }
            check("a folder does not replace a file") {
                try makeFile("f")
                try mkdir("d")
                try expect(.notDirectory) { try rename("d", "f") }
            }
            check("a folder replaces an empty folder") {
                try mkdir("d")
                try makeFile("d/f", "abc")
                try mkdir("e")
                try rename("d", "e")
                try expectGone("d")
                try expectContent("e/f", "abc")
            }
            check("a folder does not replace a folder with entries") {
                try mkdir("d")
                try mkdir("e")
                try makeFile("e/f")
                try expect(oneOf: [.directoryNotEmpty, .fileExists]) { try rename("d", "e") }
                try expectEqual(try names(in: "."), ["d", "e"])
            }
            check("a replaced empty folder that is open has no links") {
                try mkdir("d")
                try mkdir("e")
                let fd = try open("e", O_RDONLY)
                try rename("d", "e")
                try expectEqual(try fstat(fd).links, 0, "links")
            }
            check("a folder is not moved into itself") {
                try mkdir("d")
                try mkdir("d/e")
                try expect(.invalidArgument) { try rename("d", "d/f") }
                try expect(.invalidArgument) { try rename("d", "d/e/f") }
                try expect(.invalidArgument) { try rename("d", "d/e") }
            }
            check("a folder is not replaced by what is in it") {
                try mkdir("d")
                try mkdir("d/e")
                try mkdir("d/e/f")
                try expect(.directoryNotEmpty) { try rename("d/e/f", "d") }
            }
            check("dot and dot-dot are busy") {
                try mkdir("d")
                for name in ["d/.", "d/..", "."] {
                    try expect(oneOf: [.resourceBusy, .invalidArgument]) { try rename(name, "x") }
                    try expect(oneOf: [.resourceBusy, .invalidArgument]) { try rename("d", name) }
                }
            }
            check("a folder with content moves to another folder, and its dot-dot with it") {
                try mkdir("a")
                try mkdir("b")
                try mkdir("a/d")
                try makeFile("a/d/f", "abc")
                try rename("a/d", "b/d")
                try expectContent("b/d/f", "abc")
                try expectEqual(try stat("b/d/..").inode, try stat("b").inode, "inode of ..")
            }
            check("a moved folder takes one link from the old parent to the new") {
                try mkdir("a")
                try mkdir("b")
                try mkdir("a/d")
                try rename("a/d", "b/d")
                try expectEqual(try stat("a").links, 2, "links of the old parent")
                try expectEqual(try stat("b").links, 3, "links of the new parent")
            }
            check("a folder that replaces a folder takes a link from the parent") {
                try mkdir("p")
                try mkdir("p/a")
                try mkdir("p/b")
                try rename("p/a", "p/b")
                try expectEqual(try stat("p").links, 3, "links")
            }
            check("an open file in a moved folder is still written") {
                try mkdir("a")
                try makeFile("a/f", "abc")
                try withFile("a/f", O_RDWR) { fd in
                    try rename("a", "b")
                    try write(fd, "x")
                }
                try expectContent("b/f", "xbc")
            }
            check("the working directory moves along") {
                try mkdir("a")
                try chdir("a")
                try rename("../a", "../b")
                try makeFile("f", "abc")
                try expectContent("../b/f", "abc")
                try expectTrue(try getcwd().hasSuffix("/b"), "the new name in getcwd")
            }
            check("paths through the old folder name are gone, through the new one found") {
                try mkdir("a")
                try mkdir("a/b")
                try makeFile("a/b/f", "abc")
                try expectContent("a/b/f", "abc")
                try rename("a", "c")
                try expect(.noSuchFileOrDirectory) { try stat("a/b/f") }
                try expectContent("c/b/f", "abc")
            }
            check("two folders change names through a third") {
                try mkdir("a")
                try makeFile("a/in-a")
                try mkdir("b")
                try makeFile("b/in-b")
                try rename("a", "t")
                try rename("b", "a")
                try rename("t", "b")
                try expectEqual(try names(in: "a"), ["in-b"])
                try expectEqual(try names(in: "b"), ["in-a"])
            }
            check("a symbolic link is moved, not its target") {
                try makeFile("f", "abc")
                try symlink("f", "l")
                try rename("l", "m")
                try expectEqual(try readlink("m"), "f")
                try expectContent("f", "abc")
            }
            check("a symbolic link is replaced, not its target") {
                try makeFile("f", "abc")
                try makeFile("g", "new")
                try symlink("f", "l")
                try rename("g", "l")
                try expectContent("l", "new")
                try expectContent("f", "abc")
                try expectEqual(try lstat("l").type, S_IFREG, "type")
            }
            check("a link to a folder is not a folder to replace") {
                try mkdir("d")
                try mkdir("e")
                try symlink("d", "l")
                try expect(.notDirectory) { try rename("e", "l") }
            }
            check("a trailing slash is allowed for folders only") {
                try mkdir("d")
                try makeFile("f")
                try rename("d/", "e/")
                try expect(.notDirectory) { try rename("f/", "g") }
                try expect(.notDirectory) { try rename("f", "g/") }
            }
            check("a fifo, a socket and a link change names") {
                try mkfifo("p")
                try mknod("s", UInt32(S_IFSOCK) | 0o644)
                try symlink("x", "l")
                for name in ["p", "s", "l"] { try rename(name, name + "2") }
                try expectEqual(try names(in: "."), ["l2", "p2", "s2"])
            }
            check("mode, times, attributes and link count come along") {
                try makeFile("f", "abc", mode: 0o640)
                try link("f", "other")
                try setxattr("f", "user.x", "v")
                try utimens("f", access: .at(seconds: 1, nanoseconds: 2), modify: .at(seconds: 3, nanoseconds: 4))
                try rename("f", "g")
                let status = try stat("g")
                try expectMode(status.permissions, 0o640)
                try expectEqual(status.modify_ns, 3_000_000_004, "modification time")
                try expectEqual(status.links, 2, "links")
                try expectText(try getxattr("g", "user.x"), "v")
            }
            check("a save by rename is seen whole by another process, 200 times") {
                try makeFile("doc", String(repeating: "0", count: 100))
                let reader = try Child { side in
                    try side.tell()
                    while (try? stat("stop")) == nil {
                        let bytes = try content("doc")
                        try expectEqual(bytes.count, 100, "size")
                        try expectEqual(Set(bytes).count, 1, "versions in one reading")
                    }
                }
                try reader.awaitChild()
                for round in 0..<200 {
                    try makeFile("doc.tmp", String(repeating: "\(round % 10)", count: 100))
                    try rename("doc.tmp", "doc")
                }
                try makeFile("stop")
                try reader.finish()
            }
            check("renameat takes names relative to two folders") {
                try mkdir("a")
                try mkdir("b")
                try makeFile("a/f", "abc")
                try withFile("a", O_RDONLY) { a in try withFile("b", O_RDONLY) { b in try renameat(a, "f", b, "g") } }
                try expectContent("b/g", "abc")
            }
        }
    }
}
