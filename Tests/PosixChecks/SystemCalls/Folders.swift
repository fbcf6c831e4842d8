/// One entry as getdents64(2) gives it.
package struct FolderEntry: Equatable {
    package let inode: UInt64
    /// Where the entry after this one starts, for lseek.
    package let next: Int
    package let type: Int32
    package let name: [UInt8]

    package var text: String { String(decoding: name, as: UTF8.self) }
}

/// The next entries of an open folder, as many as one call with `room` bytes gives; none at the end.
package func getdents(_ fd: Int32, room: Int = 32768) throws(Errno) -> [FolderEntry] {
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 8)
    defer { buffer.deallocate() }
    let length = try call(SYS_getdents64, fd, buffer, room)
    var entries: [FolderEntry] = []
    var position = 0
    while position < length {
        // struct linux_dirent64: ino 8, off 8, reclen 2, type 1, name to a NUL.
        let record = buffer + position
        let size = Int(record.load(fromByteOffset: 16, as: UInt16.self))
        let name = UnsafeRawBufferPointer(start: record + 19, count: size - 19)
        entries.append(
            FolderEntry(
                inode: record.load(as: UInt64.self), next: record.load(fromByteOffset: 8, as: Int.self),
                type: Int32(record.load(fromByteOffset: 18, as: UInt8.self)), name: [UInt8](name.prefix { $0 != 0 })))
        position += size
    }
    return entries
}

/// All entries from the open folder's position on, `.` and `..` included.
package func allEntries(_ fd: Int32, room: Int = 32768) throws(Errno) -> [FolderEntry] {
    var entries: [FolderEntry] = []
    while true {
        let more = try getdents(fd, room: room)
        if more.isEmpty { return entries }
        entries += more
    }
}

/// The entries of the folder at `path` but `.` and `..`.
package func entries(of path: UnsafePointer<CChar>) throws(Errno) -> [FolderEntry] {
    let fd = try open(path, O_RDONLY | O_DIRECTORY)
    defer { try? close(fd) }
    return try allEntries(fd).filter { $0.text != "." && $0.text != ".." }
}

/// Removes `path` and everything in it. Whatever cannot be removed is left.
package func removeTree(_ path: [UInt8], onFailure: (_ path: String, _ call: String, Errno) -> Void = { _, _, _ in }) {
    let terminated = path.map { CChar(bitPattern: $0) } + [0]
    func attempt<Result>(_ call: String, _ body: () throws(Errno) -> Result) -> Result? {
        do throws(Errno) { return try body() } catch {
            onFailure(String(decoding: path, as: UTF8.self), call, error)
            return nil
        }
    }
    guard let status = attempt("lstat", { () throws(Errno) in try lstat(terminated) }) else { return }
    guard status.type == S_IFDIR else {
        attempt("unlink") { () throws(Errno) in try unlink(terminated) }
        return
    }
    if (try? access(terminated, R_OK | W_OK | X_OK)) == nil { attempt("chmod") { () throws(Errno) in try chmod(terminated, 0o700) } }
    for entry in attempt("readdir", { () throws(Errno) in try entries(of: terminated) }) ?? [] {
        removeTree(path + [UInt8(ascii: "/")] + entry.name, onFailure: onFailure)
    }
    attempt("rmdir") { () throws(Errno) in try rmdir(terminated) }
}
