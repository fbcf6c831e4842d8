import TestSupport
import Testing

extension MountTests {
    /// Tags that only another user's documents have, or that only another keeps: as if they were not there.
    struct HiddenTagTests {
        private static let (alice, bob) = (Account.alice, Account.bob)
        /// What is alice's is tagged `secret`, `secret/inner` and `ours`; what is bob's, `ours` and `own`.
        private static let store = """
            chmod 755 .; mkdir alice bob; echo a >alice/private; echo i >alice/inner; echo b >bob/private; echo o >bob/other
            chown -R \(alice):\(alice) alice; chown -R \(bob):\(bob) bob; chmod 700 alice bob
            setfattr -n user.xdg.tags -v secret,ours alice/private; setfattr -n user.xdg.tags -v secret/inner alice/inner
            setfattr -n user.xdg.tags -v ours bob/private; setfattr -n user.xdg.tags -v own,ours bob/other
            """

        private func withUsers(_ body: (Mount) throws -> Void) throws {
            try withMount(prepare: Self.store) { mount in
                try mount.scanned()
                try body(mount)
                #expect(try mount.tags(of: "alice/private") == "secret,ours")
                #expect(try mount.tags(of: "alice/inner") == "secret/inner")
                #expect(try mount.names(in: ".tags/secret", as: Self.alice) == ["inner", "private"])
            }
        }

        @Test func itCannotBeRenamed() throws {
            try withUsers { (mount: Mount) throws in
                for name in ["secret", "never"] {
                    try mount.refuses("mv -T .tags/\(name) .tags/known", "No such file or directory", as: Self.bob)
                    try mount.refuses("quire tag rename \(name) known --in .", "there is no tag \(name)\n", as: Self.bob)
                    try mount.refuses("quire tag rename \(name) own --in .", "there is no tag \(name)\n", as: Self.bob)
                    try mount.refuses("rmdir .tags/\(name)", "No such file or directory", as: Self.bob)
                    try mount.refuses("ls .tags/own+\(name)", "No such file or directory", as: Self.bob)
                    try mount.refuses("stat .tags/\(name)/inner", "No such file or directory", as: Self.bob)
                }
            }
        }

        @Test func itCanBeMadeAgainKeptAndRemoved() throws {
            try withUsers { (mount: Mount) throws in
                try mount.shell("mkdir .tags/secret", as: Self.bob)
                #expect(try mount.names(in: ".tags", as: Self.bob) == ["ours", "own", "secret"])
                #expect(try mount.names(in: ".tags/secret", as: Self.bob) == [])
                #expect(try mount.shell("cd /; quire tag list --in \"$M\"", as: Self.bob) == "2  ours\n1  own\n0  secret")
                try mount.refuses("mkdir .tags/secret", "File exists", as: Self.bob)
                try mount.shell("mkdir .tags/secret/inner; rmdir .tags/secret/inner .tags/secret", as: Self.bob)
                #expect(try mount.names(in: ".tags", as: Self.bob) == ["ours", "own"])
                try mount.refuses("rmdir .tags/secret", "Directory not empty", as: Self.alice)
            }
        }

        @Test func itIsNoObstacleToARename() throws {
            try withUsers { (mount: Mount) throws in
                try mount.shell("mv -T .tags/own .tags/secret", as: Self.bob)
                #expect(try mount.tags(of: "bob/other") == "secret,ours")
                #expect(try mount.names(in: ".tags/secret", as: Self.bob) == ["other"])
                try mount.shell("quire tag rename secret own --in .", as: Self.bob)
                #expect(try mount.tags(of: "bob/other") == "own,ours")
            }
        }

        @Test func onlyWhatIsAccessibleIsRenamed() throws {
            try withUsers { (mount: Mount) throws in
                try mount.shell("quire tag rename ours mine --in .", as: Self.bob)
                #expect(try mount.tags(of: "bob/private") == "mine")
                #expect(try mount.tags(of: "bob/other") == "own,mine")
                #expect(try mount.names(in: ".tags", as: Self.bob) == ["mine", "own"])
                #expect(try mount.names(in: ".tags/ours", as: Self.alice) == ["private"])
                try mount.shell("chmod 711 bob; chmod 644 bob/private")
                try mount.refuses("quire tag rename mine yours --in .", "not every document", as: Self.alice)
                #expect(try mount.tags(of: "bob/private") == "mine")
            }
        }

