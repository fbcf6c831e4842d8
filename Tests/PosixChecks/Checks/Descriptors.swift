import SystemCalls

extension Table {
    func addDescriptorChecks() {
        family("descriptors") {
            check("a duplicate shares the position and the flags") {
                try makeFile("f", "abcdef")
                try withFile("f", O_RDWR) { fd in
                    let copy = try dup(fd)
                    _ = try read(fd, 2)
                    try expectText(try read(copy, 2), "cd")
                    try fcntl(copy, F_SETFL, O_APPEND)
                    try expectEqual(try fcntl(fd, F_GETFL) & O_APPEND, O_APPEND, "O_APPEND")
                }
            }
            check("a forked child shares the position, both ways") {
                try makeFile("f", "abcdef")
                try withFile("f", O_RDWR) { fd in
                    _ = try read(fd, 1)
                    try Child { _ in try expectText(try read(fd, 2), "bc") }.finish()
                    try expectText(try read(fd, 9), "def")
                }
            }
            check("what a forked child writes follows what the parent wrote") {
                try makeFile("f")
                try withFile("f", O_WRONLY) { fd in
                    try write(fd, "parent;")
                    try Child { _ in try write(fd, "child;") }.finish()
                    try write(fd, "parent")
                }
                try expectContent("f", "parent;child;parent")
            }
            check("a file stays open in a child when the parent closed it") {
                try makeFile("f", "abc")
                let fd = try open("f", O_RDWR)
                let child = try Child { side in
                    try side.awaitParent()
                    try pwrite(fd, "x", at: 0)
                }
                try close(fd)
                try unlink("f")
                try makeFile("f", "new")
                try child.tell()
                try child.finish()
                try expectContent("f", "new")
            }
            check("O_PATH opens what cannot be read, and does not read") {
                try makeFile("f", "abc")
                try withFile("f", O_PATH) { fd in
                    try expect(.badFileDescriptor) { try read(fd, 1) }
                    try expect(.badFileDescriptor) { try write(fd, "x") }
                    try expect(.badFileDescriptor) { try ftruncate(fd, 0) }
                    try expectEqual(try fstat(fd).size, 3, "size")
                }
            }
            check("O_PATH with O_NOFOLLOW opens the link itself") {
                try symlink("missing", "l")
                try withFile("l", O_PATH | O_NOFOLLOW) { fd in
                    try expectEqual(try fstat(fd).type, S_IFLNK, "type")
                }
            }
            check("an O_PATH folder is where names start") {
                try mkdir("d")
                try makeFile("d/f", "abc")
                try withFile("d", O_PATH | O_DIRECTORY) { fd in
                    let file = try openat(fd, "f", O_RDONLY)
                    try expectText(try read(file, 9), "abc")
                    try fchdir(fd)
                }
                try expectContent("f", "abc")
            }
            check("an O_PATH handle is reopened through /proc/self/fd for reading and writing") {
                try makeFile("f", "abc")
                try withFile("f", O_PATH) { fd in
                    try withFile("/proc/self/fd/\(fd)", O_RDWR) { again in
                        try write(again, "x")
                        try expectEqual(try fstat(again).inode, try fstat(fd).inode, "inode")
                    }
                }
                try expectContent("f", "xbc")
            }
            check("an O_PATH handle is reopened with O_TRUNC and O_APPEND") {
                try makeFile("f", "abc")
                try withFile("f", O_PATH) { fd in
                    try withFile("/proc/self/fd/\(fd)", O_WRONLY | O_TRUNC) { again in try write(again, "new") }
                    try withFile("/proc/self/fd/\(fd)", O_WRONLY | O_APPEND) { again in try write(again, "er") }
                }
                try expectContent("f", "newer")
            }
            check("an O_PATH handle follows its file through rename and unlink") {
                try makeFile("f", "abc")
                try withFile("f", O_PATH) { fd in
                    try rename("f", "g")
                    try expectContent("/proc/self/fd/\(fd)", "abc")
                    try makeFile("f", "another")
                    try expectContent("/proc/self/fd/\(fd)", "abc")
                    try unlink("g")
                    try expectEqual(try fstat(fd).links, 0, "links")
                    try expectContent("/proc/self/fd/\(fd)", "abc")
                }
            }
            check("attributes and mode are changed through /proc/self/fd of an O_PATH handle") {
                try makeFile("f", "abc")
                try withFile("f", O_PATH) { fd in
                    try chmod("/proc/self/fd/\(fd)", 0o600)
                    try setxattr("/proc/self/fd/\(fd)", "user.x", "v")
                }
                try expectMode(try stat("f").permissions, 0o600)
                try expectText(try getxattr("f", "user.x"), "v")
            }
            check("/proc/self/fd names the file, its new name, and that it was deleted") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in
                    try expectTrue(try readlink("/proc/self/fd/\(fd)").hasSuffix("/check/f"), "the name")
                    try rename("f", "g")
                    try expectTrue(try readlink("/proc/self/fd/\(fd)").hasSuffix("/check/g"), "the new name")
                    try unlink("g")
                    try expectTrue(try readlink("/proc/self/fd/\(fd)").hasSuffix("/check/g (deleted)"), "deleted")
                }
            }
            check("getcwd names the folder") {
                try mkdir("d")
                try chdir("d")
                try expectTrue(try getcwd().hasSuffix("/check/d"), "the folder's path")
            }
            check("1,000 files are open at once") {
                try done(sc_prlimit(RLIMIT_NOFILE, 1100, 1100))
                let descriptors = try (0..<1000).map { number in
                    let fd = try open("f\(number)", O_RDWR | O_CREAT)
                    try write(fd, "\(number)")
                    return fd
                }
                for (number, fd) in descriptors.enumerated() { try expectText(try pread(fd, 9, at: 0), "\(number)") }
            }
            check("the same file is open 500 times") {
                try makeFile("f", "abc")
                let descriptors = try (0..<500).map { _ in try open("f", O_RDONLY) }
                for fd in descriptors { try expectText(try read(fd, 9), "abc") }
                for fd in descriptors { try close(fd) }
            }
            check("the inode number stays while open, through rename and link") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in
                    let inode = try fstat(fd).inode
                    try rename("f", "g")
                    try link("g", "h")
                    try unlink("g")
                    try expectEqual(try fstat(fd).inode, inode, "inode by handle")
                    try expectEqual(try stat("h").inode, inode, "inode by path")
                }
            }
            check("files that are there at the same time have inode numbers of their own") {
                for number in 0..<200 { try makeFile("f\(number)") }
                try expectEqual(Set(try (0..<200).map { try stat("f\($0)").inode }).count, 200, "inode numbers")
            }
            rootCheck("a handle passed to another user works without permission on the file") {
                try makeFile("f", "abc", mode: 0o600)
                try withFile("f", O_RDWR) { fd in
                    try asUser(.alice) {
                        try expectText(try pread(fd, 9, at: 0), "abc")
                        try pwrite(fd, "x", at: 0)
                        try expectEqual(try fstat(fd).size, 3, "size")
                        try expect(.permissionDenied) { try open("/proc/self/fd/\(fd)", O_RDONLY) }
                    }
                }
                try expectContent("f", "xbc")
            }
        }
    }
}
