// Calls on open files, under their own names. Each throws the call's errno.

package func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: UInt32 = 0o644) throws(Errno) -> Int32 {
    Int32(try call(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode))
}
package func openat(
    _ folder: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: UInt32 = 0o644
) throws(Errno) -> Int32 {
    Int32(try call(SYS_openat, folder, path, flags | O_CLOEXEC, mode))
}
package func close(_ fd: Int32) throws(Errno) { try call(SYS_close, fd) }
package func dup(_ fd: Int32) throws(Errno) -> Int32 { Int32(try call(SYS_dup, fd)) }

/// Reads at most `count` bytes in one call.
package func read(_ fd: Int32, _ count: Int) throws(Errno) -> [UInt8] {
    try filled(count) { (buffer) throws(Errno) in try call(SYS_read, fd, buffer, count, name: "read") }
}
package func pread(_ fd: Int32, _ count: Int, at offset: Int) throws(Errno) -> [UInt8] {
    try filled(count) { (buffer) throws(Errno) in try call(SYS_pread64, fd, buffer, count, offset, name: "pread") }
}
/// Reads into buffers of the given sizes in one call, and gives what each received.
package func readv(_ fd: Int32, _ counts: [Int], at offset: Int? = nil) throws(Errno) -> [[UInt8]] {
    let total = counts.reduce(0, +)
    let base = UnsafeMutableRawPointer.allocate(byteCount: max(total, 1), alignment: 16)
    defer { base.deallocate() }
    var vectors: [UInt] = []
    var position = 0
    for count in counts {
        vectors += [UInt(bitPattern: base + position), UInt(count)]
        position += count
    }
    let got = try withMemory(vectors) { (memory) throws(Errno) in
        guard let offset else { return try call(SYS_readv, fd, memory, counts.count, name: "readv") }
        return try call(SYS_preadv, fd, memory, counts.count, offset, name: "preadv")
    }
    var result: [[UInt8]] = []
    position = 0
    for count in counts {
        let part = max(0, min(count, got - position))
        result.append([UInt8](UnsafeRawBufferPointer(start: base + position, count: part)))
        position += count
    }
    return result
}
/// Writes the buffers in one call.
@discardableResult
package func writev(_ fd: Int32, _ parts: [[UInt8]], at offset: Int? = nil) throws(Errno) -> Int {
    let joined = parts.flatMap { $0 }
    let base = UnsafeMutableRawPointer.allocate(byteCount: max(joined.count, 1), alignment: 16)
    defer { base.deallocate() }
    base.copyMemory(from: joined, byteCount: joined.count)
    var vectors: [UInt] = []
    var position = 0
    for part in parts {
        vectors += [UInt(bitPattern: base + position), UInt(part.count)]
        position += part.count
    }
    return try withMemory(vectors) { (memory) throws(Errno) in
        guard let offset else { return try call(SYS_writev, fd, memory, parts.count, name: "writev") }
        return try call(SYS_pwritev, fd, memory, parts.count, offset, name: "pwritev")
    }
}
@discardableResult
package func write(_ fd: Int32, _ bytes: [UInt8]) throws(Errno) -> Int {
    try withMemory(bytes) { (memory) throws(Errno) in try call(SYS_write, fd, memory, bytes.count, name: "write") }
}
@discardableResult
package func write(_ fd: Int32, _ text: String) throws(Errno) -> Int { try write(fd, Array(text.utf8)) }
@discardableResult
package func pwrite(_ fd: Int32, _ bytes: [UInt8], at offset: Int) throws(Errno) -> Int {
    try withMemory(bytes) { (memory) throws(Errno) in
        try call(SYS_pwrite64, fd, memory, bytes.count, offset, name: "pwrite")
    }
}
@discardableResult
package func pwrite(_ fd: Int32, _ text: String, at offset: Int) throws(Errno) -> Int {
    try pwrite(fd, Array(text.utf8), at: offset)
}
@discardableResult
package func lseek(_ fd: Int32, _ offset: Int, _ whence: Int32) throws(Errno) -> Int {
    try call(SYS_lseek, fd, offset, whence)
}
/// Opens the file of a descriptor anew, by its handle. Only root may.
package func openByHandle(_ fd: Int32, _ flags: Int32) throws(Errno) -> Int32 { try done(sc_open_by_handle(fd, flags)) }
package func ftruncate(_ fd: Int32, _ size: Int) throws(Errno) { try call(SYS_ftruncate, fd, size) }
package func fallocate(_ fd: Int32, _ mode: Int32, _ offset: Int, _ length: Int) throws(Errno) {
    try call(SYS_fallocate, fd, mode, offset, length)
}
package func fsync(_ fd: Int32) throws(Errno) { try call(SYS_fsync, fd) }
package func fdatasync(_ fd: Int32) throws(Errno) { try call(SYS_fdatasync, fd) }
package func syncfs(_ fd: Int32) throws(Errno) { try call(SYS_syncfs, fd) }
package func fadvise(_ fd: Int32, _ advice: Int32) throws(Errno) { try call(SYS_fadvise64, fd, 0, 0, advice) }
package func flock(_ fd: Int32, _ operation: Int32) throws(Errno) { try call(SYS_flock, fd, operation) }
@discardableResult
package func fcntl(_ fd: Int32, _ command: Int32, _ argument: Int32 = 0) throws(Errno) -> Int32 {
    Int32(try call(SYS_fcntl, fd, command, argument))
}

