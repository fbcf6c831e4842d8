import CLinux
import Glibc
import SystemPackage

/// Resolves many paths, of which most are in few folders: each folder is resolved once.
struct ResolvedFolders {
    private var known: [[UInt8]: [UInt8]] = [:]

    /// The canonical path of what is there, if it is no link: that is not looked at. Nil if nothing can be there.
    mutating func place(of path: [UInt8]) -> [UInt8]? {
        let slash = UInt8(ascii: "/")
        let cut = path.lastIndex(of: slash)
        let name = Array(path.dropFirst(cut.map { $0 + 1 } ?? 0))
        let parent = cut.map { $0 == 0 ? [slash] : Array(path.prefix($0)) } ?? [UInt8(ascii: ".")]
        guard !name.isEmpty, name != [UInt8(ascii: ".")], name != Array("..".utf8) else { return try? CanonicalPath.resolve(path) }
        if let folder = known[parent] { return CanonicalPath.join(folder, name) }
        guard let folder = try? CanonicalPath.resolve(parent) else { return nil }
        known[parent] = folder
        return CanonicalPath.join(folder, name)
    }
}

/// Absolute paths without links, `.` and `..`, in bytes.
package enum CanonicalPath {
    /// realpath(3).
    package static func resolve(_ path: [UInt8]) throws(Errno) -> [UInt8] {
        guard let resolved = withCString(path, { realpath($0, nil) }) else { throw Errno(rawValue: errno) }
        defer { free(resolved) }
        return Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
    }

    /// The canonical path of a mount point, which need not answer: its folder is resolved and its name is added, so that a
    /// mount whose daemon died can be named. A link to the mount point and trailing slashes are followed.
    package static func mountPoint(_ path: [UInt8]) throws(Errno) -> [UInt8] {
        do {
            return try resolve(path)
        } catch where error != .noSuchFileOrDirectory && error != .notDirectory {
            var named = path
            while named.count > 1, named.last == slash { named.removeLast() }
            if let target = link(at: named) { return try mountPoint(target) }
            let name = named[(named.lastIndex(of: slash).map { $0 + 1 } ?? 0)...]
            guard !name.isEmpty, !name.elementsEqual(".".utf8), !name.elementsEqual("..".utf8) else { throw error }
            let parent = named.lastIndex(of: slash).map { Array(named[..<max($0, 1)]) } ?? Array(".".utf8)
            return join(try resolve(parent), Array(name))
        }
    }

    /// The path with its longest existing part resolved: where a folder would be that is yet to be made.
    package static func future(_ path: [UInt8]) throws(Errno) -> [UInt8] {
        do {
            return try resolve(path)
        } catch .noSuchFileOrDirectory {
            guard let cut = path.lastIndex(of: slash), path.count > 1 else { throw .noSuchFileOrDirectory }
            return join(try future(cut == 0 ? [slash] : Array(path[..<cut])), Array(path[(cut + 1)...]))
        }
    }

    /// Whether `path` is `folder` or lies in it; both canonical.
    package static func isWithin(_ path: [UInt8], _ folder: [UInt8]) -> Bool {
        path == folder || folder == [slash] || (path.count > folder.count && path.starts(with: folder + [slash]))
    }

    package static func join(_ folder: [UInt8], _ name: [UInt8]) -> [UInt8] {
        folder.last == slash ? folder + name : folder + [slash] + name
    }

    /// Where a symbolic link leads, as a path from here; nil if there is none.
    private static func link(at path: [UInt8]) -> [UInt8]? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = withCString(path) { cl_readlinkat(AT_FDCWD, $0, &target, target.count) }
        guard count > 0 else { return nil }
        let bytes = target[..<count].map { UInt8(bitPattern: $0) }
        if bytes.first == slash { return bytes }
        return path.lastIndex(of: slash).map { Array(path[...$0]) + bytes } ?? bytes
    }

    private static let slash = UInt8(ascii: "/")
}

/// Calls `body` with the bytes and a NUL, valid for the call.
package func withCString<Result>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Result) -> Result {
    // Safe: UInt8 and CChar have one layout, and the buffer outlives the call.
    (bytes + [0]).withUnsafeBufferPointer { buffer in
        buffer.baseAddress!.withMemoryRebound(to: CChar.self, capacity: buffer.count) { body($0) }
    }
}
