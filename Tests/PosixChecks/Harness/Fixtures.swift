import SystemCalls

/// Makes a file with this content, mode 644 whatever the umask.
func makeFile(_ path: String, _ content: String = "", mode: UInt32 = 0o644) throws {
    let fd = try open(path, O_WRONLY | O_CREAT | O_EXCL, mode)
    if !content.isEmpty { try write(fd, content) }
    try fchmod(fd, mode)
    try close(fd)
}
/// Makes a file of `count` bytes in which every position can be told from its neighbours.
func makePatternFile(_ path: String, _ count: Int) throws {
    let fd = try open(path, O_WRONLY | O_CREAT | O_EXCL)
    try write(fd, pattern(count))
    try close(fd)
}
func pattern(_ count: Int, from start: Int = 0) -> [UInt8] {
    (start..<(start + count)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &* 7 &+ 1) }
}
/// Makes a folder with exactly this mode.
func makeFolder(_ path: String, mode: UInt32 = 0o755) throws {
    try mkdir(path, 0o700)
    try chmod(path, mode)
}
func content(_ path: String) throws -> [UInt8] {
    let fd = try open(path, O_RDONLY)
    defer { try? close(fd) }
    return try readAll(fd)
}
func readAll(_ fd: Int32) throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
        let more = try read(fd, 65536)
        if more.isEmpty { return all }
        all += more
    }
}
/// Opens, calls `body`, closes.
func withFile(_ path: String, _ flags: Int32, _ body: (Int32) throws -> Void) throws {
    let fd = try open(path, flags)
    defer { try? close(fd) }
    try body(fd)
}
/// Long enough for the clock of a file system's times to tick (10 ms at 100 Hz).
func pauseForClock() { sleep(milliseconds: 15) }

/// A change time that moved on between two looks at `path` (or the link itself), around `body`.
func expectChangeTime(moves: Bool = true, of path: String, line: Int = #line, _ body: () throws -> Void) throws {
    let before = try lstat(path).change_ns
    pauseForClock()
    try body()
    let after = try lstat(path).change_ns
    try expectEqual(after > before, moves, "change time of \(path) moved:", line: line)
}
/// The folder's modification and change times move on around `body`.
func expectFolderTimesMove(_ path: String, line: Int = #line, _ body: () throws -> Void) throws {
    let before = try stat(path)
    pauseForClock()
    try body()
    let after = try stat(path)
    try expectTrue(after.modify_ns > before.modify_ns, "a later modification time of \(path)", line: line)
    try expectTrue(after.change_ns > before.change_ns, "a later change time of \(path)", line: line)
}
func names(in path: String) throws -> [String] { try entries(of: path).map(\.text).sorted() }
