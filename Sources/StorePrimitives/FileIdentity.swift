public import CLinux

/// Which file: stays the same through rename, and through moves made while nobody watched.
///
/// An inode number is used again after its file is gone; the birth time tells the two files apart. On a file system that
/// keeps no birth time it is 0, and an inode used again looks like the same file.
public struct FileIdentity: Hashable, Sendable {
    public let device: UInt64
    public let inode: UInt64
    /// Birth time in nanoseconds since 1970, 0 where the file system keeps none.
    public let birth: Int64

    public init(device: UInt64, inode: UInt64, birth: Int64) {
        self.device = device
        self.inode = inode
        self.birth = birth
    }

    public init(_ status: cl_status) {
        self.init(device: UInt64(status.st.st_dev), inode: UInt64(status.st.st_ino), birth: status.birth_ns)
    }

    /// Of an open file; nil if it cannot be looked at.
    public init?(of file: borrowing Descriptor) {
        guard let status = try? FileStatus(of: file) else { return nil }
        self.init(status)
    }

    /// Inode and birth alone spread well; the device is compared by ==.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(inode)
        hasher.combine(birth)
    }
}

/// As text, from one process of a mount to the next.
extension FileIdentity: LosslessStringConvertible {
    public var description: String { "\(device):\(inode):\(birth)" }

    public init?(_ description: String) {
        var parts = description.split(separator: ":")[...]
        guard let device = parts.popFirst().flatMap({ UInt64($0) }), let inode = parts.popFirst().flatMap({ UInt64($0) }),
            let birth = parts.popFirst().flatMap({ Int64($0) }), parts.isEmpty
        else { return nil }
        self.init(device: device, inode: inode, birth: birth)
    }
}

extension cl_status {
    /// The bytes that the file takes on its disk. A file system may answer any number of blocks: the nearest there is, and what is
    /// negative counts as the number beyond 2^63 that it stands for.
    package var allocatedBytes: Int64 { st.st_blocks < 0 ? .max : Int64(st.st_blocks).multiplied(clamping: 512) }
}
