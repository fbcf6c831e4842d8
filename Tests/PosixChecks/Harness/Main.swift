import SystemCalls

/// `PosixChecks DIRECTORY [--as-root|--as-user] [--filter TEXT] [--limit SECONDS] [--list]`
///
/// Runs the table of checks in a fresh folder inside DIRECTORY and removes it. The same binary on a plain folder and on a
/// mount gives the same lines if the mount behaves as the file system under it; `value` lines record answers that file
/// systems may differ in. Exits 0 if all hold, 1 if one does not, 2 on wrong use.
@main
struct PosixChecks {
    static let usage = """
        usage: PosixChecks DIRECTORY [--as-root|--as-user] [--filter TEXT] [--limit SECONDS] [--list]
          --as-root   all checks; needs root (the default for root)
          --as-user   only what an ordinary user can see (the default for others); root becomes uid 61001 first
          --filter    only checks whose name contains TEXT
          --limit     seconds that one check may take (60)
          --list      print the names and do nothing
        """

    var directory = ""
    var asRoot = geteuid() == 0
    var filter = ""
    var limit = 60
    var lists = false

    static func main() {
        // A mapping beyond a file's end, a closed pipe or a large file end a check, not the run with a core dump.
        _ = sc_prlimit(RLIMIT_CORE, 0, 0)
        _ = sc_set_handler(SIGPIPE, 1)
        guard let main = PosixChecks(CommandLine.arguments.dropFirst()) else {
            _ = try? write(2, usage + "\n")
            exitNow(2)
        }
        do {
            exitNow(try main.run())
        } catch let error as Errno {
            _ = try? write(2, "PosixChecks: \(main.directory): \(error.symbol) from \(lastFailure)\n")
        } catch {
            _ = try? write(2, "PosixChecks: \(error)\n")
        }
        exitNow(2)
    }

    init?(_ arguments: some Sequence<String>) {
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--as-root": asRoot = true
            case "--as-user": asRoot = false
            case "--list": lists = true
            case "--filter":
                guard let text = rest.popFirst() else { return nil }
                filter = text
            case "--limit":
                guard let seconds = rest.popFirst().flatMap({ Int($0) }), seconds > 0 else { return nil }
                limit = seconds
            default:
                guard directory.isEmpty, !argument.hasPrefix("-") else { return nil }
                directory = argument
            }
        }
        if directory.isEmpty || asRoot && geteuid() != 0 { return nil }
    }

    func run() throws -> Int32 {
        let selected = Table.all().checks.filter {
            (asRoot || !$0.needsRoot) && (filter.isEmpty || $0.title.contains(filter))
        }
        if lists {
            for check in selected { line(check.title) }
            return 0
        }
        let name = "posix-checks.\(getpid())"
        let root = try open(directory, O_RDONLY | O_DIRECTORY)
        umask(0o022)
        try mkdirat(root, name, 0o755)
        let folder = try openat(root, name, O_RDONLY | O_DIRECTORY)
        // Root that is to see what an ordinary user sees runs the checks in a child of that identity. The folder is reached
        // by descriptor: its parents need not be open to the child.
        defer {
            try? fchdir(root)
            removeTree(Array(name.utf8))
        }
        guard !asRoot && geteuid() == 0 else {
            return try Runner(checks: selected, folder: folder, limit: limit).run() == 0 ? 0 : 1
        }
        try fchown(folder, Int(Identity.alice.uid), Int(Identity.alice.gid))
        let process = Int32(try done(sc_fork(), name: "fork"))
        if process == 0 {
            try become(uid: Identity.alice.uid, gid: Identity.alice.gid)
            exitNow(try Runner(checks: selected, folder: folder, limit: limit).run() == 0 ? 0 : 1)
        }
        return try wait(for: process) == .exited(0) ? 0 : 1
    }
}
