import SystemCalls

/// One process of the stress exercise: random operations on a few names, so that the processes meet often.
struct StressWorker {
    private let operations: Int
    private let seed: UInt64
    private var random: SeededGenerator
    private var current = ""
    /// How many operations worked.
    private var done = 0

    /// Enters the tree.
    init(tree: String, options: Options) throws {
        (operations, seed) = (options.operations, options.seed)
        random = SeededGenerator(seed: options.seed)
        try chdir(tree)
    }

    mutating func run() throws {
        for number in 0..<operations {
            do {
                try operate()
                done += 1
            } catch let error as Errno {
                guard Self.explained.contains(error) else {
                    throw Failure(
                        text:
                            "stress: operation \(number) with seed \(seed): \(current): \(error.symbol) from \(lastFailure)"
                    )
                }
            }
        }
        // A fifth is a good deal below what any healthy run reaches; less means that something fails that should not.
        if operations >= 1000 && done < operations / 5 {
            throw Failure(text: "stress: only \(done) of \(operations) operations worked with seed \(seed)")
        }
    }

    /// What may happen to anyone because others move, remove and replace things at the same time: names and folders that
    /// went or came (ENOENT, EEXIST, ENOTEMPTY), changed their type (EISDIR, ENOTDIR, EINVAL of readlink and of a folder
    /// moved into itself, ELOOP of links in circles), fifos without a reader and sockets (ENXIO), modes that others took
    /// away (EACCES), links to folders and attributes on links and nodes (EPERM), attributes that went (ENODATA), folders
    /// in use as a parent or root of a rename (EBUSY). ESTALE, EIO, EBADF and ENOSYS are never explained.
    static let explained: Set<Errno> = [
        .noSuchFileOrDirectory, .fileExists, .directoryNotEmpty, .isDirectory, .notDirectory, .invalidArgument,
        .tooManySymbolicLinkLevels, .noSuchAddressOrDevice, .permissionDenied, .notPermitted, .noData, .resourceBusy,
    ]

    private mutating func operate() throws {
        switch random.upTo(99) {
        case ..<16: try create()
        case ..<26: try overwrite()
        case ..<38: try readAll()
        case ..<48: try move()
        case ..<54: try named("link") { try link($0, $1) }
        case ..<58: try named("symlink") { try symlink($0, $1) }
        case ..<66: try named("unlink") { path, _ in try unlink(path) }
        case ..<74: try makeFolder()
        case ..<78: try removeFolder()
        case ..<84: try list()
        case ..<88: try setAttribute()
        case ..<91: try resize()
        case ..<94: try makeNode()
        case ..<97: try changeMode()
        default: try examine()
        }
    }

    // MARK: Names

    private mutating func aFolder() -> String {
        (0..<random.upTo(3)).map { _ in "d\(random.upTo(3))" }.joined(separator: "/")
    }
    private mutating func aPath() -> String {
        let folder = aFolder()
        return (folder.isEmpty ? "" : folder + "/") + "f\(random.upTo(15))"
    }
    private mutating func named(_ name: String, _ body: (String, String) throws -> Void) throws {
        let (one, two) = (aPath(), aPath())
        current = "\(name) \(one) \(two)"
        try body(one, two)
    }
    /// Opens without waiting for a fifo's other end, and closes whatever happens.
    private mutating func opened(_ name: String, _ flags: Int32, _ body: (Int32, inout SeededGenerator) throws -> Void)
        throws
    {
        let path = aPath()
        current = "\(name) \(path)"
        let fd = try open(path, flags | O_NONBLOCK, 0o644)
        defer { try? close(fd) }
        if try fstat(fd).type == S_IFREG { try body(fd, &random) }
    }

    // MARK: Operations

    private mutating func create() throws {
        let flags = O_WRONLY | O_CREAT | (random.chance(1, in: 2) ? O_TRUNC : 0) | (random.chance(1, in: 4) ? O_EXCL : 0)
        try opened("create", flags) { fd, random in
            try write(fd, [UInt8](repeating: UInt8(random.upTo(255)), count: random.upTo(20000)))
        }
    }
    private mutating func overwrite() throws {
        try opened("overwrite", O_RDWR | (random.chance(1, in: 3) ? O_APPEND : 0)) { fd, random in
            for _ in 0..<random.upTo(4) { try pwrite(fd, [UInt8](repeating: 7, count: 500), at: random.upTo(100_000)) }
            if random.chance(1, in: 10) { try fsync(fd) }
        }
    }
    private mutating func readAll() throws {
        try opened("read", O_RDONLY) { fd, _ in
            while case let bytes = try read(fd, 65536), !bytes.isEmpty {}
        }
    }
    private mutating func move() throws {
        let flags = [0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE].randomElement(using: &random)!
        if random.chance(1, in: 3) {
            let (one, two) = (aFolder(), aFolder())
            current = "rename \(one) \(two)"
            if !one.isEmpty && !two.isEmpty { try rename(one, two, flags: flags) }
        } else {
            try named("rename") { try rename($0, $1, flags: flags) }
        }
    }
    private mutating func makeFolder() throws {
        let path = aFolder()
        current = "mkdir \(path)"
        if !path.isEmpty { try mkdir(path) }
    }
    private mutating func removeFolder() throws {
        let path = aFolder()
        current = "rmdir \(path)"
        if !path.isEmpty { try rmdir(path) }
    }
    private mutating func list() throws {
        let path = aFolder()
        current = "readdir \(path)"
        for entry in try entries(of: path.isEmpty ? "." : path) {
            let name = path.isEmpty ? entry.text : "\(path)/\(entry.text)"
            do { _ = try lstat(name) } catch { if !Self.explained.contains(error) { throw error } }
        }
    }
    private mutating func setAttribute() throws {
        let name = "user.\(random.upTo(3))"
        let removes = random.chance(1, in: 3)
        try named("xattr") { path, _ in
            if removes { try removexattr(path, name) } else { try setxattr(path, name, "value of \(path)") }
            _ = try listxattr(path)
        }
    }
    private mutating func resize() throws {
        let size = random.upTo(200_000)
        try named("truncate") { path, _ in try truncate(path, size) }
    }
    private mutating func makeNode() throws {
        let type = [S_IFIFO, S_IFSOCK, S_IFREG].randomElement(using: &random)!
        try named("mknod") { path, _ in try mknod(path, UInt32(type) | 0o644) }
    }
    private mutating func changeMode() throws {
        let mode = [0o600, 0o644, 0o755, 0o400].randomElement(using: &random)! as UInt32
        try named("chmod") { path, _ in
            if try lstat(path).type == S_IFREG { try chmod(path, mode) }
        }
    }
    private mutating func examine() throws {
        try named("stat") { one, two in
            _ = try lstat(one)
            _ = try stat(two)
            try access(one, R_OK)
            if try lstat(one).type == S_IFLNK { _ = try readlink(one) }
        }
    }
}
