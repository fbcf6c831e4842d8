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

        /// The index takes changes of tags later, many at once; lookups do not show that.
        @Test(arguments: Account.allCases)
        func aLookupSeesEveryChangeOfATagAtOnce(account: Account) throws {
            try withMount(account, prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import os, time
                    def there(path, wanted=True): assert os.path.lexists(".tags/" + path) == wanted, (path, wanted, os.listdir(".tags"))
                    os.mkdir(".tags/y")
                    os.listdir(".tags/x")
                    for n in range(1, 60):
                        name = f"doc{n:03}"
                        there(f"y/{name}", False)
                        os.symlink(f"../../d/{name}", f".tags/y/{name}")
                        there(f"y/{name}")
                        there(f"x+y/{name}")
                        os.unlink(f".tags/x/{name}")
                        there(f"x/{name}", False)
                        there(f"x+y/{name}", False)
                        os.setxattr(f"d/{name}", "user.xdg.tags", f"y,in{n}/{name},{n}".encode())
                        there(f"in{n}/{name}/{name}")
                        there(f"{n}/{name}")
                        os.removexattr(f"d/{name}", "user.xdg.tags")
                        there(f"y/{name}", False)
                        assert f"{n}" not in os.listdir(".tags")
                        # On a mount of one user the kernel keeps the name of a folder for a moment.
                        time.sleep(0.03)
                        there(f"{n}", False)
                    assert len(os.listdir(".tags/x")) == \(Self.count - 59) and os.listdir(".tags/y") == []
                    """)
                #expect(try mount.shell("quire tag undo | grep -o '[0-9]*'; ls .tags/x | wc -l") == "59\n\(Self.count)")
            }
        }

        /// The kernel moves the folder that it has to the new name, and goes by that for a moment.
        @Test(arguments: Account.allCases)
        func aRenamedTagIsWhatItsNameSaysAtOnce(account: Account) throws {
            try withMount(account, prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import os
                    os.mkdir(".tags/x/inner"); os.symlink("../../../d/doc001", ".tags/x/inner/doc001")
                    names = "x y".split()
                    for n in range(60):
                        old, new = names[n % 2], names[(n + 1) % 2]
                        os.stat(f".tags/{old}/inner"); os.stat(f".tags/{old}")
                        os.rename(f".tags/{old}", f".tags/{new}")
                        if n % 3 == 0: assert len(os.listdir(f".tags/{new}")) == \(Self.count + 1), n
                        if n % 3 == 1: assert os.listdir(f".tags/{new}/inner") == ["doc001"], n
                        assert os.path.lexists(f".tags/{new}/doc002") and not os.path.lexists(f".tags/{old}/doc002")
                        if n % 5 == 0:
                            os.mkdir(f".tags/{old}"); assert os.listdir(f".tags/{old}") == []; os.rmdir(f".tags/{old}")
                    """)
            }
        }

        /// `ls -l` asks the daemon nothing more of what it has listed; the names hold for a moment only.
        @Test func whatTheKernelKeepsOfAListIsGoneInAMoment() throws {
            try withMount(.user, prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("""
                    ls -l .tags/x >/dev/null; setfattr -x user.xdg.tags d/doc007; ls .tags/x >list
                    [ $(wc -l <list) = \(Self.count - 1) ]
                    while test -L .tags/x/doc007; do sleep 0.01; done
                    before=$(stat -c %y .tags); sleep 0.05; mkdir .tags/new; sleep 0.05; [ "$(stat -c %y .tags)" != "$before" ]
                    """)
            }
        }

        @Test(arguments: Account.allCases)
        func linksHaveNoSecurityLabels(account: Account) throws {
            try withMount(account, prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                let printed = try mount.python("""
                    import errno, os
                    for path in ".tags/x/doc001", "d/doc001":
                        try: os.getxattr(path, "security.selinux", follow_symlinks=False)
                        except OSError as error: print(errno.errorcode[error.errno])
                    """)
                #expect(printed == "ENOTSUP\nENODATA")
            }
        }

        /// The kernel has one inode of a folder for all users.
        @Test func aFoldersTimeTellsNobodyWhatOthersDid() throws {
            try withMount(prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                let look = "stat -c %y .tags .tags/x .recents .favorites"
                let before = try mount.shell(look, as: Account.bob)
                try mount.shell("mkdir .tags/own; cat d/doc001 >/dev/null; ln -s ../d/doc002 .favorites/", as: Account.alice)
                #expect(try mount.shell(look, as: Account.alice) == before)
                #expect(try mount.shell(look, as: Account.bob) == before)
                #expect(try Set(before.split(separator: "\n")).count == 1)
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
