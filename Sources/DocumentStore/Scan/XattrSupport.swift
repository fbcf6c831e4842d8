import CLinux
import Glibc
public import StorePrimitives
public import SystemPackage

/// Whether a store can keep tags in its documents' own xattrs.
public enum XattrSupport {
    /// Whether the file system at `root` (O_PATH will do) takes `user.*` xattrs. Only reads: nothing is left behind, and a
    /// read-only store can be asked. Throws if the root cannot be read.
    public static func probe(_ root: Descriptor) throws(Errno) -> Bool {
        let folder = try SharedStore.opened(root)
        let result = cl_fgetxattr(folder.number, TagsAttribute.name, nil, 0)
        switch result {
        case -Int(EOPNOTSUPP), -Int(ENOSYS): return false
        case -Int(ENODATA), 0...: return true
        default: throw Errno(rawValue: CInt(clamping: -result))
        }
    }

    /// Whether a file or folder (O_PATH will do) has an access list (acl(5)) beside its mode.
    public static func hasAccessList(_ held: Descriptor) -> Bool {
        cl_getxattr("/proc/self/fd/\(held.number)", CL_ACCESS_LIST, nil, 0) > 0
    }
}
