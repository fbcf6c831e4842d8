internal import CLinux
import Glibc
public import SystemPackage

extension StorePath {
    /// Holds on to what stands at the path, which needs no right to it but to the folders on the way (O_PATH, open(2)).
    ///
    /// No link is followed: a folder on the way may have been replaced by a link to anywhere, to the mount itself too, which the
    /// daemon must not wait for. Throws what openat2(2) does: .tooManySymbolicLinkLevels for such a link.
    public func held(in store: Descriptor) throws(Errno) -> Descriptor {
        Descriptor(owning: try check(withCString { cl_open_beneath(store.number, $0, CL_O_PATH | O_NOFOLLOW) }))
    }
}
