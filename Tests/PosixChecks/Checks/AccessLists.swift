import SystemCalls

/// A POSIX access control list in the form the kernel takes: version 2, then tag, permission and id of each entry.
private struct AccessList {
    enum Tag: UInt16 { case owner = 1, user = 2, group = 4, namedGroup = 8, mask = 16, others = 32 }
    var entries: [(Tag, UInt16, UInt32)] = []

    /// Owner, group and others as in a mode; named users and groups with a mask.
    init(_ mode: UInt16, users: [UInt32: UInt16] = [:], groups: [UInt32: UInt16] = [:], mask: UInt16? = nil) {
        entries.append((.owner, mode >> 6 & 7, .max))
        for (id, permissions) in users.sorted(by: { $0.key < $1.key }) { entries.append((.user, permissions, id)) }
        entries.append((.group, mode >> 3 & 7, .max))
        for (id, permissions) in groups.sorted(by: { $0.key < $1.key }) { entries.append((.namedGroup, permissions, id)) }
        if let mask { entries.append((.mask, mask, .max)) }
        entries.append((.others, mode & 7, .max))
    }
    var bytes: [UInt8] {
        func little<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
            withUnsafeBytes(of: value.littleEndian, Array.init)
        }
        return entries.reduce(into: little(UInt32(2))) { $0 += little($1.0.rawValue) + little($1.1) + little($1.2) }
    }
}
private let accessName = "system.posix_acl_access"
private let defaultName = "system.posix_acl_default"
private let alice = Identity.alice.uid

private func setList(_ path: String, _ list: AccessList) throws { try setList(path, accessName, list) }
private func setList(_ path: String, _ name: String, _ list: AccessList) throws {
    try orSkip("access control lists") { try setxattr(path, name, list.bytes) }
}

