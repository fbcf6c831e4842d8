import Synchronization
import TestSupport
import Testing

/// What a mount for saves can be like: the three differ in who reads and writes a document, kernel or daemon.
enum SaveMount: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case root, rootWithoutPassthrough, user

    /// Where the difference between kernel and daemon does not matter.
    static let accounts: [SaveMount] = [.root, .user]

    var testDescription: String { rawValue }
    var account: Account { self == .user ? .user : .root }
    var options: [String] {
        switch self {
        case .root, .user: account.options
        case .rootWithoutPassthrough: account.options + ["passthrough=off"]
        }
    }
}

/// The mounts that the tests of one suite use one after the other, made when first asked for.
final class SharedMounts: Sendable {
    @TaskLocal static var current: SharedMounts?

    // Mount is no Sendable; the tests run one after another.
    private struct Made: @unchecked Sendable { var mounts: [SaveMount: Mount] = [:] }
    private let made = Mutex(Made())

    private let options: [String]

    /// - Parameter options: of each mount, beside those of its kind.
    init(_ options: [String]) { self.options = options }

    func mount(_ kind: SaveMount) throws -> Mount {
        if let mount = made.withLock({ $0.mounts[kind] }) {
            if mount.isMounted, mount.daemon.map({ !Mount.hasEnded($0) }) ?? false { return mount }
            end(kind)
        }
        let mount = try Mount(kind.account)
        made.withLock { $0.mounts[kind] = mount }
        try mount.mount(kind.options + options)
        return mount
    }

    func end(_ kind: SaveMount) {
        made.withLock { $0.mounts.removeValue(forKey: kind) }?.end()
    }
    func end() {
        for kind in SaveMount.allCases { end(kind) }
    }
}

/// Has the tests of a suite share mounts.
struct SharedMountsTrait: SuiteTrait, TestScoping {
    fileprivate let options: [String]

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let mounts = SharedMounts(options)
        defer { mounts.end() }
        try await SharedMounts.$current.withValue(mounts) { try await function() }
    }
}
extension Trait where Self == SharedMountsTrait {
    static var sharedMounts: Self { sharedMounts([]) }

    /// - Parameter options: of each mount, beside those of its kind.
    static func sharedMounts(_ options: [String]) -> Self { Self(options: options) }
}

/// Runs `body` on a mount of the suite's, and removes what it left there. No hidden name may be left in the store.
///
/// - Parameter prepare: a shell script that fills the store, run in the mount.
func withSharedMount(
    _ kind: SaveMount, prepare: String = "", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (Mount) throws -> Void
) throws {
    let mounts = try #require(SharedMounts.current, "the suite needs the trait .sharedMounts", sourceLocation: sourceLocation)
    let mount = try mounts.mount(kind)
    do {
        if !prepare.isEmpty { try mount.shell(prepare, sourceLocation: sourceLocation) }
        try body(mount)
        try expectNothingHidden(mount, sourceLocation: sourceLocation)
        let emptied = try mount.attempt("find . -mindepth 1 -maxdepth 1 -not -name '.[rst]*' -exec rm -rf {} +; rm -rf \"$T\"/*")
        if emptied.status != 0 { mounts.end(kind) }
    } catch {
        mounts.end(kind)
        throw error
    }
}
/// Nothing of a save is left in the store.
func expectNothingHidden(_ mount: Mount, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try eventually(sourceLocation: sourceLocation) {
        try mount.attempt("find \"$S\" -name '.quire-*'", in: "/").output == ""
    }
}

/// Beginnings of scripts that have a process at hand which is not of the script's lineage: it was there before.
enum Unrelated {
    /// `other COMMANDS` runs them, prints what they printed and answers their status.
    static let shell = """
        coproc OTHER { exec bash 2>&1; }
        other() {
            printf '{ %s\\n}\\nprintf "%%s %%s\\\\n" __ended $?\\n' "$1" >&${OTHER[1]}
            local line
            while IFS= read -r line <&${OTHER[0]}; do
                case $line in "__ended "*) return ${line#__ended };; esac
                printf '%s\\n' "$line"
            done
            return 99
        }

        """
    /// `other(commands)` answers what they printed, without the last newline.
    static let python = """
        import errno, fcntl, mmap, os, signal, socket, subprocess, sys, time
        _other = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        def other(commands):
            _other.stdin.write(("{ %s\\n}\\necho; echo __ended\\n" % commands).encode())
            lines = []
            while True:
                line = _other.stdout.readline().decode()
                if line in ("__ended\\n", ""): break
                lines.append(line)
            return "".join(lines).rstrip("\\n")

        """
}
