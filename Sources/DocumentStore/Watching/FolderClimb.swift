import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// The path of a folder found by going up, for paths longer than the kernel tells (PATH_MAX). Reads every folder on the way:
/// slow, and rare.
enum FolderClimb {
    /// The path of `folder` below the folder `root`; nil if it does not lie in there. Throws ENOENT if it was moved
    /// meanwhile.
    static func path(of folder: Descriptor, below root: FileIdentity) throws(Errno) -> StorePath? {
        var names: [EntryName] = []
        var folder = folder
        var identity = FileIdentity(try OpenFolder.status(of: folder))
        while identity != root {
            let parent = try Descriptor(opening: "..", in: folder, flags: O_RDONLY | O_DIRECTORY)
            let parentIdentity = FileIdentity(try OpenFolder.status(of: parent))
            if parentIdentity == identity { return nil }
            names.append(try name(of: identity, in: parent))
            folder = parent
            identity = parentIdentity
        }
        return StorePath(unchecked: Array(names.reversed().map(\.bytes).joined(separator: [UInt8(ascii: "/")])))
    }

    private static func name(of identity: FileIdentity, in parent: Descriptor) throws(Errno) -> EntryName {
        let walk = FolderWalk(root: parent)
        var found: EntryName?
        guard let visit = try walk.next() else { throw .noSuchFileOrDirectory }
        walk.list(visit) { name, kind in
            var status = cl_status()
            if kind == .folder, cl_statx(parent.number, name, AT_SYMLINK_NOFOLLOW, &status) == 0,
                FileIdentity(status) == identity
            {
                found = EntryName(copying: name)
            }
            return found == nil
        }
        guard let found else { throw .noSuchFileOrDirectory }
        return found
    }
}
