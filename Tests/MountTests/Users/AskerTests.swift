import TestSupport
import Testing

extension MountTests {
    /// Root's mount, two users at once: whatever is done to the store is done as the user who asks, never as whom the thread served
    /// before. The store is a disk that notes as whom each request came, as servers do that judge by user (`AskedDisk`).
    struct AskerTests {
        private static let folders = "mkdir alice bob; chown 61001:61001 alice; chown 61002:61002 bob; echo old >bob/doc; chown 61002:61002 bob/doc"

        /// `full` is the user who has no inode left.
        private func withAskedDisk(full: UInt32 = .max, _ body: (Mount) throws -> Void) throws {
            try withDisk(
                """
                mkdir "$T/disk"; AskedDisk "$T/disk" "$T/record" \(full) "$S" -o allow_other </dev/null >/dev/null 2>&1 &
                eventually mountpoint -q "$S"
                """, body)
        }

        private func withDisk(_ preparation: String, _ body: (Mount) throws -> Void) throws {
            let mount = try Mount(.root)
            defer {
                mount.end()
                _ = try? mount.attempt("umount \"$S\" || umount -l \"$S\"", in: "/")
            }
            try mount.shell(preparation + "\ncd \"$S\"; " + Self.folders, in: "/")
            try mount.mount()
            try body(mount)
        }

        @Test func eachRequestIsMadeAsTheUserWhoAsks() throws {
            try withAskedDisk { (mount: Mount) throws in
                let rounds = isLongRun ? 2_000 : 40
                let found = try mount.python(#"""
                    import os, sys
                    def work(user, folder):
                        os.setgroups([]); os.setgid(user); os.setuid(user); os.chdir(folder)
                        for n in range(\#(rounds)):
                            os.mkdir("d")
                            # A new file, a save, and what is live.
                            for how in "wwa":
                                with open("d/f", how) as file: file.write("text")
                            os.chmod("d/f", 0o640); os.utime("d/f", (1, 2)); os.setxattr("d/f", "user.note", b"x"); os.removexattr("d/f", "user.note")
                            os.rename("d/f", "g"); os.symlink("g", "l"); os.link("g", "h"); os.truncate("h", 1); os.mkfifo("p"); os.rename("h", "g")
                            for name in ("g", "h", "l", "p"):
                                if os.path.lexists(name): os.unlink(name)
                            os.rmdir("d")
                    users, children = {"alice": 61001, "bob": 61002}, []
                    for folder, user in users.items():
                        if (child := os.fork()) == 0:
                            work(user, folder)
                            os._exit(0)
                        children.append(child)
                    for child in children: assert os.waitpid(child, 0)[1] == 0
                    strangers, counts = set(), {}
                    for line in open(os.environ["T"] + "/record"):
                        user, what, path = line.rstrip("\n").split(" ", 2)
                        if what == "getattr": continue
                        folder = path.split("/")[1]
                        # Reading is root's too, who scans and watches; and the preparation was.
                        if user == "0" and what in ("open", "open-replaying") or path in ("/alice", "/bob", "/bob/doc"): continue
                        counts[folder, what] = counts.get((folder, what), 0) + 1
                        if int(user) != users.get(folder): strangers.add((user, what, path))
                    print(sorted(strangers))
                    for what in "mkdir create open-writing chmod utimens setxattr removexattr rename symlink link mknod unlink rmdir".split():
                        for folder in users:
                            if counts.get((folder, what), 0) < \#(rounds): print(folder, what, counts.get((folder, what)))
                    """#, limit: .seconds(1800))
                #expect(found == "[]")
                #expect(try mount.quire("status", "--json", mount.path).output.contains("\"transactional\" : \(2 * rounds)"))
            }
        }

        /// STATX, by which Linux 6.6 and newer ask for the time of birth, does not come through libfuse.
        @Test func theTimeOfBirthIsAskedForAsTheUserWhoAsks() throws {
            try withAskedDisk { (mount: Mount) throws in
                try mount.shell("""
                    as() { local user=$1; shift; setpriv --reuid=$user --regid=$user --clear-groups -- sh -ec "$@"; }
                    as \(Account.alice) 'cd alice; while [ ! -e "$T/stop" ]; do mkdir d; rmdir d; done' & alice=$!
                    as \(Account.bob) 'for n in $(seq 300); do stat --cached=never -c %W bob/doc; done' >/dev/null
                    touch "$T/stop"; wait $alice
                    grep -q '^\(Account.bob) getattr /bob/doc$' "$T/record"
                    expect_status 1 grep '^\(Account.alice) getattr /bob' "$T/record"
                    """)
            }
        }

        private static let saves = #"""
            import errno, os
            stop, refused = os.pipe(), os.pipe()
            if (alice := os.fork()) == 0:
                os.setgroups([]); os.setgid(61001); os.setuid(61001); os.close(stop[1])
                os.set_blocking(stop[0], False)
                count = 0
                while True:
                    try: os.mkdir("alice/%d" % count)
                    except OSError as error: assert error.errno == errno.EDQUOT, error
                    count += 1
                    # Goes on as long as the pipe is open.
                    try:
                        if os.read(stop[0], 1) == b"": os._exit(0)
                    except BlockingIOError: pass
                    if count == 200: os.write(refused[1], b"!")
            os.read(refused[0], 1)
            if (bob := os.fork()) == 0:
                os.setgroups([]); os.setgid(61002); os.setuid(61002)
                for n in range(300):
                    with open("bob/doc", "w") as file: file.write("version %d" % n)
                os._exit(0)
            print(os.waitpid(bob, 0)[1], os.waitpid(alice, os.WNOHANG))
            os.close(stop[1])
            print(os.waitpid(alice, 0)[1], open("bob/doc").read())
            """#

        private func expectTransactions(_ mount: Mount) throws {
            #expect(try mount.python(Self.saves) == "0 (0, 0)\n0 version 299")
            let status = try mount.quire("status", "--json", mount.path).output
            #expect(status.contains("\"transactional\" : 300"), "\(status)")
            #expect(!status.contains("\"live."), "\(status)")
        }

        /// Copies are made as the user who saves: one user's quota ends no other's transactions.
        @Test func whoeverHasNoInodesLeftIsNotInTheWayOfOthersSaves() throws {
            try withAskedDisk(full: Account.alice) { (mount: Mount) throws in try expectTransactions(mount) }
        }

        /// The same by the kernel's own quota, where it has one (CONFIG_TMPFS_QUOTA).
        @Test(.enabled(if: hasQuota, "the kernel has no quota for tmpfs"))
        func aQuotaIsThatOfTheUserWhoSaves() throws {
            try withDisk("mount -t tmpfs -o usrquota,usrquota_inode_hardlimit=50 store \"$S\"") { (mount: Mount) throws in
                try expectTransactions(mount)
            }
        }

        private static let hasQuota: Bool = {
            guard let folder = try? TemporaryFolder() else { return false }
            let words = ["-t", "tmpfs", "-o", "usrquota", "store", folder.path]
            guard (try? runProgram("mount", words))?.status == 0 else { return false }
            _ = try? runProgram("umount", [folder.path])
            return true
        }()
    }
}
