import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Copies content from file to file: shared blocks where the file system can, inside the kernel elsewhere; holes stay holes.
enum FileCopy {
    private static let chunk: Int64 = 8 << 20

    /// Makes the content of `target` that of `source`: overwrites from the start, then cuts to length. `willWrite` is called
    /// before each change, of 8 MiB at most. `size`: so much of the source alone. Sizes are bytes.
    static func copy(
        _ source: Descriptor, to target: Descriptor, size: Int64? = nil, willWrite: () -> Void = {}
    ) throws(Errno) {
        let size = if let size { size } else { try Self.size(of: source) }
        let oldSize = try Self.size(of: target)
        var end: Int64 = 0
        while end < size {
            let (start, next) = try dataRange(of: source, from: end, size: size)
            willWrite()
            // Where no hole can be made, its zeros are written.
            var offset = try punch(target, from: end, to: min(start, oldSize)) ? start : end
            while offset < next {
                willWrite()
                let count = try copy(source, to: target, at: offset, count: min(chunk, next - offset))
                // Cut short meanwhile: the rest is what a reader of the source would find, nothing.
                if count == 0 { break }
                offset += count
            }
            end = next
        }
        if oldSize != size {
            willWrite()
            _ = try check(cl_ftruncate(target.number, off_t(size)))
        }
    }

    /// Reserves the space that `copy` will need. Throws ENOSPC or EDQUOT; a file system that cannot reserve is let pass.
    static func reserve(for source: Descriptor, in target: Descriptor) throws(Errno) {
        let size = try Self.size(of: source)
        var end: Int64 = 0
        while end < size {
            let (start, next) = try dataRange(of: source, from: end, size: size)
            if start < next {
                let result = cl_fallocate(target.number, CL_FALLOC_KEEP_SIZE, off_t(start), off_t(next - start))
                if result == -ENOSPC || result == -EDQUOT { throw Errno(rawValue: -result) }
            }
            end = next
        }
    }

    static func size(of file: Descriptor) throws(Errno) -> Int64 { Int64(try FileStatus(of: file).st.st_size) }

    /// Where the next data begins and ends; both the file's size if only a hole is left.
    private static func dataRange(of file: Descriptor, from offset: Int64, size: Int64) throws(Errno) -> (Int64, Int64) {
        let start = cl_lseek(file.number, off_t(offset), CL_SEEK_DATA)
        if start == -off_t(ENXIO) { return (size, size) }
        if start < 0 { return (offset, size) }
        let end = cl_lseek(file.number, start, CL_SEEK_HOLE)
        // A file system that answers what is behind would have the caller go round for ever.
        guard start >= offset, end < 0 || end > start else { return (offset, size) }
        return (min(Int64(start), size), end < 0 ? size : min(Int64(end), size))
    }

    private static func copy(
        _ source: Descriptor, to target: Descriptor, at offset: Int64, count: Int64
    ) throws(Errno) -> Int64 {
        let copied = cl_copy_file_range(source.number, off_t(offset), target.number, off_t(offset), Int(count), 0)
        if copied > 0 { return Int64(copied) }
        // Not between these two, or not here at all; and some file systems say 0 instead.
        guard [0, -EXDEV, -EOPNOTSUPP, -EINVAL, -ENOSYS].contains(CInt(clamping: copied)) else { throw Errno(rawValue: CInt(clamping: -copied)) }
        var buffer = [UInt8](repeating: 0, count: Int(min(count, 1 << 20)))
        let length = try check(cl_pread(source.number, &buffer, buffer.count, off_t(offset)))
        try write(buffer[..<length], to: target, at: offset)
        return Int64(length)
    }

    private static func write(_ bytes: ArraySlice<UInt8>, to target: Descriptor, at offset: Int64) throws(Errno) {
        var rest = bytes
        var offset = offset
        while !rest.isEmpty {
            let count = try check(rest.withUnsafeBytes { cl_pwrite(target.number, $0.baseAddress, $0.count, off_t(offset)) })
            rest = rest.dropFirst(count)
            offset += Int64(count)
        }
    }

    /// Makes a hole; false where the file system cannot.
    private static func punch(_ target: Descriptor, from start: Int64, to end: Int64) throws(Errno) -> Bool {
        guard start < end else { return true }
        let result = cl_fallocate(target.number, CL_FALLOC_PUNCH_HOLE | CL_FALLOC_KEEP_SIZE, off_t(start), off_t(end - start))
        if result == -EOPNOTSUPP || result == -ENOSYS { return false }
        _ = try check(result)
        return true
    }
}
