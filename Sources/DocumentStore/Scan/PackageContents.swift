import Glibc
import StorePrimitives
import SystemPackage

/// The size and time of a package as one document.
struct PackageContents {
    /// Of the files in it, in bytes.
    private(set) var size: Int64 = 0
    /// When anything in it was changed last, in nanoseconds since 1970.
    private(set) var modified: Int64 = .min

    /// With more entries than these the rest are left out.
    private static let mostEntries = 100_000

    /// Looks at what is in the package at `path`, some 2 µs a file on a warm cache. Nil if it was interrupted.
    /// - Parameters:
    ///   - countsAll: see `Packages.countsAll`.
    ///   - goesOn: asked for each folder.
    init?(of path: StorePath, in store: SharedStore, countsAll: Bool, goesOn: () -> Bool) throws(Errno) {
        let walk = FolderWalk(store, startingAt: path, longestPath: StorePath.longest)
        var entries = 0
        var readers: PackageReaders?
        while entries < Self.mostEntries, let folder = try walk.next() {
            guard goesOn() else { return nil }
            if folder.depth == 0 { readers = PackageReaders(folder.descriptor) }
            // A folder that is not listed is not entered.
            guard countsAll || folder.depth == 0 || readers?.mayEnter(folder.descriptor) == true, let status = try? FileStatus(of: folder.descriptor)
            else { continue }
            modified = max(modified, saturatedNanoseconds(status.st.st_mtim))
            guard countsAll || readers?.maySearch == true else { break }
            walk.list(folder) { name, kind in
                entries += 1
                if kind == .file, !HiddenName.isHidden(name), let status = try? FileStatus(of: name, in: folder.descriptor) {
                    size = size.adding(clamping: Int64(status.st.st_size))
                    modified = max(modified, saturatedNanoseconds(status.st.st_mtim))
                }
                return entries < Self.mostEntries
            }
        }
        guard modified > .min else { return nil }
    }
}
