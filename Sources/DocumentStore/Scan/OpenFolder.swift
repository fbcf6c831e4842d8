import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Opening folders of the store for reading, never through a symbolic link and without touching access times.
enum OpenFolder {
    private static let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK
    /// The longest path given to one call; longer ones are opened in parts (PATH_MAX is 4,096).
    private static let longestPath = 4_000

    /// Opens the folder `name` in `parent`. Throws open(2)'s errno: ENOTDIR or ELOOP if it is no folder.
    static func named(_ name: EntryName, in parent: Descriptor) throws(Errno) -> Descriptor {
        try name.withCString { (text) throws(Errno) in try open(text, in: parent) }
    }

    /// Opens the folder at `path` below `root`, at any depth. Intermediate names may be symbolic links if somebody replaces
    /// a folder meanwhile: who needs certainty compares identities.
    static func at(_ path: StorePath, below root: Descriptor) throws(Errno) -> Descriptor {
        guard !path.isRoot else { return try open(".", in: root) }
        var folder = root
        var rest = path.bytes[...]
        while rest.count > longestPath {
            guard let slash = rest.prefix(longestPath).lastIndex(of: UInt8(ascii: "/")) else { throw .invalidArgument }
            folder = try open(bytes: rest[..<slash], in: folder)
            rest = rest[(slash + 1)...]
        }
        return try open(bytes: rest, in: folder)
    }

    private static func open(bytes: ArraySlice<UInt8>, in folder: Descriptor) throws(Errno) -> Descriptor {
        let text = bytes.map { CChar(bitPattern: $0) } + [0]
        return try text.withUnsafeBufferPointer { (buffer) throws(Errno) in try open(buffer.baseAddress!, in: folder) }
    }

    private static func open(_ path: UnsafePointer<CChar>, in folder: Descriptor) throws(Errno) -> Descriptor {
        do throws(Errno) {
            return try Descriptor(opening: path, in: folder, flags: flags | CL_O_NOATIME)
        } catch .notPermitted {
            // Only a file's owner may ask for O_NOATIME.
            return try Descriptor(opening: path, in: folder, flags: flags)
        }
    }
}
