import SystemCalls

extension Table {
    func addOpenChecks() {
        family("open") {
            check("a missing file is not found") { try expect(.noSuchFileOrDirectory) { try open("f", O_RDONLY) } }
            check("a read-only handle does not write") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in try expect(.badFileDescriptor) { try write(fd, "x") } }
            }
            check("a write-only handle does not read") {
                try makeFile("f", "abc")
                try withFile("f", O_WRONLY) { fd in try expect(.badFileDescriptor) { try read(fd, 1) } }
            }
            check("a read-write handle does both") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    try write(fd, "x")
                    try expectText(try read(fd, 9), "bc")
                }
            }
            check("a read-only handle does not truncate") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in
                    try expect(oneOf: [.invalidArgument, .badFileDescriptor]) { try ftruncate(fd, 0) }
                }
            }
            check("O_TRUNC empties an existing file") {
                try makeFile("f", "abc")
                try withFile("f", O_WRONLY | O_TRUNC) { fd in try expectEqual(try fstat(fd).size, 0) }
                try expectContent("f", "")
            }
            check("O_TRUNC keeps owner and mode") {
                try makeFile("f", "abc", mode: 0o640)
                let before = try stat("f")
                try withFile("f", O_WRONLY | O_TRUNC) { _ in }
                let after = try stat("f")
                try expectMode(after.permissions, 0o640)
                try expectEqual(after.uid, before.uid, "uid")
            }
            check("O_TRUNC keeps the inode") {
                try makeFile("f", "abc")
                let before = try stat("f")
                try withFile("f", O_WRONLY | O_TRUNC) { _ in }
                try expectEqual(try stat("f").inode, before.inode, "inode")
            }
            check("O_TRUNC moves the modification and change times") {
                try makeFile("f", "abc")
                let before = try stat("f")
                pauseForClock()
                try withFile("f", O_WRONLY | O_TRUNC) { _ in }
                let after = try stat("f")
                try expectTrue(after.modify_ns > before.modify_ns, "a later modification time")
                try expectTrue(after.change_ns > before.change_ns, "a later change time")
            }
            check("O_TRUNC with O_RDWR reads nothing") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR | O_TRUNC) { fd in try expectEqual(try read(fd, 9), []) }
            }
            check("O_TRUNC on an empty file leaves it empty") {
                try makeFile("f")
                try withFile("f", O_WRONLY | O_TRUNC) { fd in try write(fd, "new") }
                try expectContent("f", "new")
            }
            check("O_CREAT without O_EXCL opens what exists and leaves its content") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR | O_CREAT) { fd in try expectText(try read(fd, 9), "abc") }
            }
            check("O_CREAT on an existing file leaves its mode") {
                try makeFile("f", "abc", mode: 0o600)
                try close(try open("f", O_RDWR | O_CREAT, 0o777))
                try expectMode(try stat("f").permissions, 0o600)
            }
            check("O_CREAT with O_TRUNC empties what exists") {
                try makeFile("f", "abc")
                try close(try open("f", O_WRONLY | O_CREAT | O_TRUNC))
                try expectEqual(try stat("f").size, 0)
            }
            check("O_APPEND writes at the end whatever the position") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR | O_APPEND) { fd in
                    try lseek(fd, 0, SEEK_SET)
                    try write(fd, "def")
                    try expectEqual(try lseek(fd, 0, SEEK_CUR), 6, "position")
                }
                try expectContent("f", "abcdef")
            }
            check("O_APPEND follows a file that was shortened") {
                try makeFile("f", "abcdef")
                try withFile("f", O_WRONLY | O_APPEND) { fd in
                    try truncate("f", 2)
                    try write(fd, "x")
                }
                try expectContent("f", "abx")
            }
            check("O_APPEND set later by fcntl takes effect") {
                try makeFile("f", "abc")
                try withFile("f", O_WRONLY) { fd in
                    try fcntl(fd, F_SETFL, O_APPEND)
                    try write(fd, "d")
                }
                try expectContent("f", "abcd")
            }
            check("O_APPEND taken away by fcntl writes at the position") {
                try makeFile("f", "abc")
                try withFile("f", O_WRONLY | O_APPEND) { fd in
                    try fcntl(fd, F_SETFL, 0)
                    try write(fd, "X")
                }
                try expectContent("f", "Xbc")
            }
            check("F_GETFL tells the access mode and O_APPEND") {
                try makeFile("f")
                try withFile("f", O_RDWR | O_APPEND) { fd in
                    let flags = try fcntl(fd, F_GETFL)
                    try expectEqual(flags & O_ACCMODE, O_RDWR, "access mode")
                    try expectEqual(flags & O_APPEND, O_APPEND, "O_APPEND")
                }
            }
            check("O_NOFOLLOW refuses a symbolic link") {
                try makeFile("f")
                try symlink("f", "l")
                try expect(.tooManySymbolicLinkLevels) { try open("l", O_RDONLY | O_NOFOLLOW) }
            }
            check("O_NOFOLLOW follows links before the last name") {
                try mkdir("d")
                try makeFile("d/f", "abc")
                try symlink("d", "l")
                try withFile("l/f", O_RDONLY | O_NOFOLLOW) { fd in try expectText(try read(fd, 9), "abc") }
            }
            check("O_NOFOLLOW opens a plain file") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY | O_NOFOLLOW) { fd in try expectText(try read(fd, 9), "abc") }
            }
            check("O_DIRECTORY refuses a file") {
                try makeFile("f")
                try expect(.notDirectory) { try open("f", O_RDONLY | O_DIRECTORY) }
            }
            check("O_DIRECTORY with O_NOFOLLOW refuses a link to a folder") {
                try mkdir("d")
                try symlink("d", "l")
                try expect(oneOf: [.notDirectory, .tooManySymbolicLinkLevels]) {
                    try open("l", O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
                }
            }
            check("O_DIRECTORY opens a folder through a link") {
                try mkdir("d")
                try symlink("d", "l")
                try withFile("l", O_RDONLY | O_DIRECTORY) { fd in try expectEqual(try fstat(fd).inode, try stat("d").inode)
                }
            }
            check("a folder does not open for writing") {
                try mkdir("d")
                try expect(.isDirectory) { try open("d", O_WRONLY) }
                try expect(.isDirectory) { try open("d", O_RDWR) }
            }
            check("a folder does not open with O_CREAT") {
                try mkdir("d")
                try expect(.isDirectory) { try open("d", O_RDONLY | O_CREAT) }
            }
            check("a folder does not open with O_TRUNC") {
                try mkdir("d")
                try expect(.isDirectory) { try open("d", O_RDONLY | O_TRUNC) }
            }
            check("a folder opened for reading is not read as bytes") {
                try mkdir("d")
                try withFile("d", O_RDONLY) { fd in try expect(.isDirectory) { try read(fd, 1) } }
            }
            check("a trailing slash after a file's name fails") {
                try makeFile("f")
                try expect(.notDirectory) { try open("f/", O_RDONLY) }
            }
            check("a trailing slash with O_CREAT fails") { try expect(.isDirectory) { try open("f/", O_WRONLY | O_CREAT) } }
            check("the empty path is not found") { try expect(.noSuchFileOrDirectory) { try open("", O_RDONLY) } }
            check("a socket does not open") {
                try mknod("s", UInt32(S_IFSOCK) | 0o644)
                try expect(.noSuchAddressOrDevice) { try open("s", O_RDONLY) }
            }
            check("a fifo without a reader does not open for writing with O_NONBLOCK") {
                try mkfifo("p")
                try expect(.noSuchAddressOrDevice) { try open("p", O_WRONLY | O_NONBLOCK) }
            }
            check("a fifo opens for reading with O_NONBLOCK") {
                try mkfifo("p")
                try close(try open("p", O_RDONLY | O_NONBLOCK))
            }
            check("O_EXCL with O_CREAT refuses a dangling link") {
                try symlink("missing", "l")
                try expect(.fileExists) { try open("l", O_WRONLY | O_CREAT | O_EXCL) }
                try expectGone("missing")
            }
            check("O_CREAT through a dangling link makes the target") {
                try symlink("target", "l")
                try withFile("l", O_WRONLY | O_CREAT) { fd in try write(fd, "abc") }
                try expectContent("target", "abc")
            }
            check("O_NOATIME leaves the access time") {
                try makeFile("f", "abc")
                try utimens("f", access: .at(seconds: 1000, nanoseconds: 0), modify: .at(seconds: 2000, nanoseconds: 0))
                try withFile("f", O_RDONLY | O_NOATIME) { fd in _ = try read(fd, 3) }
                try expectEqual(try stat("f").access_ns, 1000 * 1_000_000_000)
            }
            check("O_SYNC and O_DSYNC write") {
                for flag in [O_SYNC, O_DSYNC] {
                    try withFile("f", O_WRONLY | O_CREAT | O_TRUNC | flag) { fd in try write(fd, "abc") }
                    try expectContent("f", "abc")
                }
            }
            check("two handles of one file have positions of their own") {
                try makeFile("f", "abcdef")
                try withFile("f", O_RDONLY) { one in
                    try withFile("f", O_RDONLY) { two in
                        try expectText(try read(one, 3), "abc")
                        try expectText(try read(two, 2), "ab")
                        try expectText(try read(one, 3), "def")
                    }
                }
            }
            check("a handle opened before a change sees the change") {
                try makeFile("f", "abc")
                try withFile("f", O_RDONLY) { fd in
                    try withFile("f", O_WRONLY) { other in try write(other, "xyz") }
                    try expectText(try read(fd, 9), "xyz")
                }
            }
            check("a handle lives on when its mode forbids opening") {
                try makeFile("f", "abc")
                try withFile("f", O_RDWR) { fd in
                    try chmod("f", 0)
                    try write(fd, "x")
                    try expectText(try pread(fd, 9, at: 0), "xbc")
                }
            }
            check("a closed descriptor is no descriptor") {
                try makeFile("f")
                let fd = try open("f", O_RDONLY)
                try close(fd)
                try expect(.badFileDescriptor) { try read(fd, 1) }
                try expect(.badFileDescriptor) { try close(fd) }
            }
            check("running out of descriptors says so") {
                try makeFile("f")
                try done(sc_prlimit(RLIMIT_NOFILE, 40, 40))
                try expect(.tooManyOpenFiles) { while true { _ = try open("f", O_RDONLY) } }
            }
            check("openat takes names relative to a folder") {
                try mkdir("d")
                try makeFile("d/f", "abc")
                try withFile("d", O_RDONLY | O_DIRECTORY) { folder in
                    let fd = try openat(folder, "f", O_RDONLY)
                    try expectText(try read(fd, 9), "abc")
                }
            }
            check("openat relative to a file fails") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in try expect(.notDirectory) { try openat(fd, "x", O_RDONLY) } }
            }
            rootCheck("a file without read permission does not open for reading") {
                try makeFile("f", "abc", mode: 0o200, owner: .alice)
                try asUser(.alice) {
                    try expect(.permissionDenied) { try open("f", O_RDONLY) }
                    try close(try open("f", O_WRONLY))
                }
            }
            rootCheck("a file without write permission does not open for writing") {
                try makeFile("f", "abc", mode: 0o444, owner: .alice)
                try asUser(.alice) {
                    try expect(.permissionDenied) { try open("f", O_WRONLY) }
                    try expect(.permissionDenied) { try open("f", O_RDWR) }
                    try expect(.permissionDenied) { try open("f", O_RDONLY | O_TRUNC) }
                }
                try expectContent("f", "abc")
            }
            rootCheck("O_NOATIME on another's file is not permitted") {
                try makeFile("f", "abc", mode: 0o644)
                try asUser(.alice) { try expect(.notPermitted) { try open("f", O_RDONLY | O_NOATIME) } }
            }
        }
    }
}
