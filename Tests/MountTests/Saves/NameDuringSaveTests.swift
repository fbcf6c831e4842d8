import TestSupport
import Testing

extension MountTests {
    /// What happens to the document's name while a save is open (rules 7, 12 and 13).
    @Suite(.sharedMounts)
    struct NameDuringSaveTests {
        /// What happens between a save's write and its close, and what is there after each.
        struct Case: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let deed: String
            let after: String
            init(_ description: String, _ deed: String, _ after: String) {
                (testDescription, self.deed, self.after) = (description, deed, after)
            }
        }
        static let cases = [
            Case("moved by another", "other 'mv d/doc d/moved'", "d/moved: new"),
            Case("moved away by another", "other 'mv d/doc moved'", "moved: new"),
            Case("its folder moved by another", "other 'mv d e'", "e/doc: new"),
            Case("moved twice by another", "other 'mv d e; mv e/doc f; mv f e/f'", "e/f: new"),
            Case("moved by its saver", "mv d/doc d/moved", "d/moved: new"),
            Case("its folder moved by its saver", "mv d e", "e/doc: new"),
            Case("moved away and back by another", "other 'mv d/doc x; mv x d/doc'", "d/doc: new"),
            Case("removed by another", "other 'rm d/doc'", ""),
            Case("removed by its saver", "rm d/doc", ""),
            Case("removed with its folder", "other 'rm -r d'", ""),
            Case("replaced by another", "other 'echo x >x; mv x d/doc'", "d/doc: x"),
            Case("replaced by its saver", "echo x >x; mv x d/doc", "d/doc: x"),
            Case("removed and made anew by another", "other 'rm d/doc; echo x >d/doc'", "d/doc: x"),
            Case("exchanged by another", "echo x >x; other 'exchange x d/doc'", "d/doc: x\nx: new"),
            Case("linked by another", "other 'ln d/doc link'", "d/doc: new\nlink: new"),
            Case("linked by its saver", "ln d/doc link", "d/doc: new\nlink: new"),
            Case("linked and removed by another", "other 'ln d/doc link; rm d/doc'", "link: new"),
            Case("moved over another by its saver", "echo x >x; mv d/doc x", "x: new"),
            Case("moved over another by another", "echo x >x; other 'mv d/doc x'", "x: new"),
        ]

