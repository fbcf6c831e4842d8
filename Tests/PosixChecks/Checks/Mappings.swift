import SystemCalls

private let readWrite = PROT_READ | PROT_WRITE

extension Table {
    func addMappingChecks() {
        family("mmap") {
            check("a mapping shows the file") {
                try makePatternFile("f", 10000)
                try withFile("f", O_RDONLY) { fd in
                    let mapping = try Mapping(fd, length: 10000, PROT_READ, MAP_SHARED)
                    try expectTrue(mapping.bytes(0..<10000) == pattern(10000), "the same bytes")
                }
            }
            check("a mapping at an offset shows that part") {
                try makePatternFile("f", 20000)
                try withFile("f", O_RDONLY) { fd in
                    let mapping = try Mapping(fd, length: 4096, PROT_READ, MAP_PRIVATE, at: 8192)
                    try expectTrue(mapping.bytes(0..<4096) == pattern(4096, from: 8192), "the same bytes")
                }
            }
            check("the last page is zero beyond the end") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in
                    let mapping = try Mapping(fd, length: 4096, PROT_READ, MAP_SHARED)
                    try expectTrue(mapping.bytes(3..<4096).allSatisfy { $0 == 0 }, "zeros")
                }
            }
            check("a store through a shared mapping is read at once, by all handles") {
                try makePatternFile("f", 8192)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 8192, readWrite, MAP_SHARED)
                    mapping.store(Array("stored".utf8), at: 5000)
                    try expectText(try pread(fd, 6, at: 5000), "stored")
                    try withFile("f", O_RDONLY) { other in try expectText(try pread(other, 6, at: 5000), "stored") }
                }
            }
            check("a write is seen in a shared mapping at once") {
                try makePatternFile("f", 8192)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 8192, PROT_READ, MAP_SHARED)
                    _ = mapping[5000]
                    try pwrite(fd, "written", at: 5000)
                    try expectText(mapping.bytes(5000..<5007), "written")
                    try withFile("f", O_WRONLY) { other in try pwrite(other, "WRITTEN", at: 5000) }
                    try expectText(mapping.bytes(5000..<5007), "WRITTEN")
                }
            }
            check("a store through a private mapping stays private") {
                try makePatternFile("f", 4096)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 4096, readWrite, MAP_PRIVATE)
                    mapping.store(Array("private".utf8), at: 100)
                    try expectText(mapping.bytes(100..<107), "private")
                    try mapping.unmap()
                }
                try expectTrue(try content("f") == pattern(4096), "the old bytes")
            }
            check("two mappings of one file are one memory") {
                try makePatternFile("f", 4096)
                try withFile("f", O_RDWR) { fd in
                    let one = try Mapping(fd, length: 4096, readWrite, MAP_SHARED)
                    let two = try Mapping(fd, length: 4096, PROT_READ, MAP_SHARED)
                    one[77] = 200
                    try expectEqual(two[77], 200, "byte")
                }
            }
            check("mappings in two processes are one memory") {
                try makePatternFile("f", 4096)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 4096, readWrite, MAP_SHARED)
                    mapping[1] = 0
                    let other = try Child { side in
                        try withFile("f", O_RDWR) { own in
                            let theirs = try Mapping(own, length: 4096, readWrite, MAP_SHARED)
                            try side.awaitParent()
                            try expectEqual(theirs[1], 42, "byte")
                            theirs[2] = 43
                        }
                    }
                    mapping[1] = 42
                    try other.tell()
                    try other.finish()
                    try expectEqual(mapping[2], 43, "byte")
                }
            }
            check("a mapping outlives its descriptor") {
                try makePatternFile("f", 4096)
                let fd = try open("f", O_RDWR)
                let mapping = try Mapping(fd, length: 4096, readWrite, MAP_SHARED)
                try close(fd)
                mapping.store(Array("later".utf8), at: 10)
                try mapping.sync(MS_SYNC)
                try expectText(Array(try content("f")[10..<15]), "later")
            }
            check("a mapping outlives its file's name") {
                try makePatternFile("f", 4096)
                let fd = try open("f", O_RDWR)
                let mapping = try Mapping(fd, length: 4096, readWrite, MAP_SHARED)
                try close(fd)
                try unlink("f")
                try expectEqual(mapping[100], pattern(4096)[100], "byte")
                mapping[100] = 9
                try expectEqual(mapping[100], 9, "byte")
            }
            check("what was stored is in the file after unmapping and closing") {
                try makePatternFile("f", 8192)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 8192, readWrite, MAP_SHARED)
                    mapping.store(Array("kept".utf8), at: 8000)
                    try mapping.unmap()
                }
                try expectText(Array(try content("f")[8000..<8004]), "kept")
            }
            check("what a killed process stored is in the file") {
                try makePatternFile("f", 4096)
                let child = try Child { side in
                    try withFile("f", O_RDWR) { fd in
                        let mapping = try Mapping(fd, length: 4096, readWrite, MAP_SHARED)
                        mapping.store(Array("killed".utf8), at: 50)
                        try side.tell()
                        try side.awaitParent()
                    }
                }
                try child.awaitChild()
                try child.end(by: SIGKILL)
                try expectText(Array(try content("f")[50..<56]), "killed")
            }
            check("msync works, synchronous and not") {
                try makePatternFile("f", 8192)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 8192, readWrite, MAP_SHARED)
                    mapping[1] = 1
                    try mapping.sync(MS_ASYNC)
                    try mapping.sync(MS_SYNC)
                    try mapping.sync(MS_SYNC | MS_INVALIDATE)
                    try expect(.invalidArgument) { try mapping.sync(MS_SYNC | MS_ASYNC) }
                }
            }
            check("a store moves the modification time, at msync the latest") {
                try makePatternFile("f", 4096)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 4096, readWrite, MAP_SHARED)
                    let before = try stat("f")
                    pauseForClock()
                    mapping[1] = 1
                    try mapping.sync(MS_SYNC)
                    try expectTrue(try stat("f").modify_ns > before.modify_ns, "a later modification time")
                }
            }
            check("access beyond the last page is SIGBUS") {
                try makeFile("f", "abc")
                try expectEqual(
                    try ending {
                        let fd = try open("f", O_RDONLY)
                        let mapping = try Mapping(fd, length: 12288, PROT_READ, MAP_SHARED)
                        if mapping[8192] == 0 { exitNow(3) }
                    }, .killed(signal: SIGBUS), "end")
            }
            check("access to what was cut off is SIGBUS") {
                try makePatternFile("f", 8192)
                try expectEqual(
                    try ending {
                        let fd = try open("f", O_RDWR)
                        let mapping = try Mapping(fd, length: 8192, PROT_READ, MAP_SHARED)
                        if mapping[5000] == 0 { exitNow(3) }
                        try ftruncate(fd, 100)
                        if mapping[5000] == 0 { exitNow(3) }
                    }, .killed(signal: SIGBUS), "end")
            }
            check("a mapping sees the file grow within its length") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 8192, PROT_READ, MAP_SHARED)
                    try expectEqual(mapping[3], 0, "byte 3")
                    try pwrite(fd, pattern(8000), at: 0)
                    try expectTrue(mapping.bytes(0..<8000) == pattern(8000), "the new bytes")
                }
            }
            check("a mapping longer than the file can be stored to up to the end of the page only") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 4096, readWrite, MAP_SHARED)
                    mapping[3] = 1
                    try mapping.sync(MS_SYNC)
                }
                try expectContent("f", "abc")
            }
            check("a shared writable mapping needs a handle for reading and writing") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in
                    try expect(.permissionDenied) { try Mapping(fd, length: 3, readWrite, MAP_SHARED) }
                    _ = try Mapping(fd, length: 3, readWrite, MAP_PRIVATE)
                }
                try withFile("f", O_WRONLY) { fd in
                    try expect(.permissionDenied) { try Mapping(fd, length: 3, PROT_READ, MAP_SHARED) }
                }
            }
            check("a folder and a fifo are not mapped") {
                try mkfifo("p")
                for name in [".", "p"] {
                    try withFile(name, O_RDONLY | O_NONBLOCK) { fd in
                        try expect(.operationNotSupportedByDevice) { try Mapping(fd, length: 10, PROT_READ, MAP_SHARED) }
                    }
                }
            }
            check("an offset off the page is EINVAL, a length of zero too") {
                try makePatternFile("f", 8192)
                try withFile("f", O_RDONLY) { fd in
                    try expect(.invalidArgument) { try Mapping(fd, length: 100, PROT_READ, MAP_SHARED, at: 100) }
                    try expect(.invalidArgument) { try Mapping(fd, length: 0, PROT_READ, MAP_SHARED) }
                }
            }
            check("a renamed, replaced file stays mapped as it was") {
                try makeFile("f", "old")
                try makeFile("g", "new")
                try withFile("f", O_RDONLY) { fd in
                    let mapping = try Mapping(fd, length: 3, PROT_READ, MAP_SHARED)
                    try rename("g", "f")
                    try expectText(mapping.bytes(0..<3), "old")
                }
                try expectContent("f", "new")
            }
            check("reading into memory mapped from the same file works") {
                try makePatternFile("f", 16384)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 16384, readWrite, MAP_SHARED)
                    try expectEqual(try call(SYS_pread64, fd, mapping.base + 8192, 4096, 0), 4096, "read")
                    try expectTrue(mapping.bytes(8192..<12288) == pattern(4096), "the same bytes")
                }
            }
            check("writing from memory mapped from the same file works") {
                try makePatternFile("f", 16384)
                try withFile("f", O_RDWR) { fd in
                    let mapping = try Mapping(fd, length: 16384, PROT_READ, MAP_SHARED)
                    try expectEqual(try call(SYS_pwrite64, fd, mapping.base, 4096, 8192), 4096, "written")
                }
                try expectTrue(Array(try content("f")[8192..<12288]) == pattern(4096), "the same bytes")
            }
        }
    }
}
