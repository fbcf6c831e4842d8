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

    /// A folder, as O_PATH, by its canonical path in bytes. Throws ELOOP if there is a symbolic link on the path by now.
    public convenience init(openingCanonical path: [UInt8]) throws(Errno) {
        self.init(owning: try check(cl_open_canonical((path + [0]).map { CChar(bitPattern: $0) })))
    }
}
