import CLinux
import Glibc
import MountProtocol
import StorePrimitives
import SystemPackage

/// Where a recovered version is written to.
struct RecoveryTarget {
    enum Present: Equatable {
        case nothing
        case file(size: Int64)
        /// A folder, a link, a device.
        case other
    }

    let path: [UInt8]
    /// Nil where the whole path is the user's.
    private let folder: Descriptor?
    private let name: [UInt8]

    /// A path from the command line.
    init(path: [UInt8]) {
        self.path = path
        folder = nil
        name = path
    }

    /// A document's own place, reached without symbolic links: it had none, and root restores in folders of others, who might
    /// put some there. Throws a failure if the folder is gone.
    init(document: DocumentPath) throws(CommandFailure) {
        path = document.bytes
        let text = shown(path)
        guard let entry = MountTable.current().holding(path), entry.isQuire,
            let start = path.lastIndex(of: Self.slash), start >= entry.mountPoint.count
        else { throw CommandFailure("\(text): is in no Quire mount; write elsewhere with --to PATH") }
        name = Array(path[(start + 1)...])
        let inside = Array(path[entry.mountPoint.count..<start].drop { $0 == Self.slash })
        do throws(Errno) {
            let root = Descriptor(
                owning: try check(withCString(entry.mountPoint) { cl_openat(AT_FDCWD, $0, CL_O_PATH | O_DIRECTORY, 0) }))
            folder = try SharedStore(root).open(StorePath(unchecked: inside), flags: CL_O_PATH | O_DIRECTORY)
        } catch .noSuchFileOrDirectory {
            throw Self.folderIsGone(path)
        } catch .notDirectory {
            throw Self.folderIsGone(path)
        } catch .tooManySymbolicLinkLevels {
            throw CommandFailure("\(text): a folder of it is a symbolic link now; write elsewhere with --to PATH")
        } catch {
            throw CommandFailure("\(text): \(error)")
        }
    }

    /// What stands there now. Throws a failure if that cannot be seen, or the folder is not there.
    func present() throws(CommandFailure) -> Present {
        var status = cl_status()
        let result = withCString(name) { cl_statx(place, $0, AT_SYMLINK_NOFOLLOW, &status) }
        switch -result {
        case 0: return status.isRegular ? .file(size: Int64(status.st.st_size)) : .other
        case ENOENT:
            let parent = Array(path[..<(path.lastIndex(of: Self.slash) ?? 0)])
            guard folder != nil || parent.isEmpty || (try? FileSystem.status(parent)) != nil else {
                throw Self.folderIsGone(path)
            }
            return .nothing
        default: throw CommandFailure("\(shown(path)): \(Errno(rawValue: -result))")
        }
    }

    private var place: Int32 { folder?.number ?? AT_FDCWD }

    private static let slash = UInt8(ascii: "/")

    private static func folderIsGone(_ path: [UInt8]) -> CommandFailure {
        CommandFailure("\(shown(path)): its folder is gone; make it, or write elsewhere with --to PATH")
    }

    /// Saves over what is there, as any program does: in a mount by a transaction. It keeps its owner, mode and attributes.
    func replace(with content: RecoveredContent) throws(CommandFailure) {
        try write(flags: O_WRONLY | O_TRUNC, mode: 0) { (file) throws(Errno) in try content.fill(file) }
    }

    /// Makes the file, with the permissions that `mode` and the umask leave. Fails if something is there.
    func make(with content: RecoveredContent, mode: UInt32) throws(CommandFailure) {
        try makeFile(mode: mode & 0o777) { (file) throws(Errno) in try content.fill(file) }
    }

    /// Makes a document anew that is gone: of its owner, group and mode, as far as this user may.
    func remake(_ version: RecoverableVersion, with content: RecoveredContent) throws(CommandFailure) {
        try makeFile(mode: 0o600) { (file) throws(Errno) in
            try content.fill(file)
            if geteuid() == 0 {
                _ = try check(cl_fchown(file, version.owner, version.group))
            } else {
                // Where this user is not in that group, it is of the user's own.
                _ = cl_fchown(file, .max, version.group)
            }
            _ = try check(cl_fchmod(file, version.mode & 0o777))
        }
    }

    private func makeFile(mode: mode_t, _ body: (Int32) throws(Errno) -> Void) throws(CommandFailure) {
        var isMade = false
        do throws(CommandFailure) {
            try write(flags: O_WRONLY | O_CREAT | O_EXCL, mode: mode) { (file) throws(Errno) in
                isMade = true
                try body(file)
            }
        } catch {
            if isMade { _ = withCString(name) { cl_unlinkat(place, $0, 0) } }
            throw error
        }
    }

    private func write(flags: Int32, mode: mode_t, _ body: (Int32) throws(Errno) -> Void) throws(CommandFailure) {
        do throws(Errno) {
            // What became a pipe meanwhile is no reason to wait.
            let file = try check(withCString(name) { cl_openat(place, $0, flags | O_NOFOLLOW | O_NONBLOCK, mode) })
            do throws(Errno) {
                try body(file)
            } catch {
                _ = Glibc.close(file)
                throw error
            }
            // Closing publishes, and says if that failed.
            if Glibc.close(file) != 0, errno != EINTR { throw Errno(rawValue: errno) }
        } catch {
            throw CommandFailure("\(shown(path)): cannot be written: \(error)")
        }
    }
}
