import TestSupport
import Testing

extension MountTests {
    /// Trees deeper than any path: apps make them level by level, and nothing may recur over the levels.
    struct DeepTreeTests {
        private static let walk = """
            import os, subprocess
            def down(levels, name):
                for _ in range(levels): os.chdir(name)
            def run(*words):
                ended = subprocess.run(words, capture_output=True, text=True, cwd=os.environ["M"])
                return ended.returncode, ended.stderr.strip()[-200:]

            """

        private static func prepare(_ levels: Int, _ name: String) -> String {
            """
            python3 -c '
            import os
            os.mkdir("deep"); os.chdir("deep")
            for _ in range(\(levels)): os.mkdir("\(name)"); os.chdir("\(name)")
            open("doc", "w").write("deep")'
            """
        }

        /// Documents whose paths no system call takes are in no tag, and those that come from there, or go there, are told of.
        @Test(arguments: [Account.root]) func documentsMovedFromAndToWhereNoPathLeadsAreKnownWhereOneDoes(account: Account) throws {
            try withMount(account, prepare: "printf near >near; setfattr -n user.xdg.tags -v near near; \(Self.prepare(25, String(repeating: "d", count: 200)))") { mount in
                try mount.scanned()
                let moving = """
                    import ctypes, os
                    libc = ctypes.CDLL(None)
                    top = os.open(".", os.O_RDONLY); os.chdir("deep")
                    for _ in range(25): os.chdir("\(String(repeating: "d", count: 200))")

                    """
                try mount.python(moving + """
                    os.setxattr("doc", "user.xdg.tags", b"far")
                    print(libc.renameat2(top, b"near", -100, b"doc", 2))  # AT_FDCWD, RENAME_EXCHANGE
                    """)
                try mount.expectNames(["near"], in: ".tags/far")
                #expect(try mount.shell("ls .tags; cat .tags/far/near") == "far\ndeep")
                try mount.python(moving + "os.rename('near', 'gone', src_dir_fd=top); os.rename('doc', 'came', dst_dir_fd=top)")
                try mount.expectNames(["came"], in: ".tags/near")
                #expect(try mount.shell("ls .tags; cat .tags/near/came") == "near\nnear")
            }
        }

        /// The daemon of 2bf7daa died of the second walk down.
        @Test(arguments: Account.allCases, [(30_000, 1), (3_000, 255)])
        func deepTreesAreServed(account: Account, size: (levels: Int, nameLength: Int)) throws {
            let name = String(repeating: "d", count: size.nameLength)
            try withMount(account, prepare: Self.prepare(size.levels, name)) { mount in
                let found = try mount.python(Self.walk + """
                    os.chdir("deep"); down(\(size.levels), "\(name)")
                    print(open("doc").read(), os.listdir("."))
                    open("doc", "w").write("saved"); os.mkdir("folder"); os.rename("doc", "folder/moved"); os.symlink("folder/moved", "link")
                    print(open("link").read(), os.stat("folder").st_nlink)
                    os.chdir(os.environ["M"])
                    if os.geteuid() == 0: open("/proc/sys/vm/drop_caches", "w").write("2")
                    os.chdir("deep"); down(\(size.levels), "\(name)")
                    os.rename(os.environ["M"] + "/deep", os.environ["M"] + "/other")
                    open("after", "w").write("x")
                    print(sorted(os.listdir(".")), open("link").read())
                    os.chdir(os.environ["M"])
                    # A snapshot, or word that it takes more than there is room for.
                    status, errors = run("quire", "coordinate", "--read", "other", "--", "true")
                    print(status == 0 or "there is room for" in errors or errors)
                    print(run("quire", "coordinate", "--write", "other", "--", "true"))
                    os.chdir(".thumbnails/large/other")
                    try: down(\(size.levels), "\(name)")
                    except OSError as error: print(error.strerror)
                    os.chdir(os.environ["M"])
                    """, limit: .seconds(600))
                #expect(found == """
                    deep ['doc']
                    saved 2
                    ['after', 'folder', 'link'] saved
                    True
                    (0, '')
                    File name too long
                    """)
                if isLongRun {
                    try mount.shell("rm -r other", limit: .seconds(1_200))
                } else {
                    // By coreutils, which recur no more than we do.
                    try mount.shell("rm -rf \"$S/other\"", in: mount.store, limit: .seconds(1_200))
                }
                try eventually(within: .seconds(180)) { try mount.shell("ls") == "" }
                #expect(mount.daemon.map { !Mount.hasEnded($0) } == true)
            }
        }

        /// The folders stay for others until the claim ends, or something else takes the place of the first: then they go at once.
        @Test(arguments: Account.allCases, ["mkdir -m 751 deep; echo new >deep/doc", "true"])
        func aDeepTreeIsRemovedWithinAClaim(account: Account, next: String) throws {
            let levels = isLongRun ? 30_000 : 2_000
            try withMount(account, prepare: Self.prepare(levels, "d")) { mount in
                try mount.shell(
                    "quire coordinate --write deep -- sh -ec 'rm -r deep; \(next)'", limit: .seconds(isLongRun ? 3_600 : 300))
                let left = "if [ -e deep ]; then stat -c %a deep; ls deep; cat deep/doc; fi"
                #expect(try mount.shell(left) == (next == "true" ? "" : "751\ndoc\nnew"))
                #expect(try mount.shell(left, in: mount.store) == (next == "true" ? "" : "751\ndoc\nnew"))
                #expect(mount.daemon.map { !Mount.hasEnded($0) } == true)
            }
        }
    }
}
