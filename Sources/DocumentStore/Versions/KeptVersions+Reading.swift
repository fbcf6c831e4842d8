import CLinux
import Glibc
import StorePrimitives
public import SystemPackage

extension KeptVersions {
    /// A part of a version's content.
    public struct Part: Hashable, Sendable {
        /// Where it begins: later than was asked for if there is a hole, which reads as zeros.
        public let offset: Int64
        /// Empty at the end; `offset` is the size then.
        public let bytes: [UInt8]

        public init(offset: Int64, bytes: [UInt8]) {
            self.offset = offset
            self.bytes = bytes
        }
    }

    /// The content from `offset` on, `count` bytes at most. Throws what `content(of:for:)` throws, and EINVAL for an offset
    /// below 0.
    public func read(_ id: UInt64, at offset: Int64, count: Int, for uid: UInt32) throws(Errno) -> Part {
        guard offset >= 0 else { throw .invalidArgument }
        let file = try content(of: id, for: uid)
        let size = try FileCopy.size(of: file)
        var start = Int64(cl_lseek(file.number, off_t(offset), CL_SEEK_DATA))
        // No more data, or a file system that knows no holes.
        if start < 0 { start = start == -Int64(ENXIO) ? size : offset }
        guard start < size else { return Part(offset: size, bytes: []) }
        var bytes = [UInt8](repeating: 0, count: count)
        let length = try check(cl_pread(file.number, &bytes, count, off_t(start)))
        return Part(offset: start, bytes: Array(bytes[..<length]))
    }
}
