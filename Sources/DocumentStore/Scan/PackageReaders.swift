import CLinux
import Glibc
public import StorePrimitives
import SystemPackage

/// Who may read and search a package, as far as its mode tells.
public struct PackageReaders {
    private let status: cl_status
    private let hasAccessList: Bool

    /// - Parameter package: open for reading, or O_PATH. Nil if the package cannot be asked.
    public init?(_ package: Descriptor) {
        guard let status = try? FileStatus(of: package) else { return nil }
        (self.status, hasAccessList) = (status, XattrSupport.hasAccessList(package))
    }

    /// Whether all who may read the package may also search it, and so see what is in it.
    public var maySearch: Bool {
        !hasAccessList && status.st.st_mode & 0o444 & ~((status.st.st_mode & 0o111) << 2) == 0
    }

    /// Whether all of them may also read and search a folder in the package. False if that cannot be told.
    public func mayEnter(_ folder: Descriptor) -> Bool {
        guard !hasAccessList, let inner = try? FileStatus(of: folder) else { return false }
        return inner.st.st_uid == status.st.st_uid && inner.st.st_gid == status.st.st_gid && status.st.st_mode & 0o555 & ~inner.st.st_mode == 0
            && !XattrSupport.hasAccessList(folder)
    }
}
