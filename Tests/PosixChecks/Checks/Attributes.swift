import SystemCalls

extension Table {
    func addAttributeChecks() {
        family("xattr") {
            check("a value is kept, by path and by handle") {
                try makeFile("f")
                try setxattr("f", "user.one", "1")
                try withFile("f", O_RDWR) { fd in
                    try expectText(try fgetxattr(fd, "user.one"), "1")
                    try fsetxattr(fd, "user.two", "2")
                }
                try expectText(try getxattr("f", "user.two"), "2")
            }
            check("the list has all names") {
                try makeFile("f")
                for name in ["user.b", "user.a", "user.c"] { try setxattr("f", name, "v") }
                try expectEqual(try listxattr("f"), ["user.a", "user.b", "user.c"])
            }
            check("a file without attributes has an empty list") {
                try makeFile("f")
                try expectEqual(try listxattr("f"), [])
                try expectEqual(try xattrSize("f"), 0, "size of the list")
            }
            check("a missing attribute is ENODATA") {
                try makeFile("f")
                try expect(.noData) { try getxattr("f", "user.x") }
                try expect(.noData) { try removexattr("f", "user.x") }
                try expect(.noData) { try xattrSize("f", "user.x") }
            }
            check("a removed attribute is gone") {
                try makeFile("f")
                try setxattr("f", "user.x", "v")
                try removexattr("f", "user.x")
                try expect(.noData) { try getxattr("f", "user.x") }
                try expectEqual(try listxattr("f"), [])
            }
            check("fremovexattr removes") {
                try makeFile("f")
                try setxattr("f", "user.x", "v")
                try withFile("f", O_RDWR) { fd in try fremovexattr(fd, "user.x") }
                try expectEqual(try listxattr("f"), [])
            }
            check("XATTR_CREATE refuses what exists") {
                try makeFile("f")
                try setxattr("f", "user.x", "1", flags: XATTR_CREATE)
                try expect(.fileExists) { try setxattr("f", "user.x", "2", flags: XATTR_CREATE) }
                try expectText(try getxattr("f", "user.x"), "1")
            }
            check("XATTR_REPLACE refuses what is missing") {
                try makeFile("f")
                try expect(.noData) { try setxattr("f", "user.x", "1", flags: XATTR_REPLACE) }
                try setxattr("f", "user.x", "1")
                try setxattr("f", "user.x", "2", flags: XATTR_REPLACE)
                try expectText(try getxattr("f", "user.x"), "2")
            }
            check("unknown flags are EINVAL") {
                try makeFile("f")
                try expect(.invalidArgument) { try setxattr("f", "user.x", "1", flags: 8) }
            }
            check("a call without room tells the size") {
                try makeFile("f")
                try setxattr("f", "user.x", "12345")
                try expectEqual(try xattrSize("f", "user.x"), 5, "size of the value")
                try expectEqual(try xattrSize("f"), 7, "size of the list")
            }
            check("too little room is ERANGE") {
                try makeFile("f")
                try setxattr("f", "user.x", "12345")
                try expect(.outOfRange) { try getxattr("f", "user.x", room: 4) }
                try expect(.outOfRange) { try listxattr("f", room: 6) }
                try expectText(try getxattr("f", "user.x", room: 5), "12345")
                try expectEqual(try listxattr("f", room: 7), ["user.x"])
            }
            check("an empty value is a value") {
                try makeFile("f")
                try setxattr("f", "user.x", "")
                try expectEqual(try getxattr("f", "user.x"), [])
                try expectEqual(try listxattr("f"), ["user.x"])
            }
            check("a value is any bytes") {
                try makeFile("f")
                let bytes = [UInt8](0...255)
                try setxattr("f", "user.x", bytes)
                try expectEqual(try getxattr("f", "user.x"), bytes)
            }
            check("a value is replaced by a longer and a shorter one") {
                try makeFile("f")
                for length in [10, 1000, 3, 2000, 0, 1] {
                    try setxattr("f", "user.x", pattern(length))
                    try expectTrue(try getxattr("f", "user.x") == pattern(length), "\(length) bytes")
                }
            }
            check("a value of more than 64 KiB is E2BIG") {
                try makeFile("f")
                try expect(Errno(rawValue: 7)) { try setxattr("f", "user.x", pattern(65537)) }
                probe("a value of 64 KiB") { try setxattr("f", "user.x", pattern(65536)) }
            }
            check("a name of 255 bytes works, 256 is ERANGE") {
                try makeFile("f")
                let longest = "user." + String(repeating: "n", count: 250)
                try setxattr("f", longest, "v")
                try expectEqual(try listxattr("f"), [longest])
                try expect(.outOfRange) { try setxattr("f", longest + "n", "v") }
                try expect(.outOfRange) { try getxattr("f", longest + "n") }
            }
            check("an empty name is ERANGE") {
                try makeFile("f")
                try expect(.outOfRange) { try setxattr("f", "", "v") }
                try expect(.outOfRange) { try getxattr("f", "") }
            }
            check("a name without a known class is EOPNOTSUPP") {
                try makeFile("f")
                try expect(.notSupportedOnSocket) { try setxattr("f", "posixchecks.x", "v") }
                try expect(.notSupportedOnSocket) { try getxattr("f", "posixchecks.x") }
                try expect(.notSupportedOnSocket) { try removexattr("f", "posixchecks.x") }
            }
            check("a class without a name is EINVAL") {
                try makeFile("f")
                try expect(.invalidArgument) { try setxattr("f", "user.", "v") }
            }
            check("a folder takes attributes") {
                try mkdir("d")
                try setxattr("d", "user.x", "v")
                try expectText(try getxattr("d", "user.x"), "v")
                try expectEqual(try listxattr("d"), ["user.x"])
            }
            check("a link takes no user attributes: EPERM") {
                try symlink("missing", "l")
                try expect(.notPermitted) { try setxattr("l", "user.x", Array("v".utf8), follow: false) }
                try expect(.noData) { try getxattr("l", "user.x", follow: false) }
                try expectEqual(try listxattr("l", follow: false), [])
            }
            check("a fifo takes no user attributes: EPERM") {
                try mkfifo("p")
                try expect(.notPermitted) { try setxattr("p", "user.x", "v") }
            }
            check("attributes through a link are the target's") {
                try makeFile("f")
                try symlink("f", "l")
                try setxattr("l", "user.x", "v")
                try expectText(try getxattr("f", "user.x"), "v")
            }
            check("attributes are the same by every hard link") {
                try makeFile("f")
                try link("f", "g")
                try setxattr("f", "user.x", "v")
                try expectText(try getxattr("g", "user.x"), "v")
            }
            check("setting moves the change time, not the modification time") {
                try makeFile("f")
                let before = try stat("f")
                try expectChangeTime(of: "f") { try setxattr("f", "user.x", "v") }
                try expectChangeTime(of: "f") { try removexattr("f", "user.x") }
                try expectEqual(try stat("f").modify_ns, before.modify_ns, "modification time")
            }
            check("a read-only handle sets attributes") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in try fsetxattr(fd, "user.x", "v") }
                try expectText(try getxattr("f", "user.x"), "v")
            }
            check("writing and truncating keep attributes") {
                try makeFile("f", "abc")
                try setxattr("f", "user.x", "v")
                try withFile("f", O_WRONLY | O_TRUNC) { fd in try write(fd, "new") }
                try expectText(try getxattr("f", "user.x"), "v")
            }
            check("50 attributes on one file") {
                try makeFile("f")
                for number in 10..<60 { try setxattr("f", "user.\(number)", "value \(number)") }
                try expectEqual(try listxattr("f"), (10..<60).map { "user.\($0)" })
                try expectText(try getxattr("f", "user.33"), "value 33")
            }
            check("what another process set is read at once") {
                try makeFile("f")
                try expect(.noData) { try getxattr("f", "user.x") }
                try Child { _ in try setxattr("f", "user.x", "v") }.finish()
                try expectText(try getxattr("f", "user.x"), "v")
            }
            rootCheck("trusted attributes are root's") {
                try makeFile("f", mode: 0o666, owner: .alice)
                try setxattr("f", "trusted.x", "v")
                try expectText(try getxattr("f", "trusted.x"), "v")
                try asUser(.alice) {
                    try expect(.notPermitted) { try setxattr("f", "trusted.x", "w") }
                    try expect(.noData) { try getxattr("f", "trusted.x") }
                    try expectEqual(try listxattr("f"), [])
                }
            }
            rootCheck("trusted attributes are set on a link") {
                try symlink("missing", "l")
                try setxattr("l", "trusted.x", Array("v".utf8), follow: false)
                try expectText(try getxattr("l", "trusted.x", follow: false), "v")
                try expectEqual(try listxattr("l", follow: false), ["trusted.x"])
                try removexattr("l", "trusted.x", follow: false)
            }
            rootCheck("setting needs write permission, reading read permission") {
                try makeFile("f", mode: 0o444)
                try setxattr("f", "user.x", "v")
                try asUser(.alice) {
                    try expect(.permissionDenied) { try setxattr("f", "user.x", "w") }
                    try expect(.permissionDenied) { try removexattr("f", "user.x") }
                    try expectText(try getxattr("f", "user.x"), "v")
                }
                try chmod("f", 0o600)
                try asUser(.alice) { try expect(.permissionDenied) { try getxattr("f", "user.x") } }
            }
            rootCheck("in a sticky folder's attributes only the owner writes") {
                try makeFolder("d", mode: 0o1777)
                try asUser(.alice) { try expect(.notPermitted) { try setxattr("d", "user.x", "v") } }
            }
        }
    }
}
