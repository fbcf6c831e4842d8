import SystemCalls

/// A child that holds the lock that `take` takes until it is let go, or ended.
func lockHolder(_ path: String, _ flags: Int32, _ take: @escaping (_ fd: Int32) throws -> Void) throws -> Child {
    let child = try lockWaiter(path, flags, take)
    try child.awaitChild()
    return child
}

/// A child that is about to ask for a lock. It tells when it has it, and holds it until it is let go, or ended.
func lockWaiter(_ path: String, _ flags: Int32, _ take: @escaping (_ fd: Int32) throws -> Void) throws -> Child {
    let child = try Child { side in
        let fd = try open(path, flags)
        try side.tell()
        try take(fd)
        try side.tell()
        try side.awaitParent()
    }
    try child.awaitChild()
    return child
}

/// The waiter waits for the holder's lock, and has it once that is let go.
func expectWait(of waiter: Child, for holder: Child, line: Int = #line) throws {
    try expectTrue(try !waiter.tells(within: 150), "a waiter that waits", line: line)
    try holder.letGo(line: line)
    try waiter.awaitChild(line: line)
    try waiter.letGo(line: line)
}

/// Waiting for a lock that another process holds ends with EINTR when a signal is caught.
func expectInterrupted(_ path: String, _ flags: Int32, line: Int = #line, _ take: (_ fd: Int32) throws -> Void) throws {
    try done(sc_catch(SIGALRM))
    try withFile(path, flags) { fd in
        try done(sc_alarm(100))
        try expect(.interrupted, line: line) { try take(fd) }
        try done(sc_alarm(0))
    }
    try expectTrue(sc_caught(SIGALRM) > 0, "a signal", line: line)
}

/// Files are made, read, listed and removed while 16 processes wait for the holder's lock on the folder's only file.
func expectNobodyIsHeldUp(by holder: Child, _ waiter: () throws -> Child) throws {
    let waiters = try (0..<16).map { _ in try waiter() }
    try Child.awaitSleep(of: waiters)
    let file = try names(in: ".")
    for number in 0..<100 {
        try makeFile("g\(number)", "abc")
        try expectContent("g\(number)", "abc")
        try expectEqual(try names(in: "."), file + ["g\(number)"])
        try unlink("g\(number)")
    }
    // Each ends, and so frees the lock, as soon as it has it.
    for waiter in waiters { try waiter.tell() }
    try holder.letGo()
    for waiter in waiters { try waiter.finish() }
}
