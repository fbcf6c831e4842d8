import func Glibc.usleep
import SystemCalls

/// Many processes at once in one tree. No operation may fail with an errno that a race does not explain, and afterwards the
/// tree must walk clean.
struct StressExercise {
    let folder: String
    let options: Options

    func run() throws {
        let tree = folder + "/file-exerciser.\(getpid())"
        try mkdir(tree, 0o755)
        defer { removeTree(Array(tree.utf8)) }
        var workers: [Int32] = []
        for number in 0..<options.processes {
            workers.append(
                try spawn(
                    [
                        "FileExerciser", "worker", tree, "--operations", "\(options.operations)", "--seed",
                        "\(options.seed &* 1000 &+ UInt64(number))",
                    ]))
        }
        var failed = 0
        for worker in workers where try wait(for: worker) != .exited(0) { failed += 1 }
        if failed > 0 { throw Failure(text: "stress: \(failed) of \(workers.count) processes failed") }

        var walk = TreeWalk()
        try walk.visit(tree)
        try walk.compareLinks()
        say(
            "stress: \(workers.count) processes, \(options.operations) operations each, seed \(options.seed): "
                + "\(walk.files) files, \(walk.folders) folders, \(walk.others) others, all consistent")
        var failures: [String] = []
        removeTree(Array(tree.utf8)) { failures.append("\($2.symbol) from \($1) of \($0)") }
        guard failures.isEmpty else {
            throw Failure(text: "stress: \(tree) could not be removed: \(failures.joined(separator: ", "))")
        }
    }
}

/// A walk over a tree that nobody changes, which finds what does not agree.
struct TreeWalk {
    private(set) var files = 0, folders = 0, others = 0
    /// For each inode: its links as stat tells, and its names.
    private var names: [UInt64: (links: UInt32, names: [String])] = [:]
    private var folderInodes: Set<UInt64> = []

    /// Checks the folder at `path` and all below.
    mutating func visit(_ path: String) throws {
        folders += 1
        let status = try lstat(path)
        try expect(folderInodes.insert(status.inode).inserted, "\(path): inode \(status.inode) is another folder's too")
        let fd = try open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        let all = try allEntries(fd)
        try close(fd)
        try expect(Set(all.map(\.name)).count == all.count, "\(path): a name is listed twice")
        var subfolders: UInt32 = 0
        for entry in all {
            let name = "\(path)/\(entry.text)"
            if entry.text == ".." { continue }
            if entry.text == "." {
                try expect(entry.inode == status.inode, "\(path): . has inode \(entry.inode), not \(status.inode)")
                continue
            }
            let found = try lstat(name)
            try expect(
                found.inode == entry.inode,
                "\(name): listed with inode \(entry.inode), found with \(found.inode), \(found.links) links; "
                    + Self.laterLook(at: [name], in: path))
            try expect(
                entry.type == DT_UNKNOWN || entry.type == found.type >> 12, "\(name): listed with type \(entry.type)")
            if found.type == S_IFDIR {
                subfolders += 1
                let up = try lstat(name + "/..").inode
                try expect(up == status.inode, "\(name)/..: inode \(up), not \(status.inode)")
                try visit(name)
            } else {
                names[found.inode, default: (found.links, [])].names.append(name)
                try expect(
                    names[found.inode]!.links == found.links,
                    "\(name): \(found.links) links, inode \(found.inode) had \(names[found.inode]!.links) before")
                try visitFile(name, found)
            }
        }
        // Some file systems always say 1.
        try expect(
            status.links == 1 || status.links == 2 + subfolders,
            "\(path): \(status.links) links with \(subfolders) subfolders")
    }

    private mutating func visitFile(_ path: String, _ status: Status) throws {
        switch status.type {
        case S_IFREG:
            files += 1
            if status.permissions & 0o400 == 0 { try chmod(path, 0o600) }
            let fd = try open(path, O_RDONLY)
            var size = 0
            while case let bytes = try read(fd, 1 << 20), !bytes.isEmpty { size += bytes.count }
            try close(fd)
            try expect(UInt64(size) == status.size, "\(path): \(size) bytes, not \(status.size)")
            for name in try listxattr(path) { _ = try getxattr(path, name) }
        case S_IFLNK:
            others += 1
            let length = try readlink(path).utf8.count
            try expect(UInt64(length) == status.size, "\(path): a target of \(length) bytes, not \(status.size)")
        default:
            others += 1
        }
    }

    /// Each file has as many names in the tree as its link count says.
    func compareLinks() throws {
        for (inode, found) in names {
            try expect(
                Int(found.links) == found.names.count,
                "inode \(inode): \(found.links) links, but these names: \(found.names.joined(separator: " ")); "
                    + Self.laterLook(at: found.names))
        }
    }
    /// What the names stand for now and a second later: whether it was wrong for a moment only.
    private static func laterLook(at names: [String], in folder: String? = nil) -> String {
        func look() -> String {
            let listed = folder.flatMap { try? entries(of: $0) } ?? []
            return names.map { name in
                let status = try? lstat(name)
                let entry = listed.first { name.hasSuffix("/" + $0.text) }
                return (status.map { "inode \($0.inode) with \($0.links) links, \($0.size) bytes" } ?? "nothing")
                    + (entry.map { ", listed with \($0.inode)" } ?? "")
            }.joined(separator: ", ")
        }
        let now = look()
        usleep(1_000_000)
        return "now \(now); a second later \(look())"
    }

    private func expect(_ condition: Bool, _ text: @autoclosure () -> String) throws {
        if !condition { throw Failure(text: "stress: " + text()) }
    }
}
