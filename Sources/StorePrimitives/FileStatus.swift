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

    /// Of what has a name in a folder; links are not followed.
    public init(of name: UnsafePointer<CChar>, in folder: borrowing Descriptor) throws(Errno) {
        self.init()
        _ = try check(cl_statx(folder.number, name, AT_SYMLINK_NOFOLLOW, &self))
    }

    public init(of name: EntryName, in folder: borrowing Descriptor) throws(Errno) {
        self.init()
        let result = name.withCString { cl_statx(folder.number, $0, AT_SYMLINK_NOFOLLOW, &self) }
        _ = try check(result)
    }

    /// Of what has a name in a folder, as the kernel knows it (AT_STATX_DONT_SYNC): no server is asked.
    ///
    /// - Parameter name: empty: of the folder itself, which may be any open file.
    public init(knownOf name: UnsafePointer<CChar>, in folder: borrowing Descriptor) throws(Errno) {
        self.init()
        _ = try check(cl_statx(folder.number, name, AT_SYMLINK_NOFOLLOW | CL_AT_EMPTY_PATH | CL_AT_STATX_DONT_SYNC, &self))
    }

    /// A bit of S_IFMT.
    public var type: mode_t { st.st_mode & S_IFMT }
    public var isRegular: Bool { type == S_IFREG }
    public var isFolder: Bool { type == S_IFDIR }
}
