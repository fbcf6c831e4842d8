import SystemCalls

extension Table {
    func addSyncChecks() {
        family("statfs and sync") {
            check("statfs tells sizes and the longest name") {
                let info = try statfs(".")
                try expectEqual(info.name_length, 255, "longest name")
                try expectTrue(info.block_size >= 512 && info.block_size & (info.block_size - 1) == 0, "a block size")
                try expectTrue(info.blocks > 0, "blocks")
                try expectTrue(info.free_blocks <= info.blocks, "free blocks within all")
                try expectTrue(info.available_blocks <= info.free_blocks, "available blocks within the free")
                try expectTrue(info.free_files <= info.files, "free inodes within all")
            }
            check("statfs is the same by path, handle and for a file") {
                try makeFile("f")
                let info = try statfs("f")
                try withFile("f", O_RDONLY) { fd in
                    try expectEqual(try fstatfs(fd).type, info.type, "type")
                    try expectEqual(try fstatfs(fd).blocks, info.blocks, "blocks")
                }
                try expectEqual(try statfs(".").blocks, info.blocks, "blocks")
            }
            check("a synced file has blocks for all it holds") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    let before = try fstat(fd).blocks
                    for part in 0..<16 { try pwrite(fd, pattern(1 << 20), at: part << 20) }
                    try fsync(fd)
                    try expectTrue(try fstat(fd).blocks >= before + (16 << 20) / 512, "blocks for all of it")
                }
            }
            check("fsync and fdatasync work on files open for writing and for reading") {
                try makeFile("f", "abc")
                for flags in [O_RDWR, O_RDONLY, O_WRONLY] {
                    try withFile("f", flags) { fd in
                        try fsync(fd)
                        try fdatasync(fd)
                    }
                }
            }
            check("fsync and fdatasync work on a folder") {
                try withFile(".", O_RDONLY) { fd in
                    try fsync(fd)
                    try fdatasync(fd)
                }
            }
            check("fsync of a fifo is EINVAL") {
                try mkfifo("p")
                try withFile("p", O_RDONLY | O_NONBLOCK) { fd in try expect(.invalidArgument) { try fsync(fd) } }
            }
            check("syncfs works") { try withFile(".", O_RDONLY) { fd in try syncfs(fd) } }
            check("what was written stays after fsync and dropping the cache") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try write(fd, pattern(100_000))
                    try fsync(fd)
                    try fadvise(fd, POSIX_FADV_DONTNEED)
                    try expectTrue(try pread(fd, 100_000, at: 0) == pattern(100_000), "the same bytes")
                }
            }
            check("advice and readahead are taken") {
                try makePatternFile("f", 100_000)
                try withFile("f", O_RDONLY) { fd in
                    try fadvise(fd, POSIX_FADV_SEQUENTIAL)
                    try call(SYS_readahead, fd, 0, 100_000)
                    try expectTrue(try pread(fd, 100_000, at: 0) == pattern(100_000), "the same bytes")
                }
            }
            check("the device number is one for files and folders") {
                try makeFile("f")
                try mkdir("d")
                try expectEqual(
                    Set([try stat(".").device, try stat("f").device, try stat("d").device]).count, 1, "devices")
            }
            check("the blocks of a small file cover it") {
                try makePatternFile("f", 10000)
                try withFile("f", O_RDWR) { fd in try fsync(fd) }
                try expectTrue(try stat("f").blocks >= 20, "20 blocks of 512 bytes")
            }
        }
        family("ioctl") {
            // _IOR('f', 1, long) and _IOW('f', 2, long).
            let getFlags = 0x8008_6601
            let setFlags = 0x4008_6602
            check("what FS_IOC_GETFLAGS and FS_IOC_SETFLAGS answer on a file") {
                try makeFile("f")
                let room = UnsafeMutablePointer<Int32>.allocate(capacity: 2)
                defer { room.deallocate() }
                try withFile("f", O_RDONLY) { fd in
                    probe("GETFLAGS works") { _ = try call(SYS_ioctl, fd, getFlags, room, name: "ioctl") }
                    room[0] |= FS_NODUMP_FL
                    probe("SETFLAGS with nodump") { _ = try call(SYS_ioctl, fd, setFlags, room, name: "ioctl") }
                    room[0] = 0
                    probe("nodump is kept") { () -> Bool in
                        try call(SYS_ioctl, fd, getFlags, room, name: "ioctl")
                        return room[0] & FS_NODUMP_FL != 0
                    }
                }
            }
            rootCheck("an immutable file is not changed, where the flag is offered") {
                try makeFile("f", "abc")
                let room = UnsafeMutablePointer<Int32>.allocate(capacity: 2)
                defer { room.deallocate() }
                try withFile("f", O_RDONLY) { fd in
                    try orSkip("immutable files") { try call(SYS_ioctl, fd, getFlags, room, name: "ioctl") }
                    let plain = room[0]
                    room[0] = plain | FS_IMMUTABLE_FL
                    try orSkip("immutable files") { try call(SYS_ioctl, fd, setFlags, room, name: "ioctl") }
                    defer {
                        room[0] = plain
                        _ = try? call(SYS_ioctl, fd, setFlags, room, name: "ioctl")
                    }
                    try expect(.notPermitted) { try open("f", O_WRONLY) }
                    try expect(.notPermitted) { try unlink("f") }
                    try expect(.notPermitted) { try rename("f", "g") }
                    try expect(.notPermitted) { try chmod("f", 0o600) }
                    try expectContent("f", "abc")
                }
                try unlink("f")
            }
            check("an unknown request is ENOTTY") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in
                    try expect(.inappropriateIOCTLForDevice) { try call(SYS_ioctl, fd, 0x1234_5678, 0, name: "ioctl") }
                }
            }
        }
    }
}
