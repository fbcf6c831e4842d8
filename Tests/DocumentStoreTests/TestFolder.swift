import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage
import TestSupport

/// A store of one test's own, on the file system of `base`.
final class TestFolder: Sendable {
    private let folder: TemporaryFolder
    var path: String { folder.path }
    let root: Descriptor
    var store: SharedStore { SharedStore(root) }

    /// Ordinary disks keep /tmp; /dev/shm is a tmpfs.
    static let bases = ["/tmp", "/dev/shm"]

    init(on base: String = "/tmp") throws {
        folder = try TemporaryFolder(in: base)
        root = try Descriptor(opening: folder.path, flags: CL_O_PATH | O_DIRECTORY)
    }

    /// Runs a script in the folder, in a process of its own, up to its first failing command; its exit status.
    @discardableResult
    func shell(_ script: String, in place: String? = nil) throws -> Int32 {
        try runProgram("sh", ["-ec", "cd \"$0\"; \(script)", place ?? path]).status
    }

    /// Writes a file from within this process.
    func write(_ text: String, to name: String) throws {
        let file = try Descriptor(opening: "\(path)/\(name)", flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
        _ = try check(Array(text.utf8).withUnsafeBytes { cl_write(file.number, $0.baseAddress, $0.count) })
    }

    /// A path by which another process gets to a descriptor of this one.
    func link(to descriptor: Descriptor) -> String { "/proc/\(getpid())/fd/\(descriptor.number)" }

    func identity(of name: String = ".") throws -> FileIdentity {
        var status = cl_status()
        _ = try check(cl_statx(root.number, name, AT_SYMLINK_NOFOLLOW, &status))
        return FileIdentity(status)
    }
}
