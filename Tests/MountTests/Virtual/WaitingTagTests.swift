import TestSupport
import Testing

extension MountTests {
    /// Changes of tags that the index has yet to take: programs that make one change after another do not wait for it.
    @Suite(.sharedMounts) struct WaitingTagTests {
        @Test(arguments: Account.allCases)
        func aTagIsRemovedRightAfterItsLinks(account: Account) throws {
            try withMount(account, prepare: "for n in $(seq 50); do echo $n >doc$n; done") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("quire tag add big doc*; quire tag add big/nested doc1; [ $(ls .tags/big | wc -l) = 51 ]")
                try mount.shell("rm -r .tags/big; [ ! -e .tags/big ]; [ -z \"$(ls .tags)\" ]; mkdir .tags/big; rmdir .tags/big; [ ! -e .tags/big ]")
                #expect(try mount.shell("quire tag undo; ls .tags/big | wc -l; ls .tags/big/nested") == "50 documents have their tags again.\n51\ndoc1")
            }
        }

        @Test func aTagThatOthersGotMeanwhileIsNotRemoved() throws {
            try withMount(.user, prepare: "for n in $(seq 20); do echo $n >doc$n; done; echo x >other") { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import errno, os
                    for tags in (b"big", b"big/nested"):
                        for n in range(1, 21):
                            os.setxattr(f"doc{n}", "user.xdg.tags", b"big")
                        for name in os.listdir(".tags/big"):
                            os.unlink(".tags/big/" + name)
                        os.setxattr("other", "user.xdg.tags", tags)
                        try:
                            os.rmdir(".tags/big")
                            raise SystemExit(f"{tags}: the tag was removed")
                        except OSError as error:
                            assert error.errno == errno.ENOTEMPTY, error
                        os.removexattr("other", "user.xdg.tags")
                        os.rmdir(".tags/big")
                        assert os.listdir(".tags") == [], os.listdir(".tags")
                    """)
            }
        }

        /// One whose document was moved, or lost the tag in another way, meanwhile.
        @Test func aLinkStandsForTheDocumentThatWasListed() throws {
            try withMount(.user, prepare: "mkdir a b; for n in 1 2 3 4; do echo $n >a/doc$n; done; echo x >b/doc1") { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import os
                    for n in range(1, 5):
                        os.setxattr(f"a/doc{n}", "user.xdg.tags", b"keep,big")
                    names = os.listdir(".tags/big")
                    os.unlink(".tags/big/doc4")
                    os.rename("b/doc1", "a/doc1")
                    os.setxattr("a/doc2", "user.xdg.tags", b"keep")
                    os.rename("a/doc3", "b/doc3")
                    for name, is_there in (("doc1", False), ("doc2", False), ("doc3", True)):
                        try:
                            os.unlink(".tags/big/" + name)
                            assert is_there, name
                        except FileNotFoundError:
                            assert not is_there, name
                    assert os.getxattr("b/doc3", "user.xdg.tags") == b"keep"
                    assert "user.xdg.tags" not in os.listxattr("a/doc1") or b"big" not in os.getxattr("a/doc1", "user.xdg.tags")
                    """)
            }
        }

        /// A name of a list stands for what the list showed, whatever link had the name before.
        @Test func aListGoesBeforeLinksThatWereMade() throws {
            try withMount(.user, prepare: "mkdir a b; for n in 1 2 3; do echo $n >a/doc$n; echo $n >b/doc$n; done") { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import os
                    def tags(path): return os.getxattr(path, "user.xdg.tags").decode() if "user.xdg.tags" in os.listxattr(path) else ""
                    os.mkdir(".tags/eq")
                    os.symlink("../../b/doc1", ".tags/eq/doc1")
                    os.setxattr("a/doc1", "user.xdg.tags", b"eq")
                    links = {name: os.readlink(".tags/eq/" + name) for name in os.listdir(".tags/eq")}
                    assert links["doc1"] == "../../a/doc1", links
                    os.setxattr("a/doc2", "user.xdg.tags", b"unrelated")
                    os.unlink(".tags/eq/doc1")
                    assert tags("a/doc1") == "" and tags("b/doc1") == "eq", (tags("a/doc1"), tags("b/doc1"))
                    """)
            }
        }

        /// With all that the index had yet to take.
        @Test func aTagThatWasRemovedIsGoneThoughTheDaemonIsKilled() throws {
            try withMount(.user, prepare: "for n in $(seq 300); do echo $n >doc$n; done") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("quire tag add big doc*; ls .tags/big | wc -l; for n in $(seq 20); do rm .tags/big/doc$n; done; sleep 1; rm -r .tags/big; kill -9 \(mount.daemon ?? -1)")
                try mount.mount()
                try mount.scanned()
                #expect(try mount.names(in: ".tags") == [])
            }
        }

        @Test(arguments: Account.allCases)
        func aLinkJustMadeIsThere(account: Account) throws {
            try withMount(account, prepare: "mkdir d; for n in $(seq 50); do echo $n >d/doc$n; done") { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import errno, os
                    os.mkdir(".tags/new")
                    for n in range(1, 51):
                        link = f".tags/new/doc{n}"
                        os.symlink(f"../../d/doc{n}", link)
                        assert os.path.samefile(link, f"d/doc{n}")
                        os.unlink(link)
                        assert not os.path.lexists(link) and os.listxattr(f"d/doc{n}") == [], n
                        os.symlink(f"../../d/doc{n}", link)
                    try:
                        os.rename(".tags/new/doc50", ".tags/new/another")
                        raise SystemExit("the link has another name")
                    except PermissionError:
                        pass
                    assert len(os.listdir(".tags/new")) == 50
                    """)
            }
        }
    }
}
