import CLinux
import StorePrimitives
import SystemPackage

/// Where open files stand, as the kernel names them.
enum DescriptorPath {
    /// The absolute path of an open file, in the file systems this process sees. Throws ENAMETOOLONG for a path of more
    /// than 4,095 bytes.
    static func read(_ descriptor: Descriptor) throws(Errno) -> [UInt8] {
        let size = 4_096
        var path = [UInt8](repeating: 0, count: size)
        let length = path.withUnsafeMutableBytes { buffer in
            // Safe: bytes and characters have one layout.
            cl_readlinkat(
                -1, "/proc/self/fd/\(descriptor.number)", buffer.baseAddress!.assumingMemoryBound(to: CChar.self), size)
        }
        let count = try check(length)
        guard count < size else { throw .fileNameTooLong }
        path.removeSubrange(count...)
        return path
    }

    /// `path` relative to the folder `prefix`, both absolute; nil if it is not in there. The folder itself is the root.
    static func inside(_ prefix: [UInt8], _ path: [UInt8]) -> StorePath? {
        let slash = UInt8(ascii: "/")
        if prefix == [slash] { return path.first == slash ? StorePath(unchecked: Array(path.dropFirst())) : nil }
        if path == prefix { return .root }
        guard path.count > prefix.count + 1, path[prefix.count] == slash, path.starts(with: prefix) else { return nil }
        return StorePath(unchecked: Array(path[(prefix.count + 1)...]))
    }
}
