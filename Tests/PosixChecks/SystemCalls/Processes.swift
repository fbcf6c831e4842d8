// Processes, identities and signals.

package func getpid() -> Int32 { Int32(sc_call(SYS_getpid, 0, 0, 0, 0, 0, 0)) }
package func geteuid() -> UInt32 { UInt32(sc_call(SYS_geteuid, 0, 0, 0, 0, 0, 0)) }
package func getegid() -> UInt32 { UInt32(sc_call(SYS_getegid, 0, 0, 0, 0, 0, 0)) }
package func kill(_ process: Int32, _ signal: Int32) throws(Errno) { try call(SYS_kill, process, signal) }

/// The process's identity from here on: real, effective and saved, with these supplementary groups and without capabilities
/// unless `uid` is 0.
package func become(uid: UInt32, gid: UInt32, groups: [UInt32] = []) throws(Errno) {
    try withMemory(groups) { (memory) throws(Errno) in
        _ = try call(SYS_setgroups, groups.count, memory, name: "setgroups")
    }
    try call(SYS_setresgid, gid, gid, gid)
    try call(SYS_setresuid, uid, uid, uid)
    // Without this /proc/self belongs to root and descriptors cannot be opened again through it.
    try call(SYS_prctl, PR_SET_DUMPABLE, 1)
}

/// How a process ended.
package enum Ending: Equatable {
    case exited(Int32)
    case killed(signal: Int32)
}
/// Waits for a child. With `WNOHANG`, nil while it runs.
package func wait(for process: Int32, _ options: Int32 = 0) throws(Errno) -> Ending? {
    var status: Int32 = 0
    let ended = try retrying { () throws(Errno) in
        try withUnsafeMutablePointer(to: &status) { (status) throws(Errno) in
            try call(SYS_wait4, process, status, options, 0, name: "wait4")
        }
    }
    guard ended != 0 else { return nil }
    return status & 0x7f == 0 ? .exited(status >> 8 & 0xff) : .killed(signal: status & 0x7f)
}

/// Ends the process without running anything at exit.
package func exitNow(_ status: Int32) -> Never {
    while true { _ = sc_call(SYS_exit_group, Int(status), 0, 0, 0, 0, 0) }
}

package func sleep(milliseconds: Int) {
    _ = try? poll(0, 0, milliseconds)
}
/// Waits until `fd` can be read or has ended, at most so long; whether it can.
package func readable(_ fd: Int32, within milliseconds: Int) throws(Errno) -> Bool {
    // struct pollfd: fd 4, events 2 (POLLIN is 1), revents 2.
    let record = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
    defer { record.deallocate() }
    record.storeBytes(of: UInt64(UInt32(bitPattern: fd)) | 1 << 32, as: UInt64.self)
    return try retrying { () throws(Errno) in try poll(record, 1, milliseconds) > 0 }
}
private func poll(_ records: some Word, _ count: Int, _ milliseconds: Int) throws(Errno) -> Int {
    // The kernel stores the time left.
    let limit = UnsafeMutablePointer<Int>.allocate(capacity: 2)
    defer { limit.deallocate() }
    limit[0] = milliseconds / 1000
    limit[1] = milliseconds % 1000 * 1_000_000
    return try call(SYS_ppoll, records, count, limit, 0, 0)
}
