import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// The few questions commands ask of the file system.
package enum FileSystem {
    /// stat(2), links followed.
    package static func status(_ path: [UInt8]) throws(Errno) -> stat {
        var status = cl_status()
        let result = withCString(path) { cl_statx(AT_FDCWD, $0, 0, &status) }
        if result < 0 { throw Errno(rawValue: -result) }
        return status.st
    }

    package static func isFolder(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFDIR }

    /// Whether the process may do `mode` (R_OK, W_OK, X_OK) with its effective identity.
    package static func allows(_ mode: Int32, _ path: [UInt8]) -> Bool {
        withCString(path) { faccessat(AT_FDCWD, $0, mode, AT_EACCESS) == 0 }
    }

    /// Where a program is, as posix_spawnp(3) finds it; nil if it is not in PATH.
    static func program(_ name: String) -> String? {
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return folders.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// The names in a folder, without `.` and `..`; nil if it cannot be read.
    package static func entries(_ folder: [UInt8]) -> [[UInt8]]? {
        guard let stream = withCString(folder, { opendir($0) }) else { return nil }
        defer { closedir(stream) }
        var names: [[UInt8]] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if !name.elementsEqual(".".utf8), !name.elementsEqual("..".utf8) { names.append(name) }
        }
        return names
    }

    /// The whole of a small file, such as those in /proc; nil if it cannot be read.
    package static func contents(_ path: [UInt8]) -> [UInt8]? {
        withCString(path) { try? WholeFile.read($0) }
    }

    package static func contents(_ path: String) -> [UInt8]? { contents(Array(path.utf8)) }

    /// Where a symbolic link points, as its text says: nothing is followed. Nil if it cannot be read.
    package static func linkTarget(_ path: String) -> [UInt8]? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = cl_readlinkat(AT_FDCWD, path, &target, target.count)
        return count < 0 ? nil : target[..<count].map { UInt8(bitPattern: $0) }
    }

    /// An extended attribute's value, links followed. Throws .noData when the file has none.
    package static func attribute(_ name: String, of path: [UInt8]) throws(Errno) -> [UInt8] {
        var value = [UInt8](repeating: 0, count: 65_536)  // XATTR_SIZE_MAX
        let count = withCString(path) { cl_getxattr($0, name, &value, value.count) }
        if count < 0 { throw Errno(rawValue: CInt(clamping: -count)) }
        return Array(value[..<count])
    }

    /// Makes a folder and those above it; existing ones stay as they are.
    package static func makeFolders(_ path: String, mode: mode_t) throws(Errno) {
        if mkdir(path, mode) == 0 { return }
        switch errno {
        case EEXIST: return
        case ENOENT:
            guard let cut = path.lastIndex(of: "/"), cut != path.startIndex else { throw .noSuchFileOrDirectory }
            try makeFolders(String(path[..<cut]), mode: mode)
            if mkdir(path, mode) < 0, errno != EEXIST { throw Errno(rawValue: errno) }
        default: throw Errno(rawValue: errno)
        }
    }
}
