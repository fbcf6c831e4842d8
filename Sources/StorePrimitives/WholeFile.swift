internal import CLinux
import Glibc
package import SystemPackage

/// Small files read and written whole.
package enum WholeFile {
    /// EINVAL for anything but a regular file: a FIFO would have its reader wait.
    package static func read(_ path: UnsafePointer<CChar>, in folder: Descriptor? = nil) throws(Errno) -> [UInt8] {
        let file = try Descriptor(opening: path, in: folder, flags: O_RDONLY | O_NONBLOCK)
        let status = try FileStatus(of: file)
        guard status.isRegular else { throw .invalidArgument }
        return try read(file)
    }

    /// Reads from the descriptor's offset to the end.
    package static func read(_ file: Descriptor) throws(Errno) -> [UInt8] {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 32 << 10)
        while true {
            let count = try check(cl_read(file.number, &part, part.count))
            if count == 0 { return all }
            all.append(contentsOf: part[..<count])
        }
    }

    /// Has a file of this content, for its owner alone, take the path, relative to a folder or the working directory: others find the old one
    /// or the whole new one. A crash in between leaves a file `PATH.new`.
    /// - Parameter isSynchronized: the content is on the disk before it has the name, also if the power fails.
    package static func replace(
        _ path: String, in folder: Descriptor? = nil, with bytes: [UInt8], isSynchronized: Bool = false
    ) throws(Errno) {
        let new = path + ".new"
        let file = try Descriptor(opening: new, in: folder, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
        try write(bytes, to: file)
        if isSynchronized { _ = try check(cl_fsync(file.number, 0)) }
        let place = folder?.number ?? AT_FDCWD
        _ = try check(cl_renameat2(place, new, place, path, 0))
    }

    /// Writes at the descriptor's offset.
    package static func write(_ bytes: [UInt8], to file: Descriptor) throws(Errno) {
        var rest = bytes[...]
        while !rest.isEmpty {
            rest = rest.dropFirst(try check(rest.withUnsafeBytes { cl_write(file.number, $0.baseAddress, $0.count) }))
        }
    }
}
