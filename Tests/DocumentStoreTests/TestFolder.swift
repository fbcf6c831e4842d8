import CLinux
import Foundation
import Glibc
import StorePrimitives
import SystemPackage

/// A folder of one test's own, removed afterwards, on the file system of `base`.
final class TestFolder: Sendable {
    let path: String
    let root: Descriptor

    /// Ordinary disks keep /tmp; /dev/shm is a tmpfs.
    static let bases = ["/tmp", "/dev/shm"]

    init(on base: String = "/tmp") throws {
        path = "\(base)/quire-store-test-\(getpid())-\(UUID().uuidString)"
        guard mkdir(path, 0o755) == 0 else { throw Errno(rawValue: errno) }
        root = try Descriptor(opening: path, flags: CL_O_PATH | O_DIRECTORY)
    }

    deinit { _ = try? shell("chmod -R u+rwx '\(path)'; rm -rf '\(path)'", in: "/") }

    /// Runs a script in the folder, in a process of its own; its exit status.
    @discardableResult
    func shell(_ script: String, in folder: String? = nil) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        process.currentDirectoryURL = URL(fileURLWithPath: folder ?? path)
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
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
