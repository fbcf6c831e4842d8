import SystemCalls

extension Table {
    func addSparseChecks() {
        family("sparse files") {
            check("a hole reads as zeros") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try pwrite(fd, "end", at: 1_000_000)
                    try expectTrue(try pread(fd, 1_000_000, at: 0).allSatisfy { $0 == 0 }, "zeros")
                    try expectText(try pread(fd, 10, at: 1_000_000), "end")
                }
            }
            check("a hole takes no room") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in try pwrite(fd, "x", at: 100 << 20) }
                try expectTrue(try stat("f").blocks < 1000, "few blocks")
            }
            check("offsets beyond 4 GiB are told apart from their lower halves") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try pwrite(fd, "high", at: (1 << 32) + 100)
                    try pwrite(fd, "low", at: 100)
                    try expectText(try pread(fd, 4, at: (1 << 32) + 100), "high")
                    try expectText(try pread(fd, 3, at: 100), "low")
                    try expectEqual(try fstat(fd).size, (1 << 32) + 104, "size")
                    try expectEqual(try lseek(fd, 0, SEEK_END), (1 << 32) + 104, "end")
                }
            }
            check("an offset near 1 TiB works") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try pwrite(fd, "far", at: 1 << 40)
                    try expectText(try pread(fd, 9, at: 1 << 40), "far")
                }
                try expectEqual(try stat("f").size, (1 << 40) + 3, "size")
            }
            check("SEEK_DATA finds data after a hole, SEEK_HOLE the hole after data") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try pwrite(fd, pattern(65536), at: 1 << 20)
                    try ftruncate(fd, 4 << 20)
                    try fsync(fd)
                    try expectEqual(try lseek(fd, 0, SEEK_DATA), 1 << 20, "data")
                    try expectEqual(try lseek(fd, 1 << 20, SEEK_HOLE), (1 << 20) + 65536, "hole")
                    try expectEqual(try lseek(fd, 0, SEEK_HOLE), 0, "hole at the start")
                    try expect(.noSuchAddressOrDevice) { try lseek(fd, 2 << 20, SEEK_DATA) }
                }
            }
            check("SEEK_HOLE in a full file is the end") {
                try makePatternFile("f", 10000)
                try withFile("f", O_RDONLY) { fd in
                    try expectEqual(try lseek(fd, 0, SEEK_HOLE), 10000, "hole")
                    try expectEqual(try lseek(fd, 5000, SEEK_DATA), 5000, "data")
                }
            }
            check("SEEK_DATA and SEEK_HOLE at or beyond the end are ENXIO") {
                try makePatternFile("f", 10000)
                try withFile("f", O_RDONLY) { fd in
                    for offset in [10000, 20000] {
                        try expect(.noSuchAddressOrDevice) { try lseek(fd, offset, SEEK_DATA) }
                        try expect(.noSuchAddressOrDevice) { try lseek(fd, offset, SEEK_HOLE) }
                    }
                    try expect(.noSuchAddressOrDevice) { try lseek(fd, -1, SEEK_DATA) }
                }
            }
            check("SEEK_DATA moves the position") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try pwrite(fd, "data", at: 1 << 20)
                    try lseek(fd, 0, SEEK_DATA)
                    try expectText([UInt8](try read(fd, 1 << 21).drop { $0 == 0 }), "data")
                }
            }
            check("data just written is not a hole") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try ftruncate(fd, 1 << 20)
                    try pwrite(fd, pattern(4096), at: 524_288)
                    try expectEqual(try lseek(fd, 0, SEEK_DATA), 524_288, "data")
                    try withFile("f", O_RDONLY) { other in try expectEqual(try lseek(other, 0, SEEK_DATA), 524_288, "data")
                    }
                }
            }
        }
        family("fallocate") {
            check("room is given and the file grows") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    try orSkip("fallocate") { try fallocate(fd, 0, 0, 100_000) }
                    try expectEqual(try fstat(fd).size, 100_000, "size")
                    try expectTrue(try fstat(fd).blocks >= 100_000 / 512, "blocks for all of it")
                    try expectText(try pread(fd, 3, at: 0), "abc")
                    try expectTrue(try pread(fd, 99_997, at: 3).allSatisfy { $0 == 0 }, "zeros")
                }
            }
            check("a smaller range does not shrink") {
                try makeFile("f", "abcdef")
                try withFile("f", O_RDWR) { fd in try orSkip("fallocate") { try fallocate(fd, 0, 0, 2) } }
                try expectContent("f", "abcdef")
            }
            check("KEEP_SIZE gives room beyond the end and keeps the size") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    try orSkip("KEEP_SIZE") { try fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100_000) }
                    try expectEqual(try fstat(fd).size, 3, "size")
                    try expectTrue(try fstat(fd).blocks >= 100_000 / 512, "blocks for all of it")
                }
            }
            check("PUNCH_HOLE makes zeros and frees room") {
                try makePatternFile("f", 1 << 20)
                try withFile("f", O_RDWR) { fd in
                    try fsync(fd)
                    let before = try fstat(fd).blocks
                    try orSkip("PUNCH_HOLE") {
                        try fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 65536, 524_288)
                    }
                    try expectEqual(try fstat(fd).size, 1 << 20, "size")
                    try expectTrue(try fstat(fd).blocks <= before - 1000, "fewer blocks")
                    try expectTrue(try pread(fd, 524_288, at: 65536).allSatisfy { $0 == 0 }, "zeros")
                    try expectTrue(try pread(fd, 65536, at: 0) == pattern(65536), "the bytes before")
                    try expectEqual(try lseek(fd, 0, SEEK_HOLE), 65536, "hole")
                }
            }
            check("PUNCH_HOLE of odd ranges is exact") {
                try makePatternFile("f", 20000)
                try withFile("f", O_RDWR) { fd in
                    try orSkip("PUNCH_HOLE") { try fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1001, 9999) }
                    var expected = pattern(20000)
                    for position in 1001..<11000 { expected[position] = 0 }
                    try expectTrue(try pread(fd, 20000, at: 0) == expected, "zeros from 1001 to 10999 only")
                }
            }
            check("PUNCH_HOLE is seen through a mapping and another handle") {
                try makePatternFile("f", 16384)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 16384, PROT_READ, MAP_SHARED)
                    try expectTrue(mapping[5000] != 0, "content")
                    try orSkip("PUNCH_HOLE") { try fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096) }
                    try expectEqual(mapping[5000], 0, "mapped byte")
                    try withFile("f", O_RDONLY) { other in try expectEqual(try pread(other, 1, at: 5000), [0], "byte read")
                    }
                }
            }
            check("PUNCH_HOLE without KEEP_SIZE is EOPNOTSUPP") {
                try makePatternFile("f", 8192)
                try withFile("f", O_RDWR) { fd in
                    try expect(.notSupportedOnSocket) { try fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4096) }
                }
            }
            check("what ZERO_RANGE, COLLAPSE_RANGE, INSERT_RANGE and UNSHARE_RANGE answer") {
                let modes = [
                    ("ZERO_RANGE", FALLOC_FL_ZERO_RANGE),
                    ("ZERO_RANGE | KEEP_SIZE", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE),
                    ("COLLAPSE_RANGE", FALLOC_FL_COLLAPSE_RANGE), ("INSERT_RANGE", FALLOC_FL_INSERT_RANGE),
                    ("UNSHARE_RANGE", FALLOC_FL_UNSHARE_RANGE), ("an unknown mode", 0x1000),
                ]
                for (name, mode) in modes {
                    for (place, offset, length) in [
                        ("inside", 4096, 4096), ("odd", 100, 1000), ("across the end", 12288, 65536),
                    ] {
                        try makePatternFile("f", 16384)
                        try withFile("f", O_RDWR) { fd in
                            probe("\(name) \(place)") { () -> String in
                                try fallocate(fd, mode, offset, length)
                                let bytes = try pread(fd, 1 << 20, at: 0)
                                let sum = bytes.enumerated().reduce(0) { ($0 &+ $1.offset &* Int($1.element)) & 0xffffff }
                                return "size \(try fstat(fd).size) sum \(sum)"
                            }
                        }
                        try unlink("f")
                    }
                }
            }
            check("a negative offset and a length of zero are EINVAL") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try expect(.invalidArgument) { try fallocate(fd, 0, -1, 10) }
                    try expect(.invalidArgument) { try fallocate(fd, 0, 0, 0) }
                    try expect(.invalidArgument) { try fallocate(fd, 0, 0, -1) }
                }
            }
            check("a read-only handle is EBADF") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in try expect(.badFileDescriptor) { try fallocate(fd, 0, 0, 10) } }
            }
            check("beyond the file size limit is EFBIG") {
                try makeFile("f")
                try done(sc_set_handler(SIGXFSZ, 1))
                try done(sc_prlimit(RLIMIT_FSIZE, 10000, 10000))
                try withFile("f", O_RDWR) { fd in
                    try orSkip("fallocate") { try fallocate(fd, 0, 0, 5000) }
                    try expect(.fileTooLarge) { try fallocate(fd, 0, 0, 20000) }
                }
            }
            check("room given moves the change time") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    let before = try fstat(fd).change_ns
                    pauseForClock()
                    try orSkip("fallocate") { try fallocate(fd, 0, 0, 5000) }
                    try expectTrue(try fstat(fd).change_ns > before, "a later change time")
                }
            }
        }
    }
}
