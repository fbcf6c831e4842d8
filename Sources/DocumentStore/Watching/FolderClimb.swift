import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// The paths of folders found by going up, for paths longer than the kernel tells (PATH_MAX). Reads every folder of the store on
/// the way: slow, and rare.
///
/// Anybody on the store's file system can make folders as deep as they like, and change them without end. So a climb ends at a
/// folder that is known to lie outside of the store or too deep in it: a neighbour's tree is climbed once, 2 us a level, and then costs
/// a step a folder.
/// Not thread-safe.
struct FolderClimb {
    /// What lies deeper is not found: as deep as the mount's own paths go.
    static let deepest = 2_048

    /// A climb that is longer than this finds nothing, wherever it would lead.
    private static let longest = 65_536

    private let root: FileIdentity
    /// Folders that were found to lie outside of the store, or too deep in it, until a folder was moved or something mounted somewhere.
    private var outside: Set<FileIdentity> = []
    /// `MountKinds.changes` then: what was mounted over a folder may have been unmounted.
    private var mountChanges = 0
    private static let outsideLimit = 2 * longest
    /// The folder that was found last, and its path.
    private var last: (identity: FileIdentity, path: StorePath)?

    init(root: FileIdentity) { self.root = root }

    /// A folder was moved, somewhere.
    mutating func foldersMoved() {
        outside.removeAll()
        last = nil
    }

    /// The path of `folder` below the root; nil if it does not lie in there, or too deep. Throws ENOENT if it was moved
    /// meanwhile.
    mutating func path(of folder: Descriptor) throws(Errno) -> StorePath? {
        let changes = MountKinds.current.changes
        if changes != mountChanges { foldersMoved() }
        mountChanges = changes
        let start = FileIdentity(try FileStatus(of: folder))
        guard let levels = try levelsBelowKnown(folder, start) else { return nil }
        var names: [EntryName] = []
        var parent = folder
        var identity = start
        for _ in 0..<levels {
            guard let (folder, parentIdentity) = try Self.parent(of: parent, identity) else { throw .noSuchFileOrDirectory }
            parent = folder
            names.append(try Self.name(of: identity, in: parent))
            identity = parentIdentity
        }
        var bytes: [UInt8] = []
        if identity != root {
            // Else a folder was moved between the two ways up.
            guard let last, last.identity == identity else { throw .noSuchFileOrDirectory }
            bytes = Array(last.path.bytes)
        }
        for name in names.reversed() {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "/")) }
            bytes += name.bytes
        }
        let path = StorePath(unchecked: bytes)
        last = (start, path)
        return path
    }

    /// How many levels up the root is, or the folder that was found last; nil if neither is above. Without a read of names.
    private mutating func levelsBelowKnown(_ folder: Descriptor, _ start: FileIdentity) throws(Errno) -> Int? {
        var passed: [FileIdentity] = []
        var current = folder
        var identity = start
        while identity != root, identity != last?.identity {
            passed.append(identity)
            if outside.contains(identity) { return keepOutside(passed[...]) }
            if passed.count > Self.longest { return keepOutside(passed[...0]) }
            guard let (parent, parentIdentity) = try Self.parent(of: current, identity) else { return keepOutside(passed[...]) }
            current = parent
            if parentIdentity == identity { return keepOutside(passed[...]) }
            identity = parentIdentity
        }
        let base = identity == root ? 0 : last?.path.depth ?? 0
        // The first is the deepest.
        let tooDeep = base + passed.count - Self.deepest
        return tooDeep > 0 ? keepOutside(passed.prefix(tooDeep)) : passed.count
    }

    private mutating func keepOutside(_ folders: ArraySlice<FileIdentity>) -> Int? {
        if outside.count + folders.count > Self.outsideLimit { outside.removeAll() }
        outside.formUnion(folders)
        return nil
    }

    /// Nil if that is what is mounted over the folder, and a server answers for it.
    private static func parent(of folder: Descriptor, _ identity: FileIdentity) throws(Errno) -> (Descriptor, FileIdentity)? {
        let parent = try Descriptor(opening: "..", in: folder, flags: CL_O_PATH | O_DIRECTORY)
        // Another user's server may not tell root anything.
        guard let status = try? FileStatus(knownOf: parent) else { return nil }
        let found = FileIdentity(status)
        return found.device != identity.device && parent.mountKind == .served ? nil : (parent, found)
    }

    private static func name(of identity: FileIdentity, in parent: Descriptor) throws(Errno) -> EntryName {
        var found: EntryName?
        try FolderListing.read(parent) { name, kind in
            if kind == .folder, let status = try? FileStatus(of: name, in: parent), FileIdentity(status) == identity {
                found = EntryName(copying: name)
            }
            return found == nil
        }
        guard let found else { throw .noSuchFileOrDirectory }
        return found
    }
}
