import SystemCalls

extension Table {
    func addReadWriteChecks() {
        family("read and write") {
            check("what is written is read") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try expectEqual(try write(fd, pattern(10000)), 10000, "written")
                    try expectTrue(try pread(fd, 20000, at: 0) == pattern(10000), "the same bytes")
                }
            }
            check("reading at the end gives nothing") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in
                    try expectEqual(try pread(fd, 5, at: 3), [])
                    try expectEqual(try pread(fd, 5, at: 1 << 40), [])
                }
            }
            check("reading across the end gives what there is") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in try expectText(try pread(fd, 5, at: 1), "bc") }
            }
            check("a file that grew is read on") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in
                    try expectText(try read(fd, 10), "abc")
                    try expectEqual(try read(fd, 10), [])
                    try withFile("f", O_WRONLY | O_APPEND) { other in try write(other, "def") }
                    try expectText(try read(fd, 10), "def")
                }
            }
            check("a file that another process appends to is read on, 100 times") {
                try makeFile("f")
                let writer = try Child { side in
                    let fd = try open("f", O_WRONLY | O_APPEND)
                    for number in 0..<100 {
                        try side.awaitParent()
                        try write(fd, "line \(number)\n")
                        try side.tell()
                    }
                }
                try withFile("f", O_RDONLY) { fd in
                    for number in 0..<100 {
                        try writer.tell()
                        try writer.awaitChild()
                        try expectText(try read(fd, 100), "line \(number)\n")
                    }
                }
                try writer.finish()
            }
            check("pread and pwrite leave the position") {
                try makeFile("f", "abcdef")
                try withFile("f", O_RDWR) { fd in
                    try lseek(fd, 2, SEEK_SET)
                    _ = try pread(fd, 3, at: 0)
                    try pwrite(fd, "X", at: 5)
                    try expectEqual(try lseek(fd, 0, SEEK_CUR), 2, "position")
                    try expectText(try read(fd, 9), "cdeX")
                }
            }
            check("a negative offset is EINVAL") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    try expect(.invalidArgument) { try pread(fd, 1, at: -1) }
                    try expect(.invalidArgument) { try pwrite(fd, "x", at: -1) }
                    try expect(.invalidArgument) { try lseek(fd, -1, SEEK_SET) }
                }
            }
            check("reading and writing nothing works") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    try expectEqual(try read(fd, 0), [])
                    try expectEqual(try write(fd, ""), 0, "written")
                }
                try expectContent("f", "abc")
            }
            check("writing beyond the end leaves zeros between") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in try pwrite(fd, "x", at: 5) }
                try expectEqual(try content("f"), Array("abc".utf8) + [0, 0, UInt8(ascii: "x")])
            }
            check("overlapping writes in any order leave the last") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try pwrite(fd, "aaaaaaaa", at: 0)
                    try pwrite(fd, "bbbb", at: 2)
                    try pwrite(fd, "cc", at: 3)
                    try pwrite(fd, "d", at: 7)
                }
                try expectContent("f", "aabccbad")
            }
            check("readv fills its buffers in order") {
                try makeFile("f", "abcdefgh")
                try withFile("f", O_RDONLY) { fd in
                    let parts = try readv(fd, [3, 1, 10])
                    try expectEqual(parts.map { String(decoding: $0, as: UTF8.self) }, ["abc", "d", "efgh"])
                }
            }
            check("writev writes its buffers in order") {
                try makeFile("f")
                try withFile("f", O_WRONLY) { fd in try writev(fd, [Array("abc".utf8), [], Array("de".utf8)]) }
                try expectContent("f", "abcde")
            }
            check("preadv and pwritev use an offset") {
                try makeFile("f", "abcdefgh")
                try withFile("f", O_RDWR) { fd in
                    try writev(fd, [Array("X".utf8), Array("YZ".utf8)], at: 2)
                    let parts = try readv(fd, [2, 4], at: 1)
                    try expectEqual(parts.map { String(decoding: $0, as: UTF8.self) }, ["bX", "YZfg"])
                    try expectEqual(try lseek(fd, 0, SEEK_CUR), 0, "position")
                }
            }
            check("appends through two handles do not overwrite") {
                try makeFile("f")
                try withFile("f", O_WRONLY | O_APPEND) { one in
                    try withFile("f", O_WRONLY | O_APPEND) { two in
                        for round in 0..<50 { try write(round % 2 == 0 ? one : two, "\(round);") }
                    }
                }
                try expectContent("f", (0..<50).map { "\($0);" }.joined())
            }
            check("appends by four processes at once are all there and whole") {
                try makeFile("f")
                let writers = try (0..<4).map { writer in
                    try Child { side in
                        try side.awaitParent()
                        let fd = try open("f", O_WRONLY | O_APPEND)
                        for number in 0..<100 { try write(fd, "<\(writer):\(number)>\n") }
                    }
                }
                for writer in writers { try writer.tell() }
                for writer in writers { try writer.finish() }
                let lines = try content("f").split(separator: UInt8(ascii: "\n")).map {
                    String(decoding: $0, as: UTF8.self)
                }
                let expected = (0..<4).flatMap { writer in (0..<100).map { "<\(writer):\($0)>" } }
                try expectEqual(lines.count, 400, "lines")
                try expectTrue(Set(lines) == Set(expected), "every line once")
            }
            check("pwrite on an appending handle appends, as Linux does") {
                try makeFile("f", "abc")
                try withFile("f", O_WRONLY | O_APPEND) { fd in try pwrite(fd, "x", at: 0) }
                try expectContent("f", "abcx")
            }
            check("megabytes at once come back") {
                let bytes = pattern(5_000_001)
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try expectEqual(try write(fd, bytes), bytes.count, "written")
                    try expectTrue(try pread(fd, bytes.count, at: 0) == bytes, "the same bytes")
                }
                try expectTrue(try content("f") == bytes, "the same bytes in a new handle")
            }
            check("reads at odd offsets and lengths are exact") {
                try makePatternFile("f", 300_000)
                let all = pattern(300_000)
                try withFile("f", O_RDONLY) { fd in
                    var offset = 1
                    for length in [1, 3, 511, 513, 4095, 4097, 65537, 131_071, 9000] {
                        try expectTrue(
                            try pread(fd, length, at: offset) == Array(all[offset..<min(300_000, offset + length)]),
                            "\(length) bytes at \(offset)")
                        offset += 12345
                    }
                }
            }
            check("a write is read by another process at once, 200 times") {
                try makeFile("f", "0000")
                let reader = try Child { side in
                    let fd = try open("f", O_RDONLY)
                    for number in 1000..<1200 {
                        try side.awaitParent()
                        try expectText(try pread(fd, 4, at: 0), "\(number)")
                        try side.tell()
                    }
                }
                try withFile("f", O_WRONLY) { fd in
                    for number in 1000..<1200 {
                        try pwrite(fd, "\(number)", at: 0)
                        try reader.tell()
                        try reader.awaitChild()
                    }
                }
                try reader.finish()
            }
            check("beyond the file size limit is EFBIG with SIGXFSZ, up to it a short write") {
                try makeFile("f")
                try done(sc_set_handler(SIGXFSZ, 1))
                try done(sc_prlimit(RLIMIT_FSIZE, 1000, 1000))
                try withFile("f", O_WRONLY) { fd in
                    try expectEqual(try write(fd, pattern(1500)), 1000, "written")
                    try expect(.fileTooLarge) { try write(fd, "x") }
                    try expect(.fileTooLarge) { try pwrite(fd, "x", at: 1000) }
                    try pwrite(fd, "x", at: 999)
                }
                try expectEqual(try stat("f").size, 1000, "size")
            }
            check("beyond the largest offset is EFBIG or EINVAL") {
                try makeFile("f")
                try withFile("f", O_WRONLY) { fd in
                    try expect(oneOf: [.fileTooLarge, .invalidArgument]) { try pwrite(fd, "xx", at: .max) }
                }
            }
            check("O_DIRECT reads and writes whole blocks") {
                try makeFile("f")
                let fd = try orSkip("O_DIRECT", [.invalidArgument, .notSupportedOnSocket]) {
                    try open("f", O_RDWR | O_DIRECT)
                }
                let buffer = try Mapping(-1, length: 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS)
                buffer.store(pattern(16384), at: 0)
                try expectEqual(try call(SYS_pwrite64, fd, buffer.base, 16384, 0), 16384, "written")
                buffer.store([UInt8](repeating: 0, count: 16384), at: 0)
                try expectEqual(try call(SYS_pread64, fd, buffer.base, 8192, 4096), 8192, "read")
                try expectTrue(buffer.bytes(0..<8192) == pattern(8192, from: 4096), "the same bytes")
                try expectTrue(try content("f") == pattern(16384), "the same bytes through the cache")
            }
            check("O_DIRECT sees what was written through the cache, and the reverse") {
                try makePatternFile("f", 8192)
                let fd = try orSkip("O_DIRECT", [.invalidArgument, .notSupportedOnSocket]) {
                    try open("f", O_RDWR | O_DIRECT)
                }
                let buffer = try Mapping(-1, length: 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS)
                try withFile("f", O_RDWR) { cached in
                    for round in UInt8(1)...20 {
                        try pwrite(cached, [UInt8](repeating: round, count: 4096), at: 4096)
                        try expectEqual(try call(SYS_pread64, fd, buffer.base, 4096, 4096), 4096, "read")
                        try expectEqual(buffer[100], round, "byte read directly")
                        buffer.store([UInt8](repeating: round &+ 100, count: 4096), at: 0)
                        try call(SYS_pwrite64, fd, buffer.base, 4096, 4096)
                        try expectEqual(try pread(cached, 1, at: 4500), [round &+ 100], "byte read through the cache")
                    }
                }
            }
            check("the end of a sequential file is where lseek says") {
                try makeFile("f", "abcdef")
                try withFile("f", O_RDWR) { fd in
                    try expectEqual(try lseek(fd, 0, SEEK_END), 6, "end")
                    try write(fd, "g")
                    try expectEqual(try lseek(fd, -1, SEEK_END), 6, "one before the end")
                    try expectText(try read(fd, 9), "g")
                    try expectEqual(try lseek(fd, 100, SEEK_SET), 100, "beyond the end")
                    try expectEqual(try read(fd, 1), [])
                    try expectEqual(try lseek(fd, -50, SEEK_CUR), 50, "back")
                }
            }
            check("the end is right after another process appended") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in
                    try expectEqual(try lseek(fd, 0, SEEK_END), 3, "end")
                    try Child { _ in try withFile("f", O_WRONLY | O_APPEND) { other in try write(other, "def") } }.finish()
                    try expectEqual(try lseek(fd, 0, SEEK_END), 6, "end")
                }
            }
            check("an unknown whence is EINVAL") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in try expect(.invalidArgument) { try lseek(fd, 0, 99) } }
            }
            check("a bad buffer is EFAULT and harms nothing") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    try expect(.badAddress) { try call(SYS_write, fd, 8, 100) }
                    try expect(.badAddress) { try call(SYS_read, fd, 8, 100) }
                }
                try expectContent("f", "abc")
            }
            check("a file copied in pieces by two handles is the same") {
                try makePatternFile("f", 100_001)
                try withFile("f", O_RDONLY) { input in
                    let output = try open("g", O_WRONLY | O_CREAT)
                    while case let part = try read(input, 777), !part.isEmpty { try write(output, part) }
                    try close(output)
                }
                try expectTrue(try content("g") == pattern(100_001), "the same bytes")
            }
            check("two processes writing halves of one file both count") {
                try makeFile("f")
                let writers = try (0..<2).map { half in
                    try Child { _ in
                        try withFile("f", O_WRONLY) { fd in
                            for part in 0..<100 {
                                try pwrite(fd, [UInt8](repeating: UInt8(half + 1), count: 100), at: part * 200 + half * 100)
                            }
                        }
                    }
                }
                for writer in writers { try writer.finish() }
                let bytes = try content("f")
                try expectEqual(bytes.count, 20000, "size")
                try expectTrue(bytes.enumerated().allSatisfy { Int($1) == $0 / 100 % 2 + 1 }, "each byte its writer's")
            }
        }
    }
}
