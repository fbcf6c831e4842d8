import SystemCalls

extension Table {
    func addTruncateChecks() {
        family("truncate") {
            check("a file is shortened") {
                try makeFile("f", "abcdef")
                try truncate("f", 3)
                try expectContent("f", "abc")
            }
            check("a file is extended by zeros") {
                try makeFile("f", "abc")
                try truncate("f", 6)
                try expectEqual(try content("f"), Array("abc".utf8) + [0, 0, 0])
            }
            check("what was cut off does not come back") {
                try makeFile("f", "abcdef")
                try truncate("f", 2)
                try truncate("f", 6)
                try expectEqual(try content("f"), Array("ab".utf8) + [0, 0, 0, 0])
            }
            check("what was cut off in the middle of a page does not come back through a mapping") {
                try makePatternFile("f", 8192)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 8192, PROT_READ | PROT_WRITE, MAP_SHARED)
                    try expectTrue(mapping[5000] != 0 && mapping[100] != 0, "content")
                    try ftruncate(fd, 100)
                    try ftruncate(fd, 8192)
                    try expectEqual(mapping[100], 0, "byte 100")
                    try expectEqual(mapping[5000], 0, "byte 5000")
                    try expectEqual(mapping[99], pattern(100)[99], "byte 99")
                }
            }
            check("zero empties, the same size leaves") {
                try makeFile("f", "abc")
                try truncate("f", 3)
                try expectContent("f", "abc")
                try truncate("f", 0)
                try expectEqual(try stat("f").size, 0, "size")
                try expectEqual(try stat("f").blocks, 0, "blocks")
            }
            check("a negative size is EINVAL") {
                try makeFile("f", "abc")
                try expect(.invalidArgument) { try truncate("f", -1) }
                try withFile("f", O_RDWR) { fd in try expect(.invalidArgument) { try ftruncate(fd, -1) } }
            }
            check("a folder is EISDIR") {
                try mkdir("d")
                try expect(.isDirectory) { try truncate("d", 0) }
            }
            check("a fifo and a socket are EINVAL") {
                try mkfifo("p")
                try mknod("s", UInt32(S_IFSOCK) | 0o644)
                for name in ["p", "s"] { try expect(.invalidArgument) { try truncate(name, 0) } }
            }
            check("the size is seen through all handles at once") {
                try makeFile("f", "abcdef")
                try withFile("f", O_RDWR) { one in
                    try withFile("f", O_RDONLY) { two in
                        try ftruncate(one, 2)
                        try expectEqual(try fstat(two).size, 2, "size")
                        try expectText(try read(two, 9), "ab")
                        try ftruncate(one, 4)
                        try expectEqual(try read(two, 9), [0, 0])
                    }
                }
            }
            check("the position stays, and a write there leaves a hole") {
                try makeFile("f", "abcdef")
                try withFile("f", O_RDWR) { fd in
                    try lseek(fd, 5, SEEK_SET)
                    try ftruncate(fd, 0)
                    try write(fd, "x")
                }
                try expectEqual(try content("f"), [0, 0, 0, 0, 0, UInt8(ascii: "x")])
            }
            check("a changed size moves the modification and change times") {
                try makeFile("f", "abc")
                let before = try stat("f")
                pauseForClock()
                try truncate("f", 1)
                let after = try stat("f")
                try expectTrue(after.modify_ns > before.modify_ns, "a later modification time")
                try expectTrue(after.change_ns > before.change_ns, "a later change time")
            }
            check("the same size by ftruncate moves the modification time") {
                try makeFile("f", "abc")
                let before = try stat("f")
                pauseForClock()
                try withFile("f", O_RDWR) { fd in try ftruncate(fd, 3) }
                try expectTrue(try stat("f").modify_ns > before.modify_ns, "a later modification time")
            }
            check("sizes around pages and blocks are exact") {
                try makePatternFile("f", 20000)
                for size in [16385, 16384, 16383, 8193, 8192, 4097, 4096, 4095, 513, 512, 511, 1] {
                    try truncate("f", size)
                    try expectEqual(try stat("f").size, UInt64(size), "size")
                    try expectTrue(try content("f") == pattern(size), "the first \(size) bytes")
                }
            }
            check("a size beyond 4 GiB is kept and takes no room") {
                try makeFile("f", "abc")
                try truncate("f", 5 << 30)
                let status = try stat("f")
                try expectEqual(status.size, 5 << 30, "size")
                try expectTrue(status.blocks < 1000, "few blocks")
                try truncate("f", 3)
                try expectContent("f", "abc")
            }
            check("a size beyond the limit is EFBIG with SIGXFSZ") {
                try makeFile("f", "abc")
                try expectEqual(
                    try ending {
                        try done(sc_prlimit(RLIMIT_FSIZE, 1000, 1000))
                        try truncate("f", 1001)
                    }, .killed(signal: SIGXFSZ), "end")
                try done(sc_set_handler(SIGXFSZ, 1))
                try done(sc_prlimit(RLIMIT_FSIZE, 1000, 1000))
                try truncate("f", 1000)
                try expect(.fileTooLarge) { try truncate("f", 1001) }
                try withFile("f", O_RDWR) { fd in try expect(.fileTooLarge) { try ftruncate(fd, 1001) } }
                try expectEqual(try stat("f").size, 1000, "size")
            }
            check("the largest offset is EFBIG or works, never wraps") {
                try makeFile("f", "abc")
                probe("size of 2^63 - 1") { try truncate("f", .max) }
                let size = try stat("f").size
                try expectTrue(size == 3 || size == UInt64(Int.max), "the old or the asked size")
            }
            check("a program under way is ETXTBSY") {
                try copyProgram("/bin/cat", to: "program")
                let cat = try RunningProgram("./program")
                try expectText(try cat.answer("running"), "running")
                try expect(.textFileBusy) { try truncate("program", 0) }
                try expect(.textFileBusy) { try open("program", O_WRONLY) }
                try expectEqual(try cat.end(), .exited(0), "end")
                try truncate("program", 0)
            }
            rootCheck("a file without write permission is EACCES") {
                try makeFile("f", "abc", mode: 0o444, owner: .alice)
                try asUser(.alice) { try expect(.permissionDenied) { try truncate("f", 0) } }
                try expectContent("f", "abc")
            }
            rootCheck("a handle opened for writing truncates after permission was taken") {
                try makeFile("f", "abc", mode: 0o644, owner: .alice)
                try asUser(.alice) {
                    try withFile("f", O_WRONLY) { fd in
                        try chmod("f", 0)
                        try ftruncate(fd, 1)
                    }
                }
                try expectContent("f", "a")
            }
        }
    }
}
