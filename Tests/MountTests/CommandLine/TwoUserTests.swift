import TestSupport
import Testing

extension MountTests {
    /// A system mount, used by two people.
    struct TwoUserTests {
        private static let (alice, bob) = (Account.alice, Account.bob)
        private static let store = """
            chmod 755 .; mkdir alice bob shared; echo a >alice/private; echo b >bob/private; echo s >shared/both
            echo r >shared/rootonly; chmod 600 shared/rootonly
            chown -R \(alice):\(alice) alice; chown -R \(bob):\(bob) bob; chmod 700 alice bob; chmod 1777 shared; chmod 666 shared/both
            setfattr -n user.xdg.tags -v secret alice/private; setfattr -n user.xdg.tags -v open,ours shared/both
            setfattr -n user.xdg.tags -v ours bob/private; setfattr -n user.xdg.tags -v admin shared/rootonly
            """

        private func withUsers(_ body: (Mount) throws -> Void) throws {
            try withMount(prepare: Self.store) { mount in
                try mount.scanned()
                try body(mount)
            }
        }

        @Test func tagsShowWhatEachMayAccess() throws {
            try withUsers { mount in
                #expect(try mount.names(in: ".tags", as: Self.alice) == ["open", "ours", "secret"])
                #expect(try mount.names(in: ".tags", as: Self.bob) == ["open", "ours"])
                #expect(try mount.names(in: ".tags") == ["admin", "open", "ours", "secret"])
                #expect(try mount.names(in: ".tags/ours", as: Self.alice) == ["both"])
                #expect(try mount.names(in: ".tags/ours", as: Self.bob) == ["private", "both"])
                try mount.refuses("ls .tags/secret", "No such file or directory", as: Self.bob)
                try mount.refuses("cat .tags/admin/rootonly", "No such file or directory", as: Self.bob)
                try mount.refuses("cat .tags/secret/private", "No such file or directory", as: Self.bob)
                #expect(try mount.shell("cat .tags/secret/private", as: Self.alice) == "a")
            }
        }

        @Test func theCommandsShowWhatEachMayAccess() throws {
            try withUsers { (mount: Mount) throws in
                #expect(try mount.shell("cd /; quire tag list \"$M\"", as: Self.bob) == "1  open\n2  ours")
                #expect(try mount.shell("cd /; quire tag list \"$M\"", as: Self.alice) == "1  open\n1  ours\n1  secret")
            }
        }

        @Test func recentsAreEachUsersOwn() throws {
            try withUsers { mount in
                try mount.shell("echo >>alice/private; sleep 0.02; echo >>shared/both", as: Self.alice)
                try mount.shell("cat bob/private >/dev/null", as: Self.bob)
                try mount.expectNames(["both", "private"], in: ".recents", as: Self.alice)
                try mount.expectNames(["private"], in: ".recents", as: Self.bob)
                try mount.expectNames([], in: ".recents")
                #expect(try mount.shell("readlink .recents/private", as: Self.bob) == "../bob/private")
                try mount.shell("rm .recents/private", as: Self.bob)
                try mount.expectNames(["both", "private"], in: ".recents", as: Self.alice)
                #expect(try mount.shell("quire recents --json | grep -c '\"path\"'", as: Self.alice) == "2")
                #expect(try mount.shell("quire recents", as: Self.bob) == "")
            }
        }

        @Test func whatIsTakenAwayLeavesTheLists() throws {
            try withUsers { mount in
                try mount.shell("cat shared/both >/dev/null", as: Self.bob)
                try mount.expectNames(["both"], in: ".recents", as: Self.bob)
                try mount.shell("chmod 600 shared/both")
                try mount.expectNames([], in: ".recents", as: Self.bob)
                try mount.expectNames(["private"], in: ".tags/ours", as: Self.bob)
            }
        }

        @Test func tagsOfOthersDocumentsCannotBeChanged() throws {
            try withUsers { mount in
                try mount.shell("chmod 644 shared/both")
                try mount.refuses("rm .tags/open/both", "", as: Self.bob)
                try mount.refuses("mkdir .tags/new; ln -s ../../shared/both .tags/new/", "", as: Self.bob)
                try mount.refuses("quire tag rename ours theirs --in .", "not every document", as: Self.bob)
                try mount.refuses("quire tag rename secret known --in .", "", as: Self.bob)
                #expect(try mount.tags(of: "shared/both") == "open,ours")
                #expect(try mount.tags(of: "bob/private") == "ours")
                #expect(try mount.tags(of: "alice/private") == "secret")
            }
        }

        @Test func aBulkRemovalTakesOnlyOnesOwnAndIsUndoneByWhoDidIt() throws {
            try withUsers { mount in
                _ = try mount.attempt("rm -rf .tags", as: Self.bob)
                #expect(try mount.tags(of: "alice/private") == "secret")
                #expect(try mount.tags(of: "bob/private") == "")
                #expect(try mount.attempt("quire tag undo --in .", as: Self.alice).status == 1)
                try mount.shell("quire tag undo --in .", as: Self.bob)
                #expect(try mount.tags(of: "bob/private") == "ours")
                #expect(try mount.tags(of: "shared/both").split(separator: ",").sorted() == ["open", "ours"])
            }
        }

        @Test func filesBelongToWhoMakesThem() throws {
            try withUsers { mount in
                try mount.shell("umask 027; echo x >shared/new; mkdir shared/folder; ln -s new shared/link", as: Self.alice)
                #expect(try mount.shell("stat -c '%u %g %a' shared/new shared/folder", in: mount.store)
                    == "\(Self.alice) \(Self.alice) 640\n\(Self.alice) \(Self.alice) 750")
                try mount.refuses("rm -f shared/new", "not permitted", as: Self.bob)
                try mount.refuses("cat alice/private", "Permission denied", as: Self.bob)
            }
        }
    }
}