extension Table {
    func addAccessListChecks() {
        family("acl") {
            check("a list is kept") {
                try makeFile("f")
                let list = AccessList(0o640, users: [61001: 6], mask: 6)
                try setList("f", list)
                try expectEqual(try getxattr("f", accessName), list.bytes)
                try expectEqual(try listxattr("f"), [accessName])
            }
            check("the mask is the mode's group bits") {
                try makeFile("f")
                try setList("f", AccessList(0o640, users: [61001: 7], mask: 7))
                try expectMode(try stat("f").permissions, 0o670)
            }
            check("chmod changes the mask") {
                try makeFile("f")
                try setList("f", AccessList(0o640, users: [61001: 7], mask: 7))
                try chmod("f", 0o604)
                try expectEqual(try getxattr("f", accessName), AccessList(0o644, users: [61001: 7], mask: 0).bytes)
            }
            check("a list equal to a mode becomes the mode") {
                try makeFile("f")
                try setList("f", AccessList(0o751))
                try expectMode(try stat("f").permissions, 0o751)
                try expect(.noData) { try getxattr("f", accessName) }
            }
            check("a removed list leaves the mode") {
                try makeFile("f")
                try setList("f", AccessList(0o640, users: [61001: 6], mask: 6))
                try removexattr("f", accessName)
                try expect(.noData) { try getxattr("f", accessName) }
                try expectMode(try stat("f").permissions, 0o660)
            }
            check("a malformed list is EINVAL") {
                try makeFile("f")
                try setList("f", AccessList(0o644))
                try expect(.invalidArgument) { try setxattr("f", accessName, [2, 0, 0, 0, 1]) }
                // Named users need a mask.
                try expect(.invalidArgument) { try setxattr("f", accessName, AccessList(0o644, users: [1: 7]).bytes) }
            }
            check("a default list on a file is EACCES") {
                try makeFile("f")
                try setList("f", AccessList(0o644))
                try expect(.permissionDenied) { try setxattr("f", defaultName, AccessList(0o644).bytes) }
            }
            check("setting a list moves the change time") {
                try makeFile("f")
                try setList("f", AccessList(0o644))
                try expectChangeTime(of: "f") { try setList("f", AccessList(0o640, users: [61001: 6], mask: 6)) }
            }
            check("a default list is kept and does not change the folder's mode") {
                try mkdir("d")
                let list = AccessList(0o750, users: [61001: 7], mask: 7)
                try setList("d", defaultName, list)
                try expectEqual(try getxattr("d", defaultName), list.bytes)
                try expectMode(try stat("d").permissions, 0o755)
                try expect(.noData) { try getxattr("d", accessName) }
            }
            check("a new file in a folder with a default list has it, bounded by the mode asked for") {
                try mkdir("d")
                try setList("d", defaultName, AccessList(0o770, users: [61001: 7], mask: 7))
                try close(try open("d/f", O_WRONLY | O_CREAT, 0o640))
                try expectEqual(try getxattr("d/f", accessName), AccessList(0o670, users: [61001: 7], mask: 4).bytes)
                try expectMode(try stat("d/f").permissions, 0o640)
                try expect(.noData) { try getxattr("d/f", defaultName) }
            }
            check("a default list takes the umask's place") {
                try mkdir("d")
                try setList("d", defaultName, AccessList(0o777))
                umask(0o077)
                try close(try open("d/f", O_WRONLY | O_CREAT, 0o666))
                try expectMode(try stat("d/f").permissions, 0o666)
                try mkdir("d/e", 0o777)
                try expectMode(try stat("d/e").permissions, 0o777)
                try mkfifo("d/p", 0o666)
                try expectMode(try stat("d/p").permissions, 0o666)
            }
            check("a new folder in a folder with a default list has it as its own default too") {
                try mkdir("d")
                let list = AccessList(0o750, users: [61001: 5], mask: 5)
                try setList("d", defaultName, list)
                try mkdir("d/e", 0o777)
                try expectEqual(try getxattr("d/e", defaultName), list.bytes)
                try expectEqual(try getxattr("d/e", accessName), list.bytes)
                try expectMode(try stat("d/e").permissions, 0o750)
            }
            check("a link in a folder with a default list is as ever") {
                try mkdir("d")
                try setList("d", defaultName, AccessList(0o700))
                try symlink("x", "d/l")
                try expectMode(try lstat("d/l").permissions, 0o777)
            }
            check("a file moved into a folder with a default list keeps its own") {
                try mkdir("d")
                try setList("d", defaultName, AccessList(0o700, users: [61001: 7], mask: 7))
                try makeFile("f")
                try rename("f", "d/f")
                try expect(.noData) { try getxattr("d/f", accessName) }
                try expectMode(try stat("d/f").permissions, 0o644)
            }
            check("a removed default list is gone") {
                try mkdir("d")
                try setList("d", defaultName, AccessList(0o700))
                try removexattr("d", defaultName)
                try expect(.noData) { try getxattr("d", defaultName) }
                try makeFile("d/f")
                try expectMode(try stat("d/f").permissions, 0o644)
            }
            rootCheck("a named user may do what the entry says, at once") {
                try makeFile("f", "abc", mode: 0o600)
                try asUser(.alice) { try expect(.permissionDenied) { try open("f", O_RDONLY) } }
                try setList("f", AccessList(0o600, users: [alice: 4], mask: 7))
                try asUser(.alice) {
                    try expectContent("f", "abc")
                    try expect(.permissionDenied) { try open("f", O_WRONLY) }
                    try access("f", R_OK)
                    try expect(.permissionDenied) { try access("f", W_OK) }
                }
                try asUser(.bob) { try expect(.permissionDenied) { try open("f", O_RDONLY) } }
                try removexattr("f", accessName)
                try chmod("f", 0o600)
                try asUser(.alice) { try expect(.permissionDenied) { try open("f", O_RDONLY) } }
            }
            rootCheck("a named group's member may do what the entry says") {
                try makeFile("f", "abc", mode: 0o600)
                try setList("f", AccessList(0o600, groups: [Identity.sharedGroup: 6], mask: 6))
                try asUser(.alice.joining(Identity.sharedGroup)) { try withFile("f", O_RDWR) { fd in try write(fd, "x") } }
                try asUser(.bob) { try expect(.permissionDenied) { try open("f", O_RDONLY) } }
            }
            rootCheck("the mask bounds named users and groups") {
                try makeFile("f", "abc", mode: 0o600)
                try setList("f", AccessList(0o600, users: [alice: 7], mask: 4))
                try asUser(.alice) {
                    try expectContent("f", "abc")
                    try expect(.permissionDenied) { try open("f", O_WRONLY) }
                }
            }
            rootCheck("a named user with nothing is refused though others may") {
                try makeFile("f", "abc", mode: 0o644)
                try setList("f", AccessList(0o644, users: [alice: 0], mask: 7))
                try asUser(.alice) { try expect(.permissionDenied) { try open("f", O_RDONLY) } }
                try asUser(.bob) { try expectContent("f", "abc") }
            }
            rootCheck("a named user fills a folder that its mode closes") {
                try makeFolder("d", mode: 0o700)
                try setList("d", AccessList(0o700, users: [alice: 7], mask: 7))
                try asUser(.alice) {
                    try makeFile("d/f", "abc")
                    try expectEqual(try names(in: "d"), ["f"])
                    try unlink("d/f")
                }
                try asUser(.bob) { try expect(.permissionDenied) { try stat("d/f") } }
            }
            rootCheck("only the owner sets a list") {
                try makeFile("f", mode: 0o666)
                try setList("f", AccessList(0o666))
                try asUser(.alice) { try expect(.notPermitted) { try setxattr("f", accessName, AccessList(0o777).bytes) } }
                try chown("f", Int(alice), -1)
                try asUser(.alice) { try setxattr("f", accessName, AccessList(0o600, users: [61002: 4], mask: 4).bytes) }
                try expectMode(try stat("f").permissions, 0o640)
            }
            rootCheck("a list that closes the group takes a foreign owner's setgid bit") {
                try makeFile("f", mode: 0o2755, owner: .alice)
                try chown("f", -1, Int(Identity.sharedGroup))
                try chmod("f", 0o2755)
                try setList("f", AccessList(0o755))
                try asUser(.alice) { try setxattr("f", accessName, AccessList(0o755, users: [61002: 5], mask: 5).bytes) }
                try expectMode(try stat("f").permissions, 0o755)
            }
        }
    }
}
