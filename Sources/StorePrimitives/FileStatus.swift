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

    /// Of what has a name in a folder; links are not followed. Of a file system that is mounted on the name, a moment ago perhaps, it is what the
    /// kernel knows (AT_STATX_DONT_SYNC): its server is not asked.
    ///
    /// One system call on a local file system, where the kernel knows all there is to know; three on another one, as the folder's own server is
    /// asked and no other.
    public init(of name: UnsafePointer<CChar>, in folder: borrowing Descriptor) throws(Errno) {
        self.init()
        if folder.mountKind == .local {
            _ = try check(cl_statx(folder.number, name, AT_SYMLINK_NOFOLLOW | CL_AT_STATX_DONT_SYNC, &self))
            return
        }
        // As statx(2) by a name does: what it was is gone, and the name is looked up once more.
        do throws(Errno) {
            self = try FileStatus(ofNamed: name, in: folder)
        } catch .staleNFSFileHandle {
            self = try FileStatus(ofNamed: name, in: folder)
        }
    }

    private init(ofNamed name: UnsafePointer<CChar>, in folder: borrowing Descriptor) throws(Errno) {
        let number = cl_open_on_mount(folder.number, name, CL_O_PATH | O_NOFOLLOW)
        if number == -EXDEV {
            self = try FileStatus(knownOf: Descriptor(owning: check(cl_openat(folder.number, name, CL_O_PATH | O_NOFOLLOW, 0))))
        } else {
            self = try FileStatus(of: Descriptor(owning: check(number)))
        }
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
