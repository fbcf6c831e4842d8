import TestSupport
import Testing

extension MountTests {
    /// What a user's supplementary groups may read is accessible, whichever way they ask.
    struct GroupAccessTests {
        private static let alice = Account.alice
        private static let team = 61_009
        private static let store = """
            chmod 755 .; echo t >plan; chgrp \(team) plan; chmod 640 plan; setfattr -n user.xdg.tags -v team plan
            echo r >ledger; chmod 640 ledger; setfattr -n user.xdg.tags -v admin ledger
            """

        private func withTeam(_ body: (Mount) throws -> Void) throws {
            try withMount(prepare: Self.store) { mount in
                try mount.scanned()
                try body(mount)
            }
        }

        /// Runs a command of alice's with these further groups.
        private func asAlice(_ command: String, groups: String) -> String {
            let groups = groups.isEmpty ? "--clear-groups" : "--groups=\(groups)"
            return "setpriv --reuid=\(Self.alice) --regid=\(Self.alice) \(groups) -- \(command)"
        }

        @Test func whatAGroupMayReadIsShownToItsMembers() throws {
            try withTeam { (mount: Mount) throws in
                #expect(try mount.shell(asAlice("ls .tags", groups: "")) == "")
                #expect(try mount.shell(asAlice("ls .tags", groups: "\(Self.team)")) == "team")
                #expect(try mount.shell(asAlice("cat .tags/team/plan", groups: "7,\(Self.team)")) == "t")
                #expect(try mount.shell(asAlice("ls .tags", groups: "")) == "")
                #expect(try mount.attempt(asAlice("cat .tags/team/plan", groups: "")).status == 1)
            }
        }

        @Test func theServiceKnowsAPeersGroups() throws {
            try withTeam { (mount: Mount) throws in
                #expect(try mount.shell(asAlice("quire tag list --in .", groups: "\(Self.team)")) == "1  team")
                #expect(try mount.shell(asAlice("quire tag list --in .", groups: "7")) == "")
            }
        }

        /// More than 8 KiB of groups in /proc/PID/status, the one that counts last.
        @Test func thousandsOfGroupsAreReadToTheEnd() throws {
            try withTeam { (mount: Mount) throws in
                let groups = "$(seq -s, 50000 53000),\(Self.team)"
                #expect(try mount.shell(asAlice("ls .tags", groups: groups)) == "team")
                #expect(try mount.shell(asAlice("quire tag list --in .", groups: groups)) == "1  team")
            }
        }

        /// The credentials are those of who connected, not of whoever has the number now.
        @Test func aPeersGroupsOutliveItsProcess() throws {
            try withTeam { (mount: Mount) throws in
                let tags = try mount.python("""
                    import json, os, socket, sys
                    connection = socket.socket(socket.AF_UNIX)
                    path = os.getxattr(".", "user.quire.socket")
                    if os.fork() == 0:
                        os.setgroups([\(Self.team)]); os.setresgid(*[\(Self.alice)] * 3); os.setresuid(*[\(Self.alice)] * 3)
                        connection.connect(path)
                        os._exit(0)
                    os.wait()
                    connection.sendall(json.dumps({"method": "org.quire.Mount.ListTags"}).encode() + b"\\0")
                    reply = b""
                    while not reply.endswith(b"\\0"): reply += connection.recv(4096)
                    print([tag["name"] for tag in json.loads(reply[:-1])["parameters"]["tags"]])
                    """)
                #expect(tags == "['team']")
            }
        }

        /// An ordinary user's daemon cannot ask as others what they may access.
        @Test func anOrdinaryUsersMountShowsOthersNothing() throws {
            let mount = try Mount(.user)
            defer { mount.end() }
            let uid = try #require(Account.user.uid)
            try mount.shell(
                "echo open >open; setfattr -n user.xdg.tags -v t open; echo user_allow_other >\"$T/fuse.conf\"", in: mount.store)
            // In a namespace of its own: fusermount3 wants the line in /etc/fuse.conf.
            let shown = try mount.shell("""
                unshare --mount bash -c '. "$PRELUDE"
                    owner="setpriv --reuid=\(uid) --regid=\(uid) --clear-groups --"
                    alice="setpriv --reuid=\(Self.alice) --regid=\(Self.alice) --clear-groups --"
                    mount --bind "$T/fuse.conf" /etc/fuse.conf
                    $owner quire mount "$S" "$M" -o allow_other
                    cd "$M"
                    eventually [ -d .tags/t ]
                    echo owner $($owner ls .tags), root $(ls .tags), alice $($alice ls .tags; $alice cat open)
                    $alice mkdir .tags/mine
                    $alice ln open .tags/mine/ 2>/dev/null || echo refused
                    $alice ln -s ../../open .tags/mine/ 2>/dev/null || echo refused
                    getfattr --only-values -n user.xdg.tags open; echo
                    cd /; $owner quire unmount "$M"'
                """, in: "/", as: 0)
            #expect(shown == "owner t, root t, alice open\nrefused\nrefused\nt")
        }

        /// A daemon that cannot take a user's groups shows that user nothing, rather than what its own group may read.
        @Test(arguments: ["setgid", "setuid"])
        func whoCannotBecomeTheCallerShowsNothing(capability: String) throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            try mount.shell(Self.store, in: mount.store)
            try mount.shell("setpriv --bounding-set=-\(capability) quire mount \"$S\" \"$M\" -o allow_other", in: mount.store)
            try mount.noteDaemon()
            try mount.scanned()
            #expect(try mount.names(in: ".tags") == ["admin", "team"])
            #expect(try mount.shell(asAlice("ls .tags", groups: "\(Self.team)")) == "")
            #expect(try mount.shell(asAlice("quire tag list --in .", groups: "\(Self.team)")) == "")
            #expect(try mount.attempt(asAlice("cat .tags/admin/ledger", groups: "")).status == 1)
        }
    }
}
