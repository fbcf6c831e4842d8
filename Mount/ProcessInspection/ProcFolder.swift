import CLinux
import Glibc
import StorePrimitives

/// The folder /proc, read without allocating and without ever following one of its links: they may lead into the daemon's
/// own mount, where it would wait for itself.
struct ProcFolder: Sendable {
    let folder: Descriptor

    init?() {
        guard let folder = try? Descriptor(opening: "/proc", flags: CL_O_PATH | O_DIRECTORY) else { return nil }
        self.folder = folder
    }

    /// Calls `body` with "NUMBER/ENTRY" or "NUMBER/ENTRY/LAST".
    @inline(__always)
    static func withPath<Result>(
        _ number: pid_t, _ entry: StaticString, _ last: Int32? = nil, _ body: (UnsafePointer<CChar>) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            var length = append(number, to: buffer, at: 0)
            buffer[length] = UInt8(ascii: "/")
            length += 1
            // Safe: two numbers of at most 11 bytes leave room for 40; the entries' names are literals of this module.
            buffer.baseAddress!.advanced(by: length).copyMemory(from: entry.utf8Start, byteCount: entry.utf8CodeUnitCount)
            length += entry.utf8CodeUnitCount
            if let last {
                buffer[length] = UInt8(ascii: "/")
                length = append(last, to: buffer, at: length + 1)
            }
            buffer[length] = 0
            return body(buffer.baseAddress!.assumingMemoryBound(to: CChar.self))
        }
    }

    /// Writes a number that is not negative in decimal. Returns the offset after it.
    private static func append(_ number: Int32, to buffer: UnsafeMutableRawBufferPointer, at start: Int) -> Int {
        var (end, rest) = (start, number)
        repeat {
            buffer[end] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
            end += 1
        } while rest > 0
        buffer[start..<end].reverse()
        return end
    }

    /// The beginning of a file, as much as fits: its length or -errno.
    func read(_ number: pid_t, _ entry: StaticString, _ last: Int32? = nil, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let file = Self.withPath(number, entry, last) { cl_openat(folder.number, $0, O_RDONLY, 0) }
        guard file >= 0 else { return Int(file) }
        defer { _ = cl_close(file) }
        return cl_read(file, buffer.baseAddress, buffer.count)
    }

    /// Calls `body` with each whole line of a file and an end, without the newline, until it answers true. Lines that do not
    /// fit 8 KiB are cut. 1 if it did, 0 if it never did, or -errno.
    func firstLine(_ number: pid_t, _ entry: StaticString, where body: (UnsafeRawBufferPointer) -> Bool) -> Int {
        let file = Self.withPath(number, entry) { cl_openat(folder.number, $0, O_RDONLY, 0) }
        guard file >= 0 else { return Int(file) }
        defer { _ = cl_close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { buffer in
            var kept = 0
            while true {
                let count = cl_read(file, buffer.baseAddress! + kept, buffer.count - kept)
                guard count > 0 else { return count }
                let end = kept + count
                var start = 0
                // Safe: start <= end <= the buffer's length.
                while let newline = memchr(buffer.baseAddress! + start, 10, end - start) {
                    let length = UnsafeRawPointer(newline) - UnsafeRawPointer(buffer.baseAddress! + start)
                    if body(UnsafeRawBufferPointer(start: buffer.baseAddress! + start, count: length)) { return 1 }
                    start += length + 1
                }
                if start == 0, end == buffer.count {
                    if body(UnsafeRawBufferPointer(buffer)) { return 1 }
                    start = end
                }
                kept = end - start
                memmove(buffer.baseAddress!, buffer.baseAddress! + start, kept)
            }
        }
    }

    /// Calls `body` with each entry of a folder whose name is a number, until it answers false. 0 or -errno.
    func numbers(in path: UnsafePointer<CChar>, _ body: (Int32) -> Bool) -> Int {
        let file = cl_openat(folder.number, path, O_RDONLY | O_DIRECTORY, 0)
        guard file >= 0 else { return Int(file) }
        defer { _ = cl_close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 8) { buffer in
            var entry = cl_dirent()
            while true {
                let end = cl_getdents(file, buffer.baseAddress, buffer.count)
                guard end > 0 else { return end }
                var offset = 0
                while offset < end {
                    cl_dirent_at(buffer.baseAddress! + offset, &entry)
                    offset += Int(entry.record_length)
                    // Safe: the name ends in NUL inside the record.
                    if let number = Self.number(entry.name), !body(number) { return 0 }
                }
            }
        }
    }

    private static func number(_ name: UnsafePointer<CChar>) -> Int32? {
        var (value, index) = (Int32(0), 0)
        while name[index] != 0 {
            guard let digit = UInt8(bitPattern: name[index]).digit, index < 9 else { return nil }
            value = value * 10 + Int32(clamping: digit)
            index += 1
        }
        return index > 0 ? value : nil
    }
}

extension UInt8 {
    /// The value of a decimal digit.
    var digit: UInt64? { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") ? UInt64(self &- UInt8(ascii: "0")) : nil }
}

/// Goes through text as the kernel writes it in /proc.
struct ProcText {
    let bytes: UnsafeRawBufferPointer
    var index = 0

    init(_ bytes: UnsafeRawBufferPointer, from index: Int = 0) {
        self.bytes = bytes
        self.index = index
    }

    /// The number at this place; 0 if there is none. A minus sign is passed over: no negative number matters here.
    mutating func number(base: UInt64 = 10) -> UInt64 {
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") { index += 1 }
        var value: UInt64 = 0
        while index < bytes.count {
            var digit = bytes[index].digit
            if base == 16, digit == nil, bytes[index] >= UInt8(ascii: "a"), bytes[index] <= UInt8(ascii: "f") {
                digit = UInt64(bytes[index] - UInt8(ascii: "a")) + 10
            }
            guard let digit else { break }
            value = value &* base &+ digit
            index += 1
        }
        return value
    }

    mutating func skip(_ byte: UInt8) { while index < bytes.count, bytes[index] == byte { index += 1 } }

    /// Goes past this many fields and the single spaces after them.
    mutating func skipFields(_ count: Int) {
        var count = count
        while count > 0, index < bytes.count {
            if bytes[index] == UInt8(ascii: " ") { count -= 1 }
            index += 1
        }
    }

    func hasPrefix(_ text: StaticString) -> Bool {
        bytes.count - index >= text.utf8CodeUnitCount
            && memcmp(bytes.baseAddress! + index, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// Goes behind the first line that begins with `label`, to where it goes on after tabs; false if there is none.
    mutating func find(_ label: StaticString) -> Bool {
        while index < bytes.count {
            if hasPrefix(label) {
                index += label.utf8CodeUnitCount
                skip(UInt8(ascii: "\t"))
                return true
            }
            while index < bytes.count, bytes[index] != 10 { index += 1 }
            index += 1
        }
        return false
    }
}