        @Test(arguments: SaveMount.accounts, cases)
        func theDocumentIsWhereItShouldBe(kind: SaveMount, theCase: Case) throws {
            try withSharedMount(kind, prepare: "mkdir d; echo old >d/doc") { (mount: Mount) throws in
                let exchange = """
                    other 'exchange() { python3 -c "import ctypes, sys; libc = ctypes.CDLL(None)
                    sys.exit(libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2))" "$@"; }'

                    """
                #expect(try mount.shell(Unrelated.shell + exchange + """
                    exec 3>d/doc; echo new >&3; \(theCase.deed); exec 3>&-
                    find . -name '.[rst]*' -prune -o -type f -print | sort | while read -r file
                    do echo "${file#./}: $(cat $file)"; done
                    """) == theCase.after)
                // The store has the same, and each name shows it to all.
                #expect(try mount.shell("""
                    find . -type f | sort | while read -r file; do echo "${file#./}: $(cat $file)"; done
                    """, in: mount.store) == theCase.after)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aLinkMadeDuringASaveIsOfTheSameInode(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc; echo old >doc3") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>doc; echo new >&3; other 'ln doc doc2; cat doc2'; exec 3>&-
                    test doc -ef doc2; stat -c %h doc; cat doc2; echo more >>doc2; cat doc
                    exec 3>doc3; echo new >&3; ln doc3 doc4; echo late >&3; exec 3>&-; test doc3 -ef doc4; cat doc4
                    """) == "old\n2\nnew\nnew\nmore\nnew\nlate")
            }
        }

        /// Who walks the tree meanwhile finds as many names as each file says that it has.
        @Test(arguments: SaveMount.accounts)
        func aSaverSeesTheLinksThatOthersMake(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>doc; echo new >&3; stat -c '%h %s' doc; other 'ln doc doc2'
                    test doc -ef doc2; stat -c '%h %s' doc doc2; stat -L -c '%h %s' /proc/self/fd/3; other 'stat -c "%h %s" doc'
                    other 'rm doc2'; stat -c '%h %s' doc; other 'ln doc doc2'; exec 3>&-; stat -c '%h %s' doc doc2
                    """) == "1 4\n2 4\n2 4\n2 4\n2 4\n1 4\n2 4\n2 4")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aSavedDocumentThatIsRemovedWhileOpenHasNoLinks(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    echo new >doc; exec 3<doc; rm doc; stat -L -c %h /proc/self/fd/3; cat <&3
                    """) == "0\nnew")
            }
        }

        /// GNU patch, old editors and scripts write an existing x.tmp, rename it, and close last.
        @Test(arguments: SaveMount.accounts)
        func renamingBeforeClosingPublishes(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >x; echo older >x.tmp") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>x.tmp; echo new >&3; mv x.tmp x; cat x; other 'cat x'; exec 3>&-; cat x; ls
                    """) == "new\nnew\nnew\nx")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func renamingBeforeAKillHasPublished(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >x; echo older >x.tmp") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, signal
                    if os.fork() == 0:
                        file = os.open("x.tmp", os.O_WRONLY | os.O_TRUNC); os.write(file, b"new\\n"); os.rename("x.tmp", "x")
                        os.kill(os.getpid(), signal.SIGKILL)
                    os.wait(); print(open("x").read(), sorted(n for n in os.listdir(".") if n[0] != "."))
                    """) == "new\n ['x']")
            }
        }

        /// A document in a folder that is removed as soon as it is empty: nothing hidden is in the way.
        /// Only an ordinary user's daemon is held back by it. As on a plain folder the document can still be written.
        @Test(arguments: SaveMount.accounts)
        func aSaveEndsInAFolderThatTakesNoFilesAnyMore(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir d; echo old >d/doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    exec 3>d/doc; echo new >&3; chmod 555 d; exec 3>&-; cat d/doc; chmod 755 d; ls -A d
                    """) == "new\ndoc")
                // A save that has lasted for a moment has a hidden name, which goes when the folder takes changes again.
                #expect(try mount.shell("""
                    exec 3>d/doc; echo newer >&3; eventually '[ -n "$(find "$S/d" -name ".quire-save-*")" ]'
                    chmod 555 d; exec 3>&-; cat d/doc; chmod 755 d; eventually '[ -z "$(find "$S/d" -name ".quire-save-*")" ]'
                    """) == "newer")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aFolderWithASaveInItCanBeRemoved(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir d; echo old >d/doc") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>d/doc; echo new >&3; ls -A d; other 'rm d/doc; rmdir d'; echo more >&3; cat <&3 2>/dev/null || true
                    exec 3>&-; test ! -e d
                    """) == "doc")
            }
        }

        /// What a save waits for is its own: nobody waits in the folder, where the same takes no longer than in another.
        @Test(arguments: SaveMount.accounts)
        func nobodyWaitsInAFolderWithOpenSaves(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir other; for n in $(seq 20); do echo old | tee doc$n >other/doc$n; done") {
                (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    files = [os.open("doc%d" % (n + 1), os.O_WRONLY | os.O_TRUNC) for n in range(20)]
                    for file in files: os.write(file, b"new\\n")
                    def timed(folder):
                        begun = time.monotonic()
                        print(other("cd %s; touch new; ls | wc -l; cat doc1 doc2; rm doc3; mv doc4 moved" % folder))
                        other("echo x >doc5; mkdir d; rmdir d; echo a >>doc6; cd - >/dev/null")
                        return time.monotonic() - begun
                    usual = timed("other")
                    print(timed(".") < 1 + 2 * usual)
                    for file in files: os.close(file)
                    print(other("cat doc1 moved doc5 doc6; ls doc3"))
                    """) == """
                    21
                    old
                    old
                    22
                    old
                    old
                    True
                    new
                    new
                    new
                    new
                    a
                    ls: cannot access 'doc3': No such file or directory
                    """)
            }
        }
    }
}
