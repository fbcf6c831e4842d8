import SystemCalls

/// Whether another process could lock the range now; a record lock never conflicts with those of its own process.
private func free(_ path: String, _ type: Int32 = F_WRLCK, _ start: Int = 0, _ length: Int = 0) throws -> Bool {
    do {
        try Child { _ in
            do {
                try withFile(path, O_RDWR) { fd in _ = try lock(fd, F_SETLK, type, start, length) }
            } catch let error as Errno where error == .resourceTemporarilyUnavailable || error == .permissionDenied {
                throw Skipped(reason: "held")
            }
        }.finish()
        return true
    } catch is Skipped { return false }
}

private func holder(
    _ path: String, _ command: Int32 = F_SETLK, _ type: Int32 = F_WRLCK, _ start: Int = 0, _ length: Int = 0
) throws -> Child {
    try lockHolder(path, O_RDWR) { fd in try lock(fd, command, type, start, length) }
}
private func waiter(_ path: String, _ command: Int32 = F_SETLKW) throws -> Child {
    try lockWaiter(path, O_RDWR) { fd in try lock(fd, command, F_WRLCK) }
}

extension Table {
    func addRecordLockChecks() {
        family("fcntl locks") {
            check("a write lock excludes another process") {
                try makeFile("f")
                let other = try holder("f")
                try withFile("f", O_RDWR) { fd in
                    try expect(oneOf: [.resourceTemporarilyUnavailable, .permissionDenied]) {
                        try lock(fd, F_SETLK, F_WRLCK)
                    }
                    try expect(oneOf: [.resourceTemporarilyUnavailable, .permissionDenied]) {
                        try lock(fd, F_SETLK, F_RDLCK)
                    }
                }
                try other.letGo()
            }
            check("read locks share") {
                try makeFile("f")
                let other = try holder("f", F_SETLK, F_RDLCK)
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_SETLK, F_RDLCK)
                    try expect(.resourceTemporarilyUnavailable) { try lock(fd, F_SETLK, F_WRLCK) }
                }
                try other.letGo()
            }
            check("ranges that do not meet do not exclude") {
                try makeFile("f")
                let other = try holder("f", F_SETLK, F_WRLCK, 100, 100)
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_SETLK, F_WRLCK, 0, 100)
                    try lock(fd, F_SETLK, F_WRLCK, 200, 0)
                    try expect(.resourceTemporarilyUnavailable) { try lock(fd, F_SETLK, F_WRLCK, 199, 1) }
                    try expect(.resourceTemporarilyUnavailable) { try lock(fd, F_SETLK, F_WRLCK, 50, 51) }
                }
                try other.letGo()
            }
            check("a lock to the end covers what is appended later") {
                try makeFile("f", "abc")
                let other = try holder("f", F_SETLK, F_WRLCK, 2, 0)
                try withFile("f", O_RDWR | O_APPEND) { fd in
                    try write(fd, pattern(1000))
                    try expect(.resourceTemporarilyUnavailable) { try lock(fd, F_SETLK, F_WRLCK, 900, 10) }
                    try lock(fd, F_SETLK, F_WRLCK, 0, 2)
                }
                try other.letGo()
            }
            check("unlocking frees the range only") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_SETLK, F_WRLCK, 0, 300)
                    try lock(fd, F_SETLK, F_UNLCK, 100, 100)
                    try expectEqual(
                        [
                            try free("f", F_WRLCK, 0, 100), try free("f", F_WRLCK, 100, 100),
                            try free("f", F_WRLCK, 200, 100),
                        ],
                        [false, true, false], "free")
                }
            }
            check("a process replaces its own lock") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_SETLK, F_WRLCK)
                    try lock(fd, F_SETLK, F_RDLCK)
                    try expectTrue(try free("f", F_RDLCK), "free for reading")
                    try expectTrue(try !free("f", F_WRLCK), "not free for writing")
                }
            }
            check("F_GETLK names the holder, its type and range") {
                try makeFile("f")
                let other = try holder("f", F_SETLK, F_WRLCK, 10, 20)
                try withFile("f", O_RDWR) { fd in
                    let found = try lock(fd, F_GETLK, F_RDLCK, 0, 0)
                    try expectEqual(found.type, F_WRLCK, "type")
                    try expectEqual(found.process, other.process, "process")
                    try expectEqual(try lock(fd, F_GETLK, F_WRLCK, 100, 10).type, F_UNLCK, "type where nothing is held")
                }
                try other.letGo()
            }
            check("closing any descriptor of the file frees all of the process's locks") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_SETLK, F_WRLCK)
                    try expectTrue(try !free("f"), "held")
                    try withFile("f", O_RDONLY) { _ in }
                    try expectTrue(try free("f"), "free")
                    try lock(fd, F_SETLK, F_WRLCK)
                    try close(try dup(fd))
                    try expectTrue(try free("f"), "free after closing a duplicate")
                }
            }
            check("closing another file frees nothing") {
                try makeFile("f")
                try makeFile("g")
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_SETLK, F_WRLCK)
                    try withFile("g", O_RDWR) { _ in }
                    try expectTrue(try !free("f"), "held")
                }
            }
            check("locks are the file's, by every hard link") {
                try makeFile("f")
                try link("f", "g")
                let other = try holder("f")
                try withFile("g", O_RDWR) { fd in
                    try expect(.resourceTemporarilyUnavailable) { try lock(fd, F_SETLK, F_WRLCK) }
                }
                try other.letGo()
            }
            check("locks stay with a renamed file, and the name made anew is free") {
                try makeFile("f")
                let other = try holder("f")
                try rename("f", "g")
                try makeFile("f")
                try expectTrue(try !free("g"), "the renamed file held")
                try expectTrue(try free("f"), "the new file free")
                try other.letGo()
            }
            check("a killed process's locks are free") {
                try makeFile("f")
                let other = try holder("f")
                try expectTrue(try !free("f"), "held")
                try other.end(by: SIGKILL)
                try expectTrue(try free("f"), "free")
            }
            check("a process that ended has freed its locks by the time it is reaped, 100 times") {
                try makeFile("f")
                for _ in 0..<100 {
                    try Child { _ in
                        let fd = try open("f", O_RDWR)
                        try lock(fd, F_SETLK, F_WRLCK)
                    }.finish()
                }
            }
            check("a forked child does not inherit the lock") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_SETLK, F_WRLCK)
                    try Child { _ in
                        try expect(.resourceTemporarilyUnavailable) { try lock(fd, F_SETLK, F_WRLCK) }
                    }.finish()
                    try lock(fd, F_SETLK, F_WRLCK)
                }
            }
            check("a child that closes what it inherited does not free the parent's lock") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_SETLK, F_WRLCK)
                    try Child { _ in try close(fd) }.finish()
                    try expectTrue(try !free("f"), "held")
                }
            }
            check("a blocking lock waits until it is free") {
                try makeFile("f")
                let other = try holder("f")
                try expectWait(of: try waiter("f"), for: other)
            }
            check("a blocking lock is interrupted by a signal: EINTR") {
                try makeFile("f")
                let other = try holder("f")
                try expectInterrupted("f", O_RDWR) { fd in try lock(fd, F_SETLKW, F_WRLCK) }
                try other.letGo()
                try expectTrue(try free("f"), "nothing left behind by the interrupted wait")
            }
            check("a killed waiter leaves nothing behind") {
                try makeFile("f")
                let other = try holder("f")
                let killed = try waiter("f")
                try killed.awaitSleep()
                try killed.end(by: SIGKILL)
                try other.letGo()
                try expectTrue(try free("f"), "free")
            }
            check("two processes that wait for each other: one gets EDEADLK") {
                try makeFile("f")
                let other = try Child { side in
                    try side.awaitParent()
                    let fd = try open("f", O_RDWR)
                    try lock(fd, F_SETLK, F_WRLCK, 1, 1)
                    try side.tell()
                    try lock(fd, F_SETLKW, F_WRLCK, 0, 1)
                }
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_SETLK, F_WRLCK, 0, 1)
                    try other.tell()
                    try other.awaitChild()
                    try other.awaitSleep()
                    try expect(.deadlock) { try lock(fd, F_SETLKW, F_WRLCK, 1, 1) }
                    try lock(fd, F_SETLK, F_UNLCK)
                    try other.finish()
                }
            }
            check("a write lock needs a handle for writing, a read lock one for reading") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in try expect(.badFileDescriptor) { try lock(fd, F_SETLK, F_WRLCK) } }
                try withFile("f", O_WRONLY) { fd in try expect(.badFileDescriptor) { try lock(fd, F_SETLK, F_RDLCK) } }
            }
            check("a negative start is EINVAL") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in try expect(.invalidArgument) { try lock(fd, F_SETLK, F_WRLCK, -1, 1) } }
            }
            check("an unlinked file is locked") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try unlink("f")
                    try lock(fd, F_SETLK, F_WRLCK)
                    try Child { _ in
                        try expect(.resourceTemporarilyUnavailable) { try lock(fd, F_SETLK, F_WRLCK) }
                    }.finish()
                }
            }
            check("1,000 ranges are held and freed apart") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    for number in 0..<1000 { try lock(fd, F_SETLK, F_WRLCK, number * 10, 5) }
                    try Child { _ in
                        let own = try open("f", O_RDWR)
                        for number in 0..<1000 {
                            try expect(.resourceTemporarilyUnavailable) {
                                try lock(own, F_SETLK, F_WRLCK, number * 10 + 4, 1)
                            }
                            try lock(own, F_SETLK, F_WRLCK, number * 10 + 5, 5)
                        }
                    }.finish()
                }
            }
            check("16 waiters hold nobody up: files are made, read, listed and removed meanwhile") {
                try makeFile("f")
                try expectNobodyIsHeldUp(by: try holder("f")) { try waiter("f") }
            }
        }
        family("OFD locks") {
            check("two handles of one process exclude each other") {
                try makeFile("f")
                try withFile("f", O_RDWR) { one in
                    try withFile("f", O_RDWR) { two in
                        try lock(one, F_OFD_SETLK, F_WRLCK)
                        try expect(.resourceTemporarilyUnavailable) { try lock(two, F_OFD_SETLK, F_WRLCK) }
                        try lock(one, F_OFD_SETLK, F_UNLCK)
                        try lock(two, F_OFD_SETLK, F_WRLCK)
                    }
                }
            }
            check("an OFD lock and a record lock exclude each other") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_OFD_SETLK, F_WRLCK)
                    try withFile("f", O_RDWR) { own in
                        try expect(.resourceTemporarilyUnavailable) { try lock(own, F_SETLK, F_WRLCK) }
                    }
                }
            }
            check("closing another descriptor of the file frees nothing") {
                try makeFile("f")
                try withFile("f", O_RDWR) { fd in
                    try lock(fd, F_OFD_SETLK, F_WRLCK)
                    try withFile("f", O_RDWR) { _ in }
                    try expectTrue(try !free("f"), "held")
                }
            }
            check("closing the last descriptor frees, at once") {
                try makeFile("f")
                for _ in 0..<100 {
                    try withFile("f", O_RDWR) { fd in try lock(fd, F_OFD_SETLK, F_WRLCK) }
                }
            }
            check("a forked child shares the lock, and keeps it after the parent's close") {
                try makeFile("f")
                let fd = try open("f", O_RDWR)
                try lock(fd, F_OFD_SETLK, F_WRLCK)
                let child = try Child { side in
                    try lock(fd, F_OFD_SETLK, F_WRLCK)
                    try side.awaitParent()
                }
                try close(fd)
                try expectTrue(try !free("f"), "held by the child")
                try child.tell()
                try child.finish()
                try expectTrue(try free("f"), "free")
            }
            check("F_GETLK and F_OFD_GETLK tell of an OFD lock without a process") {
                try makeFile("f")
                let other = try holder("f", F_OFD_SETLK)
                try withFile("f", O_RDWR) { fd in
                    for command in [F_GETLK, F_OFD_GETLK] {
                        let found = try lock(fd, command, F_WRLCK)
                        try expectEqual(found.type, F_WRLCK, "type")
                        try expectEqual(found.process, -1, "process")
                    }
                }
                try other.letGo()
            }
            check("a blocking OFD lock waits until it is free") {
                try makeFile("f")
                let other = try holder("f", F_OFD_SETLK)
                try expectWait(of: try waiter("f", F_OFD_SETLKW), for: other)
            }
            check("a killed process's lock is free") {
                try makeFile("f")
                let other = try holder("f", F_OFD_SETLK)
                try other.end(by: SIGKILL)
                try expectTrue(try free("f"), "free")
            }
        }
    }
}
