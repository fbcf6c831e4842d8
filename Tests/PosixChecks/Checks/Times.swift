import SystemCalls

private let second: Int64 = 1_000_000_000

extension Table {
    func addTimeChecks() {
        family("times") {
            check("nanoseconds are kept") {
                try makeFile("f")
                try utimens(
                    "f", access: .at(seconds: 1_234_567_890, nanoseconds: 123_456_789),
                    modify: .at(seconds: 1_600_000_001, nanoseconds: 987_654_321))
                let status = try stat("f")
                try expectEqual(status.access_ns, 1_234_567_890 * second + 123_456_789, "access time")
                try expectEqual(status.modify_ns, 1_600_000_001 * second + 987_654_321, "modification time")
            }
            for seconds in [0, 1, -1, -86400, 1 << 31, (1 << 32) + 5, -(1 << 31)] {
                check("second \(seconds) is kept") {
                    try makeFile("f")
                    try utimens(
                        "f", access: .at(seconds: seconds, nanoseconds: 0), modify: .at(seconds: seconds, nanoseconds: 0))
                    try expectEqual(try stat("f").modify_ns, Int64(seconds) * second, "modification time")
                }
            }
            check("UTIME_OMIT leaves a time, both leave all") {
                try makeFile("f")
                try utimens("f", access: .at(seconds: 10, nanoseconds: 0), modify: .at(seconds: 20, nanoseconds: 0))
                try utimens("f", access: .omitted, modify: .at(seconds: 30, nanoseconds: 0))
                try expectEqual([try stat("f").access_ns, try stat("f").modify_ns], [10 * second, 30 * second])
                try utimens("f", access: .at(seconds: 40, nanoseconds: 0), modify: .omitted)
                try expectEqual([try stat("f").access_ns, try stat("f").modify_ns], [40 * second, 30 * second])
                let before = try stat("f").change_ns
                pauseForClock()
                try utimens("f", access: .omitted, modify: .omitted)
                try expectEqual(try stat("f").change_ns, before, "change time")
            }
            check("UTIME_NOW is the present") {
                try makeFile("f")
                try makeFile("g")
                try utimens("f", access: .at(seconds: 10, nanoseconds: 0), modify: .at(seconds: 20, nanoseconds: 0))
                try utimens("f", access: .omitted, modify: .now)
                try expectTrue(try stat("f").modify_ns >= stat("g").modify_ns, "a present modification time")
                try expectEqual(try stat("f").access_ns, 10 * second, "access time")
                try utimens("f", access: .now, modify: .omitted)
                try expectTrue(try stat("f").access_ns >= stat("g").modify_ns, "a present access time")
            }
            check("touch without times sets both to the present") {
                try makeFile("f")
                try utimens("f", access: .at(seconds: 10, nanoseconds: 0), modify: .at(seconds: 20, nanoseconds: 0))
                try touch("f")
                try expectTrue(try stat("f").access_ns > 20 * second, "a present access time")
                try expectTrue(try stat("f").modify_ns > 20 * second, "a present modification time")
            }
            check("setting times moves the change time") {
                try makeFile("f")
                try expectChangeTime(of: "f") {
                    try utimens("f", access: .at(seconds: 1, nanoseconds: 0), modify: .at(seconds: 1, nanoseconds: 0))
                }
            }
            check("nanoseconds beyond a second are EINVAL") {
                try makeFile("f")
                try expect(.invalidArgument) {
                    try utimens("f", access: .at(seconds: 1, nanoseconds: 1_000_000_000), modify: .now)
                }
            }
            check("times by handle are the same") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in
                    try futimens(fd, access: .at(seconds: 3, nanoseconds: 4), modify: .at(seconds: 5, nanoseconds: 6))
                    try expectEqual(try fstat(fd).modify_ns, 5 * second + 6, "modification time by handle")
                }
                try expectEqual(try stat("f").modify_ns, 5 * second + 6, "modification time by path")
            }
            check("times set through a writing handle stay after close") {
                try makeFile("f")
                try withFile("f", O_WRONLY) { fd in
                    try write(fd, "abc")
                    try futimens(fd, access: .at(seconds: 3, nanoseconds: 4), modify: .at(seconds: 5, nanoseconds: 6))
                }
                pauseForClock()
                try expectEqual(try stat("f").modify_ns, 5 * second + 6, "modification time")
            }
            check("times set by path during writing stay after close") {
                try makeFile("f")
                try withFile("f", O_WRONLY) { fd in
                    try write(fd, "abc")
                    try utimens("f", access: .omitted, modify: .at(seconds: 5, nanoseconds: 0))
                }
                try expectEqual(try stat("f").modify_ns, 5 * second, "modification time")
            }
            check("a folder's times are set") {
                try mkdir("d")
                try utimens("d", access: .at(seconds: 3, nanoseconds: 0), modify: .at(seconds: 5, nanoseconds: 6))
                try expectEqual(try stat("d").modify_ns, 5 * second + 6, "modification time")
            }
            check("a fifo's times are set") {
                try mkfifo("p")
                try utimens("p", access: .at(seconds: 3, nanoseconds: 0), modify: .at(seconds: 5, nanoseconds: 6))
                try expectEqual(try stat("p").modify_ns, 5 * second + 6, "modification time")
            }
            check("writing moves the modification and change times, not the access time") {
                try makeFile("f", "abc")
                let before = try stat("f")
                pauseForClock()
                try withFile("f", O_WRONLY) { fd in try write(fd, "x") }
                let after = try stat("f")
                try expectTrue(after.modify_ns > before.modify_ns, "a later modification time")
                try expectTrue(after.change_ns > before.change_ns, "a later change time")
                try expectEqual(after.access_ns, before.access_ns, "access time")
            }
            check("a write is seen in fstat of the same handle at once") {
                try makeFile("f", "abc")
                try withFile("f", O_WRONLY) { fd in
                    let before = try fstat(fd)
                    pauseForClock()
                    try pwrite(fd, "x", at: 10)
                    let after = try fstat(fd)
                    try expectTrue(after.modify_ns > before.modify_ns, "a later modification time")
                    try expectEqual(after.size, 11, "size")
                }
            }
            check("a write is seen in stat by another process at once") {
                try makeFile("f", "abc")
                let before = try stat("f")
                let watcher = try Child { side in
                    _ = try stat("f")
                    try side.tell()
                    try side.awaitParent()
                    let after = try stat("f")
                    try expectEqual(after.size, 20, "size")
                    try expectTrue(after.modify_ns > before.modify_ns, "a later modification time")
                }
                try watcher.awaitChild()
                pauseForClock()
                try withFile("f", O_WRONLY) { fd in
                    try pwrite(fd, "x", at: 19)
                    try watcher.tell()
                    try watcher.finish()
                }
            }
            check("writing nothing moves no time") {
                try makeFile("f", "abc")
                let before = try stat("f")
                pauseForClock()
                try withFile("f", O_WRONLY) { fd in try write(fd, "") }
                try expectEqual(try stat("f").modify_ns, before.modify_ns, "modification time")
            }
            check("opening and closing moves no modification time") {
                try makeFile("f", "abc")
                let before = try stat("f")
                pauseForClock()
                try withFile("f", O_RDWR) { _ in }
                try expectEqual(try stat("f").modify_ns, before.modify_ns, "modification time")
                try expectEqual(try stat("f").change_ns, before.change_ns, "change time")
            }
            check("reading moves an access time older than the modification time") {
                if Int32(truncatingIfNeeded: try statfs(".").flags) & ST_NOATIME != 0 { throw Skipped(reason: "noatime") }
                try makeFile("f", "abc")
                try utimens("f", access: .at(seconds: 10, nanoseconds: 0), modify: .at(seconds: 20, nanoseconds: 0))
                _ = try content("f")
                try expectTrue(try stat("f").access_ns > 20 * second, "a later access time")
                try expectEqual(try stat("f").modify_ns, 20 * second, "modification time")
            }
            check("reading a folder moves an access time older than the modification time") {
                if Int32(truncatingIfNeeded: try statfs(".").flags) & ST_NOATIME != 0 { throw Skipped(reason: "noatime") }
                try mkdir("d")
                try makeFile("d/f")
                try utimens("d", access: .at(seconds: 10, nanoseconds: 0), modify: .at(seconds: 20, nanoseconds: 0))
                _ = try names(in: "d")
                try expectTrue(try stat("d").access_ns > 20 * second, "a later access time")
            }
            check("reading leaves the modification and change times") {
                try makeFile("f", "abc")
                let before = try stat("f")
                pauseForClock()
                _ = try content("f")
                try expectEqual(try stat("f").modify_ns, before.modify_ns, "modification time")
                try expectEqual(try stat("f").change_ns, before.change_ns, "change time")
            }
            check("the birth time stays through writing and renaming") {
                try makeFile("f", "abc")
                let birth = try stat("f").birth_ns
                if birth == 0 { throw Skipped(reason: "no birth times") }
                pauseForClock()
                try withFile("f", O_WRONLY) { fd in try write(fd, "x") }
                try rename("f", "g")
                try expectEqual(try stat("g").birth_ns, birth, "birth time")
            }
            rootCheck("an owner sets times without write permission") {
                try makeFile("f", mode: 0o444, owner: .alice)
                try asUser(.alice) {
                    try utimens("f", access: .at(seconds: 1, nanoseconds: 0), modify: .at(seconds: 2, nanoseconds: 0))
                }
                try expectEqual(try stat("f").modify_ns, 2 * second, "modification time")
            }
            rootCheck("who may write sets the present only") {
                try makeFile("f", mode: 0o666)
                try asUser(.alice) {
                    try touch("f")
                    try utimens("f", access: .now, modify: .now)
                    try expect(.notPermitted) {
                        try utimens("f", access: .at(seconds: 1, nanoseconds: 0), modify: .at(seconds: 2, nanoseconds: 0))
                    }
                    try expect(.notPermitted) { try utimens("f", access: .omitted, modify: .now) }
                }
            }
            rootCheck("who may only read sets no times") {
                try makeFile("f", mode: 0o644)
                try asUser(.alice) {
                    try expect(.permissionDenied) { try touch("f") }
                    try expect(.notPermitted) {
                        try utimens("f", access: .at(seconds: 1, nanoseconds: 0), modify: .at(seconds: 2, nanoseconds: 0))
                    }
                }
            }
        }
    }
}
