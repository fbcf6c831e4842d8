import TestSupport
import Testing

extension MountTests {
    /// A file system inside the store, as any user may mount one in a folder of theirs, that answers what it likes.
    struct HostileFileSystemTests {
        /// Everything that can be asked of it, in random order, through the mount: whatever it answers, the daemon lives, and all else
        /// in the store is as it was. The seed of a round is in the issue.
        @Test(arguments: Account.allCases)
        func noAnswerOfAFileSystemInsideEndsTheDaemon(account: Account) throws {
            for _ in 0..<(isLongRun ? 60 : 1) {
                let seed = UInt32.random(in: 1 ... .max)
                try withMount(account, prepare: "mkdir inner; echo whole > document") { mount in
                    // Mounted when the daemon runs, so that its scan and its watcher meet it too.
                    try mount.shell(
                        "HostileDisk \(seed) \"$S/inner\" -o \(account == .root ? "allow_other" : "rw") </dev/null >/dev/null 2>&1 &\n"
                            + "eventually mountpoint -q \"$S/inner\"")
                    defer { _ = try? mount.attempt("umount -l \"$S/inner\" || fusermount3 -u -z \"$S/inner\"", in: "/") }
                    try mount.shell("mkdir .tags/t; setfattr -n user.xdg.tags -v t document")
                    try mount.python("(seed, seconds) = (\(seed), \(isLongRun ? 30 : 4))\n" + Self.walk, in: "/")
                    let daemon = try #require(mount.daemon)
                    #expect(!Mount.hasEnded(daemon), "seed \(seed)")
                    #expect(try mount.shell("cat document; readlink .tags/t/document") == "whole\n../../document", "seed \(seed)")
                    #expect(try mount.quire("status", mount.path).status == 0, "seed \(seed)")
                }
            }
        }

        /// A file system that answers nothing but that its root is a folder: 40 processes of Alice's wait for it. Bob works on, the mount
        /// point can be had back, and when the file system is gone the daemon ends.
        @Test func aFileSystemThatNeverAnswersHoldsUpItsUsersAlone() throws {
            try withMount(prepare: "mkdir inner bob; chown 61002:61002 bob") { mount in
                let found = try mount.python(Self.innerDisk + Self.stalled, in: "/", limit: .seconds(300))
                #expect(found == "stalled\nworked\n0\nFalse")
                let daemon = try #require(mount.daemon)
                try eventually(within: .seconds(180)) { Mount.hasEnded(daemon) }
            }
        }

        /// One that answers nothing more once something was removed, of which others are to be told.
        @Test func aFileSystemThatFallsSilentHoldsUpNobodysEvents() throws {
            try withMount(prepare: "mkdir inner") { mount in
                let found = try mount.python(Self.innerDisk + Self.silent, in: "/", limit: .seconds(300))
                #expect(found == "silent\ntold")
                let daemon = try #require(mount.daemon)
                try mount.shell("quire unmount --lazy \"$M\"", in: "/")
                try eventually(within: .seconds(180)) { Mount.hasEnded(daemon) }
            }
        }

        /// One that answers until a document on it is written and closed, or is opened again, or a folder is made there: requests that look
        /// for documents everywhere do not wait for it, nor do those that need all names to stand still.
        @Test(arguments: ["written", "opened", "claimed", "made"])
        func aFileSystemThatFallsSilentHoldsUpNothingThatUsersShare(when: String) throws {
            try withMount(prepare: "mkdir inner; echo x >document; setfattr -n user.xdg.tags -v t document") { mount in
                try mount.shell("eventually test -e .tags/t/document")
                let found = try mount.python("when = '\(when)'\n" + Self.innerDisk + Self.silentShared, in: "/", limit: .seconds(300))
                #expect(found == "silent\nworked")
                let daemon = try #require(mount.daemon)
                try mount.shell("quire unmount --lazy \"$M\"", in: "/")
                try eventually(within: .seconds(180)) { Mount.hasEnded(daemon) }
            }
        }

        /// ENOSYS has the kernel never ask for such a thing again, in the whole mount.
        @Test func aFileSystemWithoutFunctionsTakesNoneFromOthers() throws {
            try withMount(prepare: "mkdir inner; echo old >document") { mount in
                let found = try mount.python(Unrelated.python + Self.innerDisk + Self.withoutFunctions, in: "/", limit: .seconds(120))
                #expect(found == "refused\nnew\nwhole")
            }
        }

        /// Mounts `inner` in the store, to be served by `device` (fuse(4), linux/fuse.h): `agreement` is what INIT is answered, and node 3
        /// is a file, all others are folders.
        private static let innerDisk = #"""
            import ctypes, os, signal, struct
            M, T, inner = os.environ["M"], os.environ["T"], os.environ["S"] + "/inner"
            libc = ctypes.CDLL(None, use_errno=True)
            device = os.open("/dev/fuse", os.O_RDWR)
            options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
            assert libc.mount(b"hostile", inner.encode(), b"fuse.hostile", 0, options) == 0, os.strerror(ctypes.get_errno())
            agreement = struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 12, 9, 4096, 1, 0, 0, 0, *[0] * 7)
            def attributes(node): return struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, 0o100666 if node == 3 else 0o40777, 2, 0, 0, 0, 4096, 0)
            def answer(unique, error, body): os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)

            """#

        private static let withoutFunctions = Products.text(of: "disk-without-functions.py")

        private static let silent = Products.text(of: "silent-disk.py")

        private static let silentShared = Products.text(of: "silent-shared-disk.py")

        private static let stalled = Products.text(of: "stalled-disk.py")

        private static let walk = Products.text(of: "walk-hostile-disk.py")
    }
}
