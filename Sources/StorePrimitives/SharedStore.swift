internal import CLinux
import Glibc
public import SystemPackage

/// A store's folder, as threads that work for all users open things in it: no symbolic link is followed, nothing outside is reached, and
/// nothing is asked of a file system mounted inside that a server answers for (`MountKind.served`).
///
/// A folder on the way may be replaced by a link to anywhere, to the mount itself too, or be mounted on, at any moment. So the kernel refuses
/// both while it walks the path (openat2(2)), instead of a look beforehand.
///
/// Everything throws what openat2(2) does: .tooManySymbolicLinkLevels for a link, .improperLink (EXDEV) for what is on such a file system.
public struct SharedStore: Sendable {
    /// May be an O_PATH descriptor.
    public let root: Descriptor

    private static let folderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK
    /// The longest path given to one call; longer ones are opened in parts (PATH_MAX is 4,096).
    private static let longestPath = 4_000

    /// - Parameter root: the store's folder; O_PATH will do.
    public init(_ root: Descriptor) { self.root = root }

    /// Opens what is at a path, at any depth. One system call, or one a name where a disk is mounted inside the store.
    public func open(_ path: StorePath, flags: Int32) throws(Errno) -> Descriptor {
        var folder = root
        var rest = path.isRoot ? [UInt8(ascii: ".")][...] : path.bytes[...]
        while true {
            var part = rest
            if rest.count > Self.longestPath {
                guard let slash = rest.prefix(Self.longestPath).lastIndex(of: UInt8(ascii: "/")) else { throw .invalidArgument }
                part = rest[..<slash]
            }
            let isLast = part.count == rest.count
            let number = (part + [0]).withUnsafeBytes {
                cl_open_beneath(
                    folder.number, $0.assumingMemoryBound(to: CChar.self).baseAddress!, isLast ? flags : CL_O_PATH | O_DIRECTORY)
            }
            if number == -EXDEV { return try stepped(path, flags: flags) }
            folder = Descriptor(owning: try check(number))
            if isLast { return folder }
            rest = rest[(part.endIndex + 1)...]
        }
    }

    /// A name at a time, since something is mounted on one.
    private func stepped(_ path: StorePath, flags: Int32) throws(Errno) -> Descriptor {
        var folder = root
        for name in path.parent.names { folder = try .named(name, in: folder, flags: CL_O_PATH | O_DIRECTORY | O_NOFOLLOW) }
        return try path.lastName.map { (name) throws(Errno) in try .named(name, in: folder, flags: flags) } ?? folder
    }

    /// Holds on to what is at a path, which needs no right to it but to the folders on the way (O_PATH, open(2)); to a link itself.
    public func held(_ path: StorePath) throws(Errno) -> Descriptor { try open(path, flags: CL_O_PATH | O_NOFOLLOW) }

    /// Opens a folder for reading, without touching its access time.
    public func folder(_ path: StorePath) throws(Errno) -> Descriptor {
        try Self.untouched { (flag) throws(Errno) in try open(path, flags: Self.folderFlags | flag) }
    }

    /// Opens a folder that has a name in a folder of the store for reading, without touching its access time.
    package static func folder(_ name: EntryName, in parent: Descriptor) throws(Errno) -> Descriptor {
        try untouched { (flag) throws(Errno) in try .named(name, in: parent, flags: folderFlags | flag) }
    }

    /// Opens a folder that is held for reading, without touching its access time.
    package static func opened(_ folder: Descriptor) throws(Errno) -> Descriptor {
        try untouched { (flag) throws(Errno) in try Descriptor(opening: ".", in: folder, flags: folderFlags | flag) }
    }

    /// Only a file's owner may ask for O_NOATIME.
    private static func untouched(_ open: (Int32) throws(Errno) -> Descriptor) throws(Errno) -> Descriptor {
        do throws(Errno) { return try open(CL_O_NOATIME) } catch .notPermitted { return try open(0) }
    }
}
