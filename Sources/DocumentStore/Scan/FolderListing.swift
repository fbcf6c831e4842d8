import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Reading the entries of a folder (getdents64(2)).
enum FolderListing {
    static let bufferSize = 64 << 10

    /// Calls `body` with each entry's name, but for `.` and `..`, until it answers false. The name is valid during the call.
    ///
    /// - Parameter folder: open for reading; its position is moved.
    /// - Parameter buffer: of `bufferSize`, aligned to 8.
    static func read(
        _ folder: Descriptor, _ buffer: UnsafeMutableRawPointer, _ body: (UnsafePointer<CChar>, FolderWalk.EntryKind) -> Bool
    ) throws(Errno) {
        var entry = cl_dirent()
        while true {
            let length = cl_getdents(folder.number, buffer, bufferSize)
            // ENOENT: it was removed.
            if length == 0 || length == -Int(ENOENT) { return }
            if length < 0 { throw Errno(rawValue: CInt(clamping: -length)) }
            var offset = 0
            while offset < length {
                // Safe: the kernel filled the buffer with whole records, and each gives its own length.
                cl_dirent_at(buffer + offset, &entry)
                // Of 16 bits, and the kernel's: Int holds it.
                offset += Int(entry.record_length)
                guard let name = entry.name, !isDotOrDotDot(name) else { continue }
                if !body(name, kind(of: entry, in: folder)) { return }
            }
        }
    }

    /// As `read`, of a folder that is held.
    static func read(_ folder: Descriptor, _ body: (UnsafePointer<CChar>, FolderWalk.EntryKind) -> Bool) throws(Errno) {
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: bufferSize, alignment: 8)
        defer { buffer.deallocate() }
        try read(try SharedStore.opened(folder), buffer, body)
    }

    private static func isDotOrDotDot(_ name: UnsafePointer<CChar>) -> Bool {
        let dot = CChar(UInt8(ascii: "."))
        return name[0] == dot && (name[1] == 0 || name[1] == dot && name[2] == 0)
    }

    private static func kind(of entry: cl_dirent, in folder: Descriptor) -> FolderWalk.EntryKind {
        var type = entry.type
        if type == UInt8(truncatingIfNeeded: DT_UNKNOWN) {
            guard let status = try? FileStatus(of: entry.name, in: folder) else { return .other }
            type = UInt8(truncatingIfNeeded: (status.st.st_mode & S_IFMT) >> 12)
        }
        switch type {
        case UInt8(truncatingIfNeeded: DT_DIR): return .folder
        case UInt8(truncatingIfNeeded: DT_REG): return .file
        default: return .other
        }
    }
}
