public import CLinux
import Glibc
public import SystemPackage

/// What statx(2) tells of a file.
public typealias FileStatus = cl_status

extension FileStatus {
    /// Of an open file, also of one that was opened with O_PATH. Throws the errno of statx(2).
    public init(of file: borrowing Descriptor) throws(Errno) {
        self.init()
        _ = try check(cl_statx_fd(file.number, &self))
    }

    /// Of what has a name in a folder; links are not followed. On a local file system it is what the kernel knows (AT_STATX_DONT_SYNC), which
    /// is all there is to know: so a server of a file system that was mounted on the name, a moment ago perhaps, is not asked.
    public init(of name: UnsafePointer<CChar>, in folder: borrowing Descriptor) throws(Errno) {
        self.init()
        let flags = AT_SYMLINK_NOFOLLOW | (folder.mountKind == .local ? CL_AT_STATX_DONT_SYNC : 0)
        _ = try check(cl_statx(folder.number, name, flags, &self))
    }

    public init(of name: EntryName, in folder: borrowing Descriptor) throws(Errno) {
        self = try name.withCString { (name) throws(Errno) in try FileStatus(of: name, in: folder) }
    }

    /// Of an open file, as the kernel knows it (AT_STATX_DONT_SYNC): no server is asked.
    public init(knownOf file: borrowing Descriptor) throws(Errno) {
        self.init()
        _ = try check(cl_statx(file.number, "", CL_AT_EMPTY_PATH | CL_AT_STATX_DONT_SYNC, &self))
    }

    /// A bit of S_IFMT.
    public var type: mode_t { st.st_mode & S_IFMT }
    /// Whether something is mounted there, whose root it is.
    public var isMountRoot: Bool { is_mount_root != 0 }
    public var isRegular: Bool { type == S_IFREG }
    public var isFolder: Bool { type == S_IFDIR }
}