        @Test func anEmptyTagIsItsCreatorsAlone() throws {
            try withUsers { (mount: Mount) throws in
                try mount.shell("mkdir -p .tags/plans/late", as: Self.alice)
                #expect(try mount.names(in: ".tags", as: Self.bob) == ["ours", "own"])
                try mount.refuses("mv .tags/plans .tags/other", "No such file or directory", as: Self.bob)
                try mount.refuses("quire tag rename plans other --in .", "there is no tag plans\n", as: Self.bob)
                try mount.shell("mkdir .tags/plans; mv .tags/plans .tags/other", as: Self.bob)
                #expect(try mount.names(in: ".tags", as: Self.bob) == ["other", "ours", "own"])
                #expect(try mount.names(in: ".tags/plans", as: Self.alice) == ["late"])
                try mount.shell("mkdir .tags/plans; rmdir .tags/plans", as: Self.bob)
                try mount.refuses("rmdir .tags/plans", "Directory not empty", as: Self.alice)
                #expect(try mount.names(in: ".tags") == ["other", "ours", "own", "plans", "secret"])
                try mount.shell("rmdir .tags/plans/late .tags/plans")
                #expect(try mount.names(in: ".tags", as: Self.alice) == ["ours", "secret"])
            }
        }

        @Test func aKeptTagStaysWhenOthersUseIt() throws {
            try withUsers { (mount: Mount) throws in
                try mount.shell("mkdir .tags/later", as: Self.bob)
                try mount.shell("quire tag add later alice/inner", as: Self.alice)
                #expect(try mount.names(in: ".tags", as: Self.bob) == ["later", "ours", "own"])
                try mount.shell("quire tag remove later alice/inner; mkdir .tags/later", as: Self.alice)
                try mount.shell("rmdir .tags/later", as: Self.alice)
                #expect(try mount.names(in: ".tags/later", as: Self.bob) == [])
            }
        }

        @Test func aNamesakeWithoutAccessTakesNoNumber() throws {
            try withUsers { (mount: Mount) throws in
                #expect(try mount.names(in: ".tags/ours", as: Self.bob) == ["other", "private"])
                try mount.refuses("stat '.tags/ours/private (2)'", "No such file or directory", as: Self.bob)
                #expect(try mount.shell("readlink .tags/ours/private", as: Self.bob) == "../../bob/private")
                #expect(try mount.shell("readlink .tags/ours/private '.tags/ours/private (2)'")
                    == "../../alice/private\n../../bob/private")
            }
        }

        @Test func whatIsDoneToItShowsInNoFoldersAttributes() throws {
            try withUsers { (mount: Mount) throws in
                let facts = "sleep 0.02; stat -c '%n %h %s %Y %y %z' .tags .tags/ours .recents"
                let before = try mount.shell(facts, as: Self.bob)
                try mount.shell(
                    "mkdir .tags/more; ln alice/inner .tags/more/; rm .tags/more/inner; rmdir .tags/more", as: Self.alice)
                #expect(try mount.shell(facts, as: Self.bob) == before)
            }
        }

        @Test func aRefusedRemovalKeepsNoTag() throws {
            try withUsers { (mount: Mount) throws in
                try mount.shell("chmod 755 alice; chmod 644 alice/private")
                try mount.refuses("rm -f .tags/secret/private", "Permission denied", as: Self.bob)
                try mount.shell("chmod 700 alice")
                #expect(try mount.names(in: ".tags", as: Self.bob) == ["ours", "own"])
            }
        }

        @Test func undoIsForWhoRemoved() throws {
            try withUsers { (mount: Mount) throws in
                try mount.shell("rm .tags/secret/private", as: Self.alice)
                try mount.refuses("quire tag undo --in .", "there is no removal of tags to undo", as: Self.bob)
                try mount.shell("rm .tags/own/other; rmdir .tags/own", as: Self.bob)
                try mount.shell("chown \(Self.alice) bob/other; chmod 600 bob/other")
                #expect(try mount.shell("quire tag undo --in .", as: Self.bob) == "0 documents have their tags again.")
                #expect(try mount.tags(of: "bob/other") == "ours")
                try mount.shell("quire tag undo --in .; setfattr -n user.xdg.tags -v secret,ours alice/private", as: Self.alice)
            }
        }
    }
}
