public import SystemPackage

#if canImport(Glibc)
    import Glibc
#endif

/// A fresh folder, mode 755, removed with everything in it when the last reference goes. Nothing under a mount point inside
/// it is removed: a test that mounts there unmounts first.
public final class TemporaryFolder: Sendable {
    /// Absolute, without a slash at the end.
    public let path: String

    /// Makes the folder inside `parent`, by default the one for temporary files. Throws mkdtemp's errno.
    public init(in parent: String? = nil) throws(Errno) {
        let parent = parent ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/quire-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(path, 0o755)
    }

    /// The path of an entry.
    public func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Makes a file with this content, and the folders that lead to it. Traps if that fails: a test cannot go on without.
    @discardableResult
    public func makeFile(_ name: String, _ content: String = "") -> String {
        let names = name.split(separator: "/")
        for count in 1..<max(names.count, 1) { mkdir(path(names.prefix(count).joined(separator: "/")), 0o755) }
        let fd = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        precondition(fd >= 0, "\(path(name)): \(Errno(rawValue: errno))")
        var rest = Array(content.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(fd, $0.baseAddress, $0.count) }
            precondition(count > 0, "\(path(name)): \(Errno(rawValue: errno))")
            rest = rest.dropFirst(count)
        }
        close(fd)
        return path(name)
    }

    deinit { removeTree(path) }
}

/// The content of a file as text. Throws open's or read's errno.
public func readFile(_ path: String) throws(Errno) -> String {
    let fd = open(path, O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else { throw Errno(rawValue: errno) }
    defer { close(fd) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(fd, &buffer, buffer.count)
        if count < 0 { throw Errno(rawValue: errno) }
        if count == 0 { return String(decoding: bytes, as: UTF8.self) }
        bytes += buffer[..<count]
    }
}

/// Removes a tree without following links or entering other file systems. By descriptors: a path may be longer than the kernel takes.
///
/// A program that a test has ended may still write its settings there, so this is done again until the tree is gone, for ten seconds at
/// most. `Tests/run` fails for what is left then, and lists it.
public func removeTree(_ path: String) {
    var status = stat()
    for _ in 0..<200 {
        guard lstat(path, &status) == 0 else { return }
        removeTree(AT_FDCWD, path, device: status.st_dev)
        if lstat(path, &status) != 0 { return }
        usleep(50_000)
    }
}
private func removeTree(_ parent: Int32, _ name: UnsafePointer<CChar>, device: dev_t) {
    var status = stat()
    guard fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_dev == device else { return }
    guard status.st_mode & S_IFMT == S_IFDIR else {
        unlinkat(parent, name, 0)
        return
    }
    if status.st_mode & 0o700 != 0o700 { fchmodat(parent, name, 0o700, 0) }
    if let folder = fdopendir(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            // Safe: the name is NUL-terminated inside the record, which stays until the next readdir.
            withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    if strcmp(name, ".") != 0, strcmp(name, "..") != 0 { removeTree(dirfd(folder), name, device: device) }
                }
            }
        }
    }
    unlinkat(parent, name, AT_REMOVEDIR)
}
