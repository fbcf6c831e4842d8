import TestSupport
import Testing

extension MountTests {
    /// Lists of virtual folders: how often they are made, and that their names hold.
    struct ListingTests {
        private static let count = 400
        private static let store = """
            mkdir d e; for n in $(seq -w \(count)); do echo $n >d/doc$n; done
            setfattr -n user.xdg.tags -v x d/*
            """

        private func withDocuments(_ body: (Mount) throws -> Void) throws {
            try withMount(prepare: Self.store) { mount in
                try mount.scanned()
                try body(mount)
            }
        }

        private func listingsMade(_ mount: Mount) throws -> Int {
            let line = try mount.shell("quire status --json . | grep listingsMade")
            return try #require(Int(line.filter(\.isNumber)))
        }

        /// A list is made anew after a second, since permissions may have changed: how long the steps take counts, too.
        private func expectListings(_ mount: Mount, atMost limit: Int, _ body: () throws -> Void) throws {
            let before = try listingsMade(mount)
            let time = try ContinuousClock().measure(body)
            let made = try listingsMade(mount) - before
            #expect(made <= limit + 2 * Int(time.components.seconds), "\(made) lists in \(time)")
        }

        @Test(arguments: [
            "for path in paths: open(path, 'a').write('more')",
            "for path in paths: os.unlink(path)",
            "for path in paths: os.symlink('../../d/' + path.name, '.tags/y/' + path.name)",
            "for path in paths: os.rename(path, '.tags/y/' + path.name)",
            "for path in paths: os.rename('d/' + path.name, 'e/' + path.name); os.stat('.tags/x/' + path.name)",
            "for path in paths: os.replace(shutil.copy('d/' + path.name, 'e'), 'd/' + path.name); os.stat(path)",
        ])
        func changingDocumentsOneByOneDoesNotListThemEachTime(step: String) throws {
            try withDocuments { mount in
                try mount.shell("mkdir .tags/y; ls .tags/x >/dev/null")
                try expectListings(mount, atMost: 20) {
                    try mount.python("import os, pathlib, shutil; paths = list(pathlib.Path('.tags/x').iterdir())\n\(step)")
                }
                let left = step.contains("unlink") || step.contains("rename(path") ? 0 : Self.count
                #expect(try mount.names(in: ".tags/x").count == left)
            }
        }

        @Test(arguments: Account.allCases)
        func lookingAtAFolderWhileItsDocumentsChangeDoesNotListItForEach(account: Account) throws {
            try withMount(account, prepare: Self.store) { mount in
                try mount.scanned()
                try expectListings(mount, atMost: 12) {
                    let lines = try mount.shell("""
                        (while :; do echo more >>d/doc007; echo more >>d/doc123; sleep 0.01; done) & writer=$!
                        for n in 1 2 3; do ls -lL .tags/x; done | grep -c doc
                        kill $writer
                        """)
                    #expect(lines == "\(3 * Self.count)")
                }
            }
        }

        @Test func allWhoLookAtOnceHaveOneList() throws {
            let many = """
                import os
                for n in range(6000):
                    open(f"doc{n}", "w").close()
                    os.setxattr(f"doc{n}", "user.xdg.tags", b"x")
                """
            try withMount(prepare: "python3 -c '\(many)'") { mount in
                try mount.scanned()
                // Long enough to list that all come meanwhile.
                try expectListings(mount, atMost: 3) {
                    try mount.python("""
                        import os, threading
                        os.setxattr("doc1", "user.xdg.tags", b"x,z")
                        barrier = threading.Barrier(16)
                        counts = []
                        def look():
                            barrier.wait()
                            counts.append(len(os.listdir(".tags/x")))
                        threads = [threading.Thread(target=look) for _ in range(16)]
                        for thread in threads: thread.start()
                        for thread in threads: thread.join()
                        assert counts == [6000] * 16, counts
                        """)
                }
            }
        }

        @Test func aLinkHasItsDocumentsTimeThoughTheListIsOlder() throws {
            try withDocuments { mount in
                try mount.shell("""
                    ls -l .tags/x >/dev/null; touch -d 2001-02-03 d/doc007
                    test "$(stat -c %y .tags/x/doc007 | cut -c1-10)" = 2001-02-03
                    touch -d 2002-02-03 d/doc007; ls -l --time-style=long-iso .tags/x | grep doc007 | grep 2002-02-03
                    """)
            }
        }

        /// Each removal would give the next document another number.
        @Test func documentsOfOneNameAreRemovedTogether() throws {
            let folders = "a b c d"
            try withMount(prepare: "for f in \(folders); do mkdir $f; echo $f >$f/note.txt; done") { mount in
                try mount.shell("for f in \(folders); do quire tag add dup $f/note.txt; echo >>$f/note.txt; sleep 0.02; done")
                #expect(try mount.names(in: ".tags/dup") == ["note.txt", "note (2).txt", "note (3).txt", "note (4).txt"])
                try mount.shell("rm -r .tags/dup")
                #expect(try mount.names(in: ".tags") == [])
                #expect(try mount.shell("getfattr -d */note.txt") == "")
                #expect(try mount.names(in: ".recents").count == 4)
                try mount.shell("rm .recents/*")
                #expect(try mount.names(in: ".recents") == [])
            }
        }

        /// Without a list that says so: by the index alone.
        @Test func namesAreTheSameWithAndWithoutAList() throws {
            try withMount(prepare: "mkdir a b c; touch a/n.txt b/n.txt 'c/n (2).txt' c/n.txt a/.n b/.n") { mount in
                let names = ["n.txt", "n (2).txt", "n (3).txt", "n (4).txt", ".n", ".n (2)", "n", "n (02).txt"]
                // Without the change there would be a list after a few names.
                let look = """
                    for n in \(names.map { "'\($0)'" }.joined(separator: " ")); do
                        $change; readlink ".tags/t/$n" || echo none
                    done
                    """
                try mount.shell("mkdir .tags/t; setfattr -n user.xdg.tags -v t */n* */.n")
                let alone = try mount.shell("change='eval mkdir .tags/u; rmdir .tags/u'\n" + look)
                #expect(try mount.names(in: ".tags/t") == ["n.txt", "n (2).txt", "n (3).txt", "n (4).txt"])
                #expect(alone == """
                    ../../a/n.txt
                    ../../c/n (2).txt
                    ../../b/n.txt
                    ../../c/n.txt
                    ../../a/.n
                    ../../b/.n
                    none
                    none
                    """)
                #expect(try mount.shell("change=true\n" + look) == alone)
            }
        }
    }
}
