import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// What a package holds, as the size and time of one document.
struct PackageContents {
    /// Of the files in it, in bytes.
    private(set) var size: Int64 = 0
    /// When anything in it was changed last, in nanoseconds since 1970.
    private(set) var modified: Int64

    /// With more entries than these the rest are left out.
    private static let mostEntries = 100_000

    /// Looks at what is in the package at `path`, some 2 µs a file on a warm cache.
    /// - Parameters:
    ///   - countsAll: see `Packages`.
    ///   - goesOn: asked for each folder.
    init(of path: StorePath, in store: SharedStore, countsAll: Bool, goesOn: () -> Bool) throws(Errno) {
        let walk = FolderWalk(store, startingAt: path, longestPath: StorePath.longest)
        modified = .min
        var entries = 0
        var package: cl_status?
        while entries < Self.mostEntries, goesOn(), let folder = try walk.next() {
            guard let status = try? FileStatus(of: folder.descriptor) else { continue }
            let whole = package ?? status
            package = whole
            // A folder that is not listed is not entered.
            guard countsAll || folder.depth == 0 || Self.isOpen(folder.descriptor, status, toReadersOf: whole) else { continue }
            modified = max(modified, saturatedNanoseconds(status.st.st_mtim))
            walk.list(folder) { name, kind in
                entries += 1
                if kind == .file, !HiddenName.isHidden(name), let status = try? FileStatus(of: name, in: folder.descriptor) {
                    size = size.adding(clamping: Int64(status.st.st_size))
                    modified = max(modified, saturatedNanoseconds(status.st.st_mtim))
                }
                return entries < Self.mostEntries
            }
        }
    }

    /// Whether all may read and search a folder who may do so with the package.
    private static func isOpen(_ folder: Descriptor, _ status: cl_status, toReadersOf package: cl_status) -> Bool {
        status.st.st_uid == package.st.st_uid && status.st.st_gid == package.st.st_gid && package.st.st_mode & 0o555 & ~status.st.st_mode == 0
            && cl_fgetxattr(folder.number, CL_ACCESS_LIST, nil, 0) <= 0
    }
}
