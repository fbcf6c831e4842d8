import SystemCalls

private func holder(_ path: String, _ operation: Int32 = LOCK_EX) throws -> Child {
    try lockHolder(path, O_RDONLY) { fd in try flock(fd, operation) }
}
private func waiter(_ path: String, _ operation: Int32 = LOCK_EX) throws -> Child {
    try lockWaiter(path, O_RDONLY) { fd in try flock(fd, operation) }
}

extension Table {
    func addFlockChecks() {
        family("flock") {
            check("an exclusive lock excludes others: EWOULDBLOCK") {
                try makeFile("f")
                let other = try holder("f")
                try withFile("f", O_RDONLY) { fd in
                    try expect(.wouldBlock) { try flock(fd, LOCK_EX | LOCK_NB) }
                    try expect(.wouldBlock) { try flock(fd, LOCK_SH | LOCK_NB) }
                }
                try other.letGo()
            }
            check("shared locks share") {
                try makeFile("f")
                let other = try holder("f", LOCK_SH)
                try withFile("f", O_RDONLY) { fd in
                    try flock(fd, LOCK_SH | LOCK_NB)
                    try expect(.wouldBlock) { try flock(fd, LOCK_EX | LOCK_NB) }
                }
                try other.letGo()
            }
            check("two handles of one process exclude each other") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { one in
                    try withFile("f", O_RDONLY) { two in
                        try flock(one, LOCK_EX | LOCK_NB)
                        try expect(.wouldBlock) { try flock(two, LOCK_EX | LOCK_NB) }
                        try flock(one, LOCK_UN)
                        try flock(two, LOCK_EX | LOCK_NB)
                    }
                }
            }
            check("a lock is turned from exclusive to shared and back") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { one in
                    try withFile("f", O_RDONLY) { two in
                        try flock(one, LOCK_EX | LOCK_NB)
                        try flock(one, LOCK_SH | LOCK_NB)
                        try flock(two, LOCK_SH | LOCK_NB)
                        try expect(.wouldBlock) { try flock(one, LOCK_EX | LOCK_NB) }
                        try flock(two, LOCK_UN)
                        try flock(one, LOCK_EX | LOCK_NB)
                    }
                }
            }
            check("a duplicate shares the lock, and closing it frees nothing") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in
                    try flock(fd, LOCK_EX | LOCK_NB)
                    let copy = try dup(fd)
                    try flock(copy, LOCK_EX | LOCK_NB)
                    try close(copy)
                    try withFile("f", O_RDONLY) { other in try expect(.wouldBlock) { try flock(other, LOCK_SH | LOCK_NB) } }
                }
            }
            check("unlocking a duplicate frees") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in
                    try flock(fd, LOCK_EX | LOCK_NB)
                    try flock(try dup(fd), LOCK_UN)
                    try withFile("f", O_RDONLY) { other in try flock(other, LOCK_EX | LOCK_NB) }
                }
            }
            check("a forked child inherits the lock, which lasts until both have closed") {
                try makeFile("f")
                let fd = try open("f", O_RDONLY)
                try flock(fd, LOCK_EX | LOCK_NB)
                let child = try Child { side in try side.awaitParent() }
                try close(fd)
                try withFile("f", O_RDONLY) { other in
                    try expect(.wouldBlock) { try flock(other, LOCK_EX | LOCK_NB) }
                    try child.tell()
                    try child.finish()
                    try flock(other, LOCK_EX | LOCK_NB)
                }
            }
            check("closing frees at once, 200 times") {
                try makeFile("f")
                for _ in 0..<200 { try withFile("f", O_RDONLY) { fd in try flock(fd, LOCK_EX | LOCK_NB) } }
            }
            check("a process that ended has freed its lock by the time it is reaped, 100 times") {
                try makeFile("f")
                for _ in 0..<100 {
                    try Child { _ in
                        let fd = try open("f", O_RDONLY)
                        try flock(fd, LOCK_EX | LOCK_NB)
                    }.finish()
                }
            }
            check("a killed process's lock is free") {
                try makeFile("f")
                let other = try holder("f")
                try other.end(by: SIGKILL)
                try withFile("f", O_RDONLY) { fd in try flock(fd, LOCK_EX | LOCK_NB) }
            }
            check("a blocking lock waits until it is free") {
                try makeFile("f")
                let other = try holder("f")
                try expectWait(of: try waiter("f"), for: other)
            }
            check("a blocking lock is interrupted by a signal: EINTR") {
                try makeFile("f")
                let other = try holder("f")
                try expectInterrupted("f", O_RDONLY) { fd in try flock(fd, LOCK_EX) }
                try other.letGo()
                try withFile("f", O_RDONLY) { fd in try flock(fd, LOCK_EX | LOCK_NB) }
            }
            check("waiters for shared locks all get it at once") {
                try makeFile("f")
                let other = try holder("f")
                let waiters = try (0..<4).map { _ in try waiter("f", LOCK_SH) }
                try other.letGo()
                for waiter in waiters { try waiter.awaitChild() }
                for waiter in waiters { try waiter.letGo() }
            }
            check("flock and fcntl locks do not know of each other") {
                try makeFile("f")
                let other = try holder("f")
                try withFile("f", O_RDWR) { fd in try lock(fd, F_SETLK, F_WRLCK) }
                try other.letGo()
            }
            check("a folder is locked") {
                try mkdir("d")
                try withFile("d", O_RDONLY) { one in
                    try withFile("d", O_RDONLY) { two in
                        try flock(one, LOCK_EX | LOCK_NB)
                        try expect(.wouldBlock) { try flock(two, LOCK_SH | LOCK_NB) }
                    }
                }
            }
            check("locks are the file's, by every hard link, and stay through rename and unlink") {
                try makeFile("f")
                try link("f", "g")
                try withFile("f", O_RDONLY) { one in
                    try withFile("g", O_RDONLY) { two in
                        try flock(one, LOCK_EX | LOCK_NB)
                        try expect(.wouldBlock) { try flock(two, LOCK_EX | LOCK_NB) }
                        try rename("g", "h")
                        try unlink("f")
                        try expect(.wouldBlock) { try flock(two, LOCK_EX | LOCK_NB) }
                    }
                }
            }
            check("an unknown operation is EINVAL") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in try expect(.invalidArgument) { try flock(fd, 64) } }
            }
            check("16 waiters hold nobody up") {
                try makeFile("f")
                try expectNobodyIsHeldUp(by: try holder("f")) { try waiter("f") }
            }
            check("a counter kept under a lock by four processes misses nothing") {
                try makeFile("f", "0")
                let workers = try (0..<4).map { _ in
                    try Child { _ in
                        for _ in 0..<50 {
                            let fd = try open("f", O_RDWR)
                            try flock(fd, LOCK_EX)
                            let count = Int(String(decoding: try pread(fd, 20, at: 0), as: UTF8.self)) ?? -1
                            try pwrite(fd, "\(count + 1)", at: 0)
                            try close(fd)
                        }
                    }
                }
                for worker in workers { try worker.finish() }
                try expectContent("f", "200")
            }
        }
    }
}