/// Copies between files; nil offsets use and move the files' own positions.
@discardableResult
package func copyFileRange(
    _ input: Int32, _ inputOffset: Int?, _ output: Int32, _ outputOffset: Int?, _ count: Int, flags: UInt32 = 0
) throws(Errno) -> Int {
    var from = inputOffset ?? 0
    var to = outputOffset ?? 0
    return try withUnsafeMutablePointer(to: &from) { (from) throws(Errno) in
        try withUnsafeMutablePointer(to: &to) { (to) throws(Errno) in
            try call(
                SYS_copy_file_range, input, inputOffset == nil ? 0 : from.word, output, outputOffset == nil ? 0 : to.word,
                count, flags, name: "copy_file_range")
        }
    }
}
@discardableResult
package func sendfile(_ output: Int32, _ input: Int32, at offset: Int? = nil, _ count: Int) throws(Errno) -> Int {
    var from = offset ?? 0
    return try withUnsafeMutablePointer(to: &from) { (from) throws(Errno) in
        try call(SYS_sendfile, output, input, offset == nil ? 0 : from.word, count, name: "sendfile")
    }
}
@discardableResult
package func splice(_ input: Int32, _ output: Int32, _ count: Int) throws(Errno) -> Int {
    try call(SYS_splice, input, 0, output, 0, count, 0)
}
/// Both ends of a pipe: where to read, where to write.
package func pipe() throws(Errno) -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    _ = try ends.withUnsafeMutableBufferPointer { (buffer) throws(Errno) in
        try call(SYS_pipe2, buffer.baseAddress!, O_CLOEXEC, name: "pipe2")
    }
    return (ends[0], ends[1])
}

/// A record lock call on `start ..< start + length` (0: to the end). Gives the type the kernel stored, and for a conflict
/// found by F_GETLK the process that holds it.
@discardableResult
package func lock(
    _ fd: Int32, _ command: Int32, _ type: Int32, _ start: Int = 0, _ length: Int = 0
) throws(Errno) -> (type: Int32, process: Int32) {
    var stored = Int16(type)
    var process: Int32 = 0
    try done(sc_lock(fd, command, &stored, Int64(start), Int64(length), &process), name: "fcntl lock")
    return (Int32(stored), process)
}

/// Memory that a file is mapped into, and the calls on it. Not unmapped by itself.
package struct Mapping {
    package let base: UnsafeMutableRawPointer
    package let length: Int

    package init(
        _ fd: Int32, length: Int, _ protection: Int32, _ flags: Int32, at offset: Int = 0
    ) throws(Errno) {
        let address = try call(SYS_mmap, 0, length, protection, flags, fd, offset, name: "mmap")
        base = UnsafeMutableRawPointer(bitPattern: address)!
        self.length = length
    }

    package subscript(position: Int) -> UInt8 {
        // Safe as far as the file reaches: beyond it the access raises SIGBUS, which is what some checks look at.
        get { base.load(fromByteOffset: position, as: UInt8.self) }
        nonmutating set { base.storeBytes(of: newValue, toByteOffset: position, as: UInt8.self) }
    }
    package func bytes(_ range: Range<Int>) -> [UInt8] {
        [UInt8](UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count))
    }
    package func store(_ bytes: [UInt8], at position: Int) {
        (base + position).copyMemory(from: bytes, byteCount: bytes.count)
    }
    package func sync(_ flags: Int32) throws(Errno) { try call(SYS_msync, base, length, flags, name: "msync") }
    package func unmap() throws(Errno) { try call(SYS_munmap, base, length, name: "munmap") }
}
