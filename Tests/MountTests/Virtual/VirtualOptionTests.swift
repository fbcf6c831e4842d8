import TestSupport
import Testing

extension MountTests {
    /// `-o virtual=`: the folders shown, reached by name only, or not there.
    struct VirtualOptionTests {
        @Test func listedFoldersAreShown() throws {
            try withMount(prepare: "echo text >doc") { (mount: Mount) throws in
                #expect(try mount.shell("ls -A | sort") == ".favorites\n.recents\n.search\n.tags\n.thumbnails\ndoc")
                #expect(try mount.shell("find . -maxdepth 1 -type d | sort") == ".\n./.favorites\n./.recents\n./.search\n./.tags\n./.thumbnails")
                #expect(try mount.shell("ls -A", in: mount.store) == "doc")
            }
        }

        @Test func hiddenFoldersAreReachedByName() throws {
            try withMount(.root, ["virtual=hidden"], prepare: "echo text >doc") { mount in
                #expect(try mount.shell("ls -A") == "doc")
                try mount.shell("mkdir .tags/tag; ln doc .tags/tag/")
                #expect(try mount.tags(of: "doc") == "tag")
                try mount.expectNames(["doc"], in: ".tags/tag")
            }
        }

        @Test func foldersThatAreOffAreNotThere() throws {
            try withMount(.root, ["virtual=off"], prepare: "mkdir .tags; echo mine >.tags/file") { mount in
                #expect(try mount.shell("ls -A; cat .tags/file") == ".tags\nmine")
                try mount.refuses("ls .recents", "No such file or directory")
                try mount.shell("mkdir .favorites .recents .search; rmdir .favorites .recents .search; rm -r .tags")
                #expect(try mount.shell("ls -A", in: mount.store) == "")
            }
        }

        @Test func toolsThatWalkTheMountMeetNoDocumentTwice() throws {
            try withMount(prepare: "mkdir d; echo text >d/doc; setfattr -n user.xdg.tags -v tag d/doc") { mount in
                try mount.scanned()
                #expect(try mount.shell("find . -type f -not -name CACHEDIR.TAG; grep -rl text .") == "./d/doc\n./d/doc")
                #expect(try mount.shell("find . -type l") == "./.tags/tag/doc")
            }
        }
    }
}
