internal import CLinux
import Glibc
public import SystemPackage

extension Descriptor {
    /// Opens `path`, relative to `folder` or to the working directory. O_CLOEXEC is always added.
    /// Throws open(2)'s errno.
    public convenience init(
        opening path: UnsafePointer<CChar>, in folder: Descriptor? = nil, flags: Int32, mode: mode_t = 0
    ) throws(Errno) {
        self.init(owning: try check(cl_openat(folder?.number ?? AT_FDCWD, path, flags, mode)))
    }

    /// Opens a name in a folder of a store. Does not follow a symbolic link, and does not open the root of a file system that a server answers
    /// for (`MountKind.served`): the server is asked nothing, however lately the file system was mounted.
    ///
    /// Throws open(2)'s errno: .tooManySymbolicLinkLevels for a link that is not held with O_NOFOLLOW, .improperLink (EXDEV) for such a mount.
    /// One system call, and four more if something is mounted on the name.
    /// - Parameter flags: without O_CREAT and O_TMPFILE; with O_PATH, all but O_DIRECTORY and O_NOFOLLOW mean nothing.
    public static func named(_ name: UnsafePointer<CChar>, in folder: Descriptor, flags: Int32) throws(Errno) -> Descriptor {
        let number = cl_open_on_mount(folder.number, name, flags)
        guard number == -EXDEV else { return Descriptor(owning: try check(number)) }
        // To open it so asks nothing.
        let held = try Descriptor(opening: name, in: folder, flags: CL_O_PATH | O_NOFOLLOW | flags & O_DIRECTORY)
        guard held.mountKind != .served else { throw .improperLink }
        return flags & CL_O_PATH != 0 ? held : try Descriptor(opening: "/proc/self/fd/\(held.number)", flags: flags & ~O_NOFOLLOW)
    }

    public static func named(_ name: EntryName, in folder: Descriptor, flags: Int32) throws(Errno) -> Descriptor {
        try name.withCString { (name) throws(Errno) in try named(name, in: folder, flags: flags) }
    }

    /// A folder, as O_PATH, by its canonical path in bytes. Throws ELOOP if there is a symbolic link on the path by now.
    public convenience init(openingCanonical path: [UInt8]) throws(Errno) {
        self.init(owning: try check(cl_open_canonical((path + [0]).map { CChar(bitPattern: $0) })))
    }
}
