import SystemCalls

extension Table {
    /// Every call that takes a path, with the same bad paths.
    func addPathErrorChecks() {
        let calls: [(String, (String) throws -> Void)] = [
            ("open", { _ = try open($0, O_RDONLY) }),
            ("open with O_CREAT", { _ = try open($0, O_WRONLY | O_CREAT) }),
            ("mkdir", { try mkdir($0) }),
            ("rmdir", { try rmdir($0) }),
            ("unlink", { try unlink($0) }),
            ("rename from", { try rename($0, "other") }),
            ("rename to", { try rename("exists", $0) }),
            ("link from", { try link($0, "other") }),
            ("link to", { try link("exists", $0) }),
            ("symlink", { try symlink("x", $0) }),
            ("readlink", { _ = try readlink($0) }),
            ("mknod", { try mkfifo($0) }),
            ("chmod", { try chmod($0, 0o600) }),
            ("chown", { try chown($0, -1, -1) }),
            ("truncate", { try truncate($0, 0) }),
            ("stat", { _ = try stat($0) }),
            ("lstat", { _ = try lstat($0) }),
            ("utimensat", { try touch($0) }),
            ("access", { try access($0, F_OK) }),
            ("statfs", { _ = try statfs($0) }),
            ("chdir", { try chdir($0) }),
            ("setxattr", { try setxattr($0, "user.x", "v") }),
            ("getxattr", { _ = try getxattr($0, "user.x") }),
            ("listxattr", { _ = try listxattr($0) }),
            ("removexattr", { try removexattr($0, "user.x") }),
        ]
        let longName = String(repeating: "n", count: 256)
        let longPath = String(repeating: "d/", count: 2047) + "name"

        family("path") {
            for (name, perform) in calls {
                check("\(name): a file in the middle of the path is ENOTDIR") {
                    try makeFile("exists")
                    try expect(.notDirectory) { try perform("exists/name") }
                }
                check("\(name): a missing folder in the path is ENOENT") {
                    try makeFile("exists")
                    try expect(.noSuchFileOrDirectory) { try perform("missing/name") }
                }
                check("\(name): a name of 256 bytes is ENAMETOOLONG") {
                    try makeFile("exists")
                    try expect(.fileNameTooLong) { try perform(longName) }
                }
                check("\(name): a folder name of 256 bytes is ENAMETOOLONG") {
                    try makeFile("exists")
                    try expect(.fileNameTooLong) { try perform(longName + "/name") }
                }
                check("\(name): links that go in circles are ELOOP") {
                    try makeFile("exists")
                    try symlink("b", "a")
                    try symlink("a", "b")
                    try expect(.tooManySymbolicLinkLevels) { try perform("a/name") }
                }
            }
            check("a path of 4096 bytes and more is ENAMETOOLONG") {
                try makeFile("exists")
                try expectTrue(longPath.utf8.count >= 4095, "a long path")
                for (_, perform) in calls { try expect(.fileNameTooLong) { try perform(longPath + "ee") } }
            }
            check("a path just under 4096 bytes works") {
                let path = String(repeating: "./", count: 2045) + "name"
                try expectEqual(path.utf8.count, 4094)
                try makeFile(path, "abc")
                try expectContent("name", "abc")
            }
            check("40 links in a row are followed, 41 are ELOOP") {
                try makeFile("l0", "abc")
                for number in 1...41 { try symlink("l\(number - 1)", "l\(number)") }
                try expectContent("l40", "abc")
                try expect(.tooManySymbolicLinkLevels) { try open("l41", O_RDONLY) }
            }
            check("repeated slashes and dots fall away") {
                try mkdir("d")
                try makeFile("d/f", "abc")
                try expectContent(".//d/.///./f", "abc")
                try expectContent("d/../d/f", "abc")
            }
            check("a folder 200 deep is made, used and removed") {
                let fd = try open(".", O_RDONLY)
                for _ in 0..<200 {
                    try mkdir("deeper")
                    try chdir("deeper")
                }
                try makeFile("f", "abc")
                try expectContent("f", "abc")
                try unlink("f")
                for _ in 0..<200 {
                    try chdir("..")
                    try rmdir("deeper")
                }
                try expectEqual(try stat(".").inode, try fstat(fd).inode, "inode")
            }
            for (name, perform) in calls {
                rootCheck("\(name): a folder without search permission is EACCES") {
                    try makeFolder("d", mode: 0o777)
                    try makeFile("d/name", owner: .alice)
                    try makeFile("exists", owner: .alice)
                    try chown(".", Int(Identity.alice.uid), -1)
                    try chmod("d", 0o666)
                    try asUser(.alice) { try expect(.permissionDenied) { try perform("d/name") } }
                }
            }
        }
    }
}
