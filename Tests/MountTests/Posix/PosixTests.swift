import Glibc
import Synchronization
import TestSupport
import Testing

extension MountTests {
    /// The table of POSIX checks has the same outcome, line by line, on the plain folder and on the mount.
    struct PosixTests {
        /// What Linux does on every FUSE file system before or without the daemon (quire help limits).
        /// Collapsing and inserting ranges is refused; a lock conflict names the holder's process for OFD locks too.
        private static let ofEveryFuse = ["COLLAPSE_RANGE", "INSERT_RANGE", "tell of an OFD lock without a process"]
        /// Under passthrough the kernel keeps O_APPEND on the store's file when fcntl(2) takes it from the app's.
        private static let ofPassthrough = ["O_APPEND taken away by fcntl"]

        /// A save is a version of its own (quire help saves). Not where every name is live.
        private static let ofSaves = ["O_TRUNC keeps the inode", "opening with O_TRUNC is told as a modification"]

        /// The outcomes on plain folders, by account, file system and arguments: they are found out once.
        private static let plainOutcomes = Mutex<[String: String]>([:])

        /// Lines that differ, `-` on the plain folder and `+` on the mount. Numbers of the checks are left out.
        private func expectNoDifferences(
            _ mount: Mount, on fileSystem: String = "disk", in folder: String = "", _ arguments: String = "",
            besides known: [String] = ofEveryFuse + ofSaves, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let leftOut = known.map { "/\($0)/d" }.joined(separator: "; ")
            let key = "\(mount.account) \(fileSystem) \(arguments)"
            if let outcome = Self.plainOutcomes.withLock({ $0[key] }) { mount.folder.makeFile("outside/plain", outcome) }
            let differences = try mount.shell(
                """
                outcomes() { PosixChecks "$1/\(folder)" \(arguments) >"$T/$2" || test $? = 1; }
                [ -e "$T/plain" ] || outcomes "$T" plain & outcomes "$M" mounted; wait $!
                compared() { sed 's/ok [0-9]* - /ok - /; /^#/d; \(leftOut)' "$T/$1"; }
                test $(compared plain | grep -c 'ok - ') -gt 300
                diff <(compared plain) <(compared mounted) | grep '^[<>]' | sed 's/^</-/; s/^>/+/' || true
                """, in: "/", limit: .seconds(600), sourceLocation: sourceLocation)
            #expect(differences == "", sourceLocation: sourceLocation)
            let outcome = try readFile(mount.folder.path("outside/plain"))
            Self.plainOutcomes.withLock { $0[key] = outcome }
        }

        @Test(arguments: Account.allCases)
        func theMountBehavesAsTheStoresFileSystem(account: Account) throws {
            let known = account == .root ? Self.ofPassthrough : []
            try withMount(account) { mount in try expectNoDifferences(mount, besides: Self.ofEveryFuse + Self.ofSaves + known) }
        }

        @Test(arguments: Account.allCases)
        func theMountBehavesAsTheStoresFileSystemWithoutPassthrough(account: Account) throws {
            try withMount(account, account.options + ["passthrough=off"]) { mount in try expectNoDifferences(mount) }
        }

        @Test func theMountBehavesAsTmpfs() throws {
            try withMount(in: "/dev/shm") { mount in
                try expectNoDifferences(mount, on: "tmpfs", besides: Self.ofEveryFuse + Self.ofSaves + Self.ofPassthrough)
            }
        }

        /// Where every name is live there are no saves to make a difference.
        @Test func aMountInPlaceBehavesAsTheStoresFileSystem() throws {
            try withMount(.root, Account.root.options + ["live=*"], inPlace: true) { mount in
                try expectNoDifferences(mount, besides: Self.ofEveryFuse + Self.ofPassthrough)
            }
        }

        /// Another user on a system mount has that user's own rights.
        @Test func anotherUserIsServedAsOnTheStoresFileSystem() throws {
            try withMount { mount in
                try mount.shell("mkdir \"$M/open\" \"$T/open\"", in: "/")
                try expectNoDifferences(
                    mount, in: "open", "--as-user", besides: Self.ofEveryFuse + Self.ofSaves + Self.ofPassthrough)
            }
        }
    }

    /// Random operations, many of them.
    struct ExerciserTests {
        private static let operations = isLongRun ? 1_000_000 : 100_000

        static let mounts: [(Account, [String])] = [
            (.root, Account.root.options), (.root, Account.root.options + ["passthrough=off"]), (.user, []),
        ]

        @Test(arguments: mounts)
        func aFileHoldsWhatWasWritten(account: Account, options: [String]) throws {
            // A disk takes minutes for the syncs among the operations.
            try withMount(account, options, in: isLongRun ? nil : "/dev/shm") { mount in
                for seed in 1...2 {
                    try mount.shell(
                        "FileExerciser model file\(seed) --operations \(Self.operations / 2) --seed \(seed)", limit: .seconds(900))
                }
            }
        }

        @Test(arguments: mounts)
        func manyProcessesLeaveASoundTree(account: Account, options: [String]) throws {
            try withMount(account, options) { mount in
                try mount.shell(
                    """
                    FileExerciser stress . --processes 8 --operations \(isLongRun ? 20_000 : 3_000)
                    expect_equal "$(ls -A | grep -v '^[.]tags$\\|^[.]recents$\\|^[.]thumbnails$\\|^[.]search$\\|^[.]favorites$' || true)" ''
                    """, limit: .seconds(900))
                #expect(try mount.shell("ls -A", in: mount.store) == "")
            }
        }

        @Test(arguments: Account.allCases)
        func aStressTestOfTheSystemCallsRunsClean(account: Account) throws {
            try withMount(account) { mount in
                try mount.shell(
                    """
                    stress-ng --temp-path . --timeout \(isLongRun ? 60 : 2) --verify --metrics-brief \
                        --dir 1 --dentry 1 --rename 1 --link 1 --symlink 1 --fallocate 1 --filename 1 --flock 1 --lease 1 \
                        --locka 1 --lockofd 1 --mmap 1 --mmap-file --mmap-bytes 4m --chmod 1 --xattr 1 --seek 1 \
                        --copy-file 1 --sync-file 1 --utime 1 --hdd 1 --hdd-bytes 8m 2>&1
                    """, limit: .seconds(300))
                #expect(try mount.shell("ls -A", in: mount.store) == "")
            }
        }
    }
}
