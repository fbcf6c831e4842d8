import TestSupport
import Testing

extension MountTests {
    /// A file system that never answers, mounted over a folder or over a file of the store, as any user may mount one over their own
    /// (fusermount3(1)). What the daemon does for all its users goes on.
    struct MountedOverTests {
        /// `cover(path)` mounts one; nobody reads its device, so that even INIT is not answered.
        private static let covering = #"""
            import ctypes, os, subprocess, time
            from waiting import eventually
            M, S = os.environ["M"], os.environ["S"]
            libc = ctypes.CDLL(None, use_errno=True)
            covered, devices = [], []
            # Whoever mounts chooses what follows the dot.
            def cover(path, kind="fuse.silent", options=",allow_other"):
                devices.append(os.open("/dev/fuse", os.O_RDWR))
                options = f"fd={devices[-1]},rootmode={os.lstat(path).st_mode & 0o170000:o},user_id=61001,group_id=61001{options}"
                assert libc.mount(b"silent", path.encode(), kind.encode(), 0, options.encode()) == 0, os.strerror(ctypes.get_errno())
                covered.append(path)
            def uncover():
                for path in reversed(covered): libc.umount2(path.encode(), 2)
                for device in devices: os.close(device)
            def content(path):
                with open(path) as file: return file.read()

            """#

        /// Events of what it covers are told still: a path that leads to it, or that it has taken, is not walked. Its folder may be moved
        /// after it was mounted.
        @Test(arguments: ["fuse.silent", "fuse.quire"], [",allow_other", ""])
        func changesElsewhereShow(kind: String, options: String) throws {
            let deep = "d/" + String(repeating: String(repeating: "n", count: 200) + "/", count: 25)
            try withMount(prepare: "mkdir -p x/y u/a/m/sub \(deep); touch x/y/old file; echo old >other") { mount in
                let found = try mount.python("(kind, options) = ('\(kind)', '\(options)')\n" + Self.covering + #"""
                    # The kernel has asked for all of them.
                    for folder, folders, files in os.walk(M):
                        if folder == M: folders[:] = ["x", "d", "u"]
                        for name in files: os.stat(os.path.join(folder, name))
                    assert content(M + "/other") == "old\n"
                    file = os.open(S + "/file", os.O_WRONLY)
                    folders = [os.open(S + path, os.O_RDONLY) for path in ["/x/y", "/u/a/m/sub", "/d"]]
                    for _ in range(25): folders[-1] = os.open("n" * 200, os.O_RDONLY, dir_fd=folders[-1])
                    try:
                        for path in ["/x", "/file", "/d", "/u/a/m"]: cover(S + path, kind, options)
                        os.rename(S + "/u/a", S + "/u/c"); covered[-1] = S + "/u/c/m"
                        for folder in folders:
                            os.close(os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
                            os.rename("new", "newer", src_dir_fd=folder, dst_dir_fd=folder)
                        os.write(file, b"z"); os.close(file)
                        with open(S + "/other", "w") as other: other.write("new\n")
                        eventually(lambda: content(M + "/other") == "new\n"); print("shown")
                    finally: uncover()
                    """#, in: "/", limit: .seconds(300))
                #expect(found == "shown")
            }
        }

        /// To remove or rename what it covers is refused, as on the plain folder, and holds up nobody.
        @Test func whatItCoversIsRefused() throws {
            try withMount(prepare: "mkdir x; touch file other; echo y >document") { mount in
                let found = try mount.python(Self.covering + #"""
                    import errno
                    def refusal(call, *paths):
                        try: call(*[M + path for path in paths])
                        except OSError as error: return errno.errorcode[error.errno]
                    for name in os.listdir(M): os.path.lexists(M + "/" + name)
                    try:
                        for path in ["/x", "/file"]: cover(S + path)
                        calls = [
                            (os.unlink, "/file"), (os.rmdir, "/x"), (os.rename, "/file", "/new"), (os.rename, "/x", "/new"),
                            (os.rename, "/other", "/file"),
                        ]
                        print({refusal(*call) for call in calls})
                        os.rename(S + "/document", S + "/moved")
                        print(content(M + "/moved"), end="")
                        print(subprocess.run(["quire", "coordinate", "--timeout", "60", "--read", M, "--", "true"]).returncode)
                    finally: uncover()
                    """#, in: "/", limit: .seconds(300))
                #expect(found == "{'EBUSY'}\ny\n0")
            }
        }

        /// Nor is it asked by a mount whose whole store a server answers for, which is asked about each name.
        @Test func aServedStoreIsListedBesideIt() throws {
            try withMount(prepare: "mkdir x y; touch file; echo y >document") { mount in
                try mount.unmount()
                try mount.shell("bindfs \"$S\" \"$S\"", in: "/")
                defer { _ = try? mount.attempt("umount -l \"$S\"", in: "/") }
                try mount.mount()
                let found = try mount.python(Self.covering + #"""
                    try:
                        for path in ["/x", "/file"]: cover(S + path)
                        seen = "ls -U $M | wc -l && cat $M/document && quire coordinate --timeout 60 --read $M -- true"
                        print(subprocess.run(["timeout", "100", "sh", "-c", seen], capture_output=True, text=True).stdout.split("\n")[-3:])
                    finally: uncover()
                    """#, in: "/", limit: .seconds(300))
                #expect(found == "['4', 'y', '']")
            }
        }

        /// A scan goes on, and a claim of everything is granted.
        @Test func whatIsBesideItIsScannedAndClaimed() throws {
            let prepare = "mkdir x; for n in $(seq 9); do touch $n file$n; setfattr -n user.xdg.tags -v t $n; done"
            try withMount(prepare: prepare) { mount in
                try mount.unmount()
                try mount.shell(
                    "python3 - >\"$T/covered\" 2>&1 <<'END' &\n" + Self.covering + """
                        for path in ["/x"] + [f"/file{n}" for n in range(1, 10)]: cover(S + path)
                        print("all", flush=True)
                        time.sleep(600)
                        END
                        echo $! >"$T/covering"
                        eventually grep -q all "$T/covered"
                        """, in: "/")
                defer { _ = try? mount.attempt("kill $(cat \"$T/covering\"); umount -l \"$S\"/x \"$S\"/file*", in: "/") }
                try mount.mount()
                try mount.scanned()
                #expect(try mount.names(in: ".tags/t").count == 9)
                try mount.shell("quire coordinate --timeout 60 --read . -- true")
            }
        }
    }
}
