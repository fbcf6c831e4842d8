import Glibc
import SystemPackage
import TestSupport
import Testing

/// A store in a folder of its own, with a mount of it that a test makes, uses and ends.
final class Mount {
    let account: Account
    /// Holds all that follows, and is removed at the end.
    let folder: TemporaryFolder
    let store: String
    /// The mount point; the store itself for a mount in place.
    let path: String
    private(set) var daemon: pid_t?
    /// Whether the mount is made again when its daemon has died, as is usual. Tests that kill it mount again themselves.
    var restarts = false
    /// Of daemons that ran before, too.
    private var daemons: [pid_t] = []

    /// Makes the folders. Nothing is mounted yet.
    init(_ account: Account, inPlace: Bool = false, in parent: String? = nil) throws {
        self.account = account
        folder = try TemporaryFolder(in: parent)
        store = folder.path("store")
        path = inPlace ? store : folder.path("mnt")
        for name in ["store", "mnt", "state", "cache", "run", "home", "outside"] {
            mkdir(folder.path(name), 0o755)
            if let uid = account.uid { chown(folder.path(name), uid, uid) }
        }
        chmod(folder.path("run"), 0o700)
    }

    /// What a command of this mount's user needs to know. State is kept beside the store, so that nothing is left.
    var environment: [String: String] {
        [
            "PATH": Products.searchPath, "S": store, "M": path, "T": folder.path("outside"), "HOME": folder.path("home"),
            "QUIRE_STATE_HOME": folder.path("state"), "QUIRE_CACHE_HOME": folder.path("cache"), "XDG_RUNTIME_DIR": folder.path("run"),
            "XDG_CACHE_HOME": folder.path("home/.cache"), "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1", "PRELUDE": Products.folder + "/programs/prelude.sh",
            "MODULES": Products.folder + "/python", "PYTHONPATH": Products.folder + "/programs/modules",
        ]
    }

    /// Runs `quire` as this mount's user.
    func quire(_ arguments: String..., limit: Duration = .seconds(180)) throws -> ProgramResult {
        LastProgram.ended(
            arguments.joined(separator: " "),
            try runProgram(Products.folder + "/quire", arguments, environment: environment, limit: limit, user: account.uid))
    }

    /// Mounts the store, and waits until it answers. Throws if it is refused.
    func mount(_ options: [String]? = nil, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let words = (["search-text=off"] + (options ?? account.options) + (restarts ? [] : ["restart=off"])).flatMap { ["-o", $0] }
        let place = path == store ? [store] : [store, path]
        let result = try runProgram(
            Products.folder + "/quire", ["mount"] + place + words, environment: environment, user: account.uid)
        try #require(result.status == 0, "mount: \(result.errors)\(circumstances)", sourceLocation: sourceLocation)
        try noteDaemon(sourceLocation: sourceLocation)
    }

    /// The ends of the daemons' logs, and what the threads of those that have not ended wait for: the test's folder is about to go.
    private var circumstances: String {
        let threads = daemons.map { "/proc/\($0)/task/*/comm /proc/\($0)/task/*/wchan" }.joined(separator: " ")
        let program = "find state -name '*log*' -type f -exec tail -n 20 {} +; grep -s . \(threads) /dev/null"
        let result = try? runProgram("/bin/sh", ["-c", "cd \(folder.path("")); " + program], environment: environment)
        return "\n" + (result?.output ?? "")
    }

    /// Remembers the daemon's process, to see it end.
    func noteDaemon(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let status = try quire("status", "--json", path)
        let pid = status.output.split(separator: "\n").first { $0.contains("\"pid\"") }?.filter(\.isNumber)
        let number = try #require(pid.flatMap { pid_t($0) }, "\(status)", sourceLocation: sourceLocation)
        daemon = number
        daemons.append(number)
    }

    /// Waits until the mount is served by another daemon than `dead`, and remembers that one.
    func comesBack(after dead: pid_t, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try eventually(within: .seconds(20), sourceLocation: sourceLocation) {
            let status = try quire("status", "--json", path)
            return status.status == 0 && !status.output.contains("\"pid\" : \(dead),")
        }
        try noteDaemon(sourceLocation: sourceLocation)
    }

    var isMounted: Bool {
        let table = (try? readFile("/proc/self/mounts")) ?? ""
        return table.split(separator: "\n").contains { $0.split(separator: " ").dropFirst().first.map(String.init) == path }
    }

    /// Whether a process has ended; one that its parent has not waited for counts as ended.
    static func hasEnded(_ pid: pid_t) -> Bool {
        guard let status = try? readFile("/proc/\(pid)/stat") else { return true }
        return status.split(separator: ")").last?.split(separator: " ").first == "Z"
    }

    /// Unmounts with the command.
    func unmount(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let result = try quire("unmount", path)
        #expect(result.status == 0, "unmount: \(result.errors)", sourceLocation: sourceLocation)
    }

    /// Unmounts if still mounted, and sees every daemon end. Leaves nothing behind, whatever is wrong.
    func end(sourceLocation: SourceLocation = #_sourceLocation) {
        if isMounted { try? unmount(sourceLocation: sourceLocation) }
        // Made again just then.
        if isMounted, restarts { try? unmount(sourceLocation: sourceLocation) }
        if isMounted {
            if let daemon { kill(daemon, SIGKILL) }
            while isMounted, umount2(path, Int32(MNT_DETACH)) == 0 {}
        }
        eventually(sourceLocation: sourceLocation) { daemons.allSatisfy(Self.hasEnded) }
        for pid in daemons where !Self.hasEnded(pid) { kill(pid, SIGKILL) }
    }
}

/// Runs `body` on a fresh mount and ends the mount.
///
/// - Parameter prepare: a shell script that fills the store, run in it by the mount's user before it is mounted.
func withMount(
    _ account: Account = .root, _ options: [String]? = nil, inPlace: Bool = false, in parent: String? = nil,
    prepare: String = "", sourceLocation: SourceLocation = #_sourceLocation, _ body: (Mount) throws -> Void
) throws {
    let mount = try Mount(account, inPlace: inPlace, in: parent)
    defer { mount.end(sourceLocation: sourceLocation) }
    if !prepare.isEmpty { try mount.shell("cd \"$S\"\n" + prepare, in: mount.store, sourceLocation: sourceLocation) }
    try mount.mount(options, sourceLocation: sourceLocation)
    try body(mount)
}
