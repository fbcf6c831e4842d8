// Calls on names, under their own names. Each throws the call's errno. A path is a String or, where it is not text, [CChar].

package typealias Status = sc_status

package func mkdir(_ path: UnsafePointer<CChar>, _ mode: UInt32 = 0o755) throws(Errno) {
    try call(SYS_mkdirat, AT_FDCWD, path, mode)
}
package func mkdirat(_ folder: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32 = 0o755) throws(Errno) {
    try call(SYS_mkdirat, folder, path, mode)
}
package func rmdir(_ path: UnsafePointer<CChar>) throws(Errno) { try call(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR) }
package func unlink(_ path: UnsafePointer<CChar>) throws(Errno) { try call(SYS_unlinkat, AT_FDCWD, path, 0) }
package func unlinkat(_ folder: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32 = 0) throws(Errno) {
    try call(SYS_unlinkat, folder, path, flags)
}
package func rename(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>, flags: Int32 = 0) throws(Errno) {
    try call(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags)
}
package func renameat(
    _ fromFolder: Int32, _ from: UnsafePointer<CChar>, _ toFolder: Int32, _ to: UnsafePointer<CChar>
) throws(Errno) {
    try call(SYS_renameat2, fromFolder, from, toFolder, to, 0)
}
package func link(_ from: UnsafePointer<CChar>, _ to: UnsafePointer<CChar>) throws(Errno) {
    try call(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)
}
package func linkat(
    _ fromFolder: Int32, _ from: UnsafePointer<CChar>, _ toFolder: Int32, _ to: UnsafePointer<CChar>, _ flags: Int32
) throws(Errno) {
    try call(SYS_linkat, fromFolder, from, toFolder, to, flags)
}
package func symlink(_ target: UnsafePointer<CChar>, _ path: UnsafePointer<CChar>) throws(Errno) {
    try call(SYS_symlinkat, target, AT_FDCWD, path)
}
/// The link's target, at most `room` bytes of it.
package func readlink(_ path: UnsafePointer<CChar>, room: Int = 4096) throws(Errno) -> String {
    let target = try filled(room) { (buffer) throws(Errno) in
        try call(SYS_readlinkat, AT_FDCWD, path, buffer, room, name: "readlink")
    }
    return String(decoding: target, as: UTF8.self)
}
package func mknod(_ path: UnsafePointer<CChar>, _ mode: UInt32, _ device: UInt64 = 0) throws(Errno) {
    try call(SYS_mknodat, AT_FDCWD, path, mode, device)
}
package func mkfifo(_ path: UnsafePointer<CChar>, _ mode: UInt32 = 0o644) throws(Errno) {
    try call(SYS_mknodat, AT_FDCWD, path, UInt32(S_IFIFO) | mode, 0)
}
package func chmod(_ path: UnsafePointer<CChar>, _ mode: UInt32) throws(Errno) {
    try call(SYS_fchmodat, AT_FDCWD, path, mode)
}
package func fchmod(_ fd: Int32, _ mode: UInt32) throws(Errno) { try call(SYS_fchmod, fd, mode) }
/// -1 leaves a part as it is.
package func chown(_ path: UnsafePointer<CChar>, _ uid: Int, _ gid: Int) throws(Errno) {
    try call(SYS_fchownat, AT_FDCWD, path, uid, gid, 0)
}
package func lchown(_ path: UnsafePointer<CChar>, _ uid: Int, _ gid: Int) throws(Errno) {
    try call(SYS_fchownat, AT_FDCWD, path, uid, gid, AT_SYMLINK_NOFOLLOW)
}
package func fchown(_ fd: Int32, _ uid: Int, _ gid: Int) throws(Errno) { try call(SYS_fchown, fd, uid, gid) }
package func truncate(_ path: UnsafePointer<CChar>, _ size: Int) throws(Errno) { try call(SYS_truncate, path, size) }
package func access(_ path: UnsafePointer<CChar>, _ mode: Int32) throws(Errno) {
    try call(SYS_faccessat, AT_FDCWD, path, mode)
}
package func faccessat(_ folder: Int32, _ path: UnsafePointer<CChar>, _ mode: Int32, _ flags: Int32) throws(Errno) {
    try call(SYS_faccessat2, folder, path, mode, flags)
}
package func chdir(_ path: UnsafePointer<CChar>) throws(Errno) { try call(SYS_chdir, path) }
package func fchdir(_ fd: Int32) throws(Errno) { try call(SYS_fchdir, fd) }
package func getcwd() throws(Errno) -> String {
    let path = try filled(4096) { (buffer) throws(Errno) in try call(SYS_getcwd, buffer, 4096, name: "getcwd") }
    return String(decoding: path.dropLast(), as: UTF8.self)
}
/// Sets the file mode creation mask and gives the old one.
@discardableResult
package func umask(_ mask: UInt32) -> UInt32 { UInt32(sc_call(SYS_umask, Int(mask), 0, 0, 0, 0, 0)) }

package func stat(_ path: UnsafePointer<CChar>) throws(Errno) -> Status { try status(AT_FDCWD, path, 0, "stat") }
package func lstat(_ path: UnsafePointer<CChar>) throws(Errno) -> Status {
    try status(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, "lstat")
}
package func fstat(_ fd: Int32) throws(Errno) -> Status { try status(fd, "", AT_EMPTY_PATH, "fstat") }
package func fstatat(_ folder: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32 = 0) throws(Errno) -> Status {
    try status(folder, path, flags, "fstatat")
}
private func status(
    _ folder: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32, _ name: String
) throws(Errno) -> Status {
    var result = Status()
    try done(sc_stat(folder, path, flags, &result), name: name)
    return result
}
extension Status {
    /// One of S_IFREG and its like.
    package var type: Int32 { Int32(mode) & S_IFMT }
    /// The twelve permission bits.
    package var permissions: UInt32 { mode & 0o7777 }
}

package func statfs(_ path: UnsafePointer<CChar>) throws(Errno) -> sc_file_system {
    var result = sc_file_system()
    try done(sc_statfs(path, &result))
    return result
}
package func fstatfs(_ fd: Int32) throws(Errno) -> sc_file_system {
    var result = sc_file_system()
    try done(sc_fstatfs(fd, &result))
    return result
}

/// A time for utimensat(2).
package enum FileTime {
    case now, omitted
    case at(seconds: Int, nanoseconds: Int)

    var words: [Int] {
        switch self {
        case .now: [0, Int(UTIME_NOW)]
        case .omitted: [0, Int(UTIME_OMIT)]
        case .at(let seconds, let nanoseconds): [seconds, nanoseconds]
        }
    }
}
package func utimens(
    _ path: UnsafePointer<CChar>, access: FileTime, modify: FileTime, flags: Int32 = 0
) throws(Errno) {
    let words = access.words + modify.words
    try withMemory(words) { (words) throws(Errno) in
        _ = try call(SYS_utimensat, AT_FDCWD, path, words, flags, name: "utimensat")
    }
}
package func futimens(_ fd: Int32, access: FileTime, modify: FileTime) throws(Errno) {
    let words = access.words + modify.words
    try withMemory(words) { (words) throws(Errno) in _ = try call(SYS_utimensat, fd, 0, words, 0, name: "futimens") }
}
/// Both times set to the present, as by utimensat(2) without times.
package func touch(_ path: UnsafePointer<CChar>) throws(Errno) { try call(SYS_utimensat, AT_FDCWD, path, 0, 0) }
