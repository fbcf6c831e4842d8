import Glibc
import TestSupport
import Testing

extension MountTests {
    /// `.recents`: the documents a person used last.
    struct RecentsTests {
        private static let documents = "mkdir d; for n in a b c d/inner; do echo $n >$n; done"

        @Test(arguments: Account.allCases)
        func writtenDocumentsAreListedNewestFirst(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                #expect(try mount.names(in: ".recents") == [])
                try mount.shell("for n in b a d/inner c; do echo more >>$n; sleep 0.02; done")
                try mount.expectNames(["c", "inner", "a", "b"], in: ".recents")
                #expect(try mount.shell("readlink .recents/inner; cat .recents/inner") == "../d/inner\nd/inner\nmore")
                try mount.shell("echo again >>b")
                try mount.expectNames(["b", "c", "inner", "a"], in: ".recents")
            }
        }

        @Test(arguments: Account.allCases)
        func documentsReadByAPersonAreListed(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("cat a; sleep 0.1; cat d/inner")
                try mount.expectNames(["inner", "a"], in: ".recents")
            }
        }

        /// A document open for writing is a use too, though its closing comes too late.
        @Test(arguments: Account.allCases, [false, true])
        func whatIsUsedJustBeforeTheEndIsListedAfterwards(account: Account, bySignal: Bool) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("cat a; sleep 0.05; echo more >>b")
                let end = bySignal ? "kill \(try #require(mount.daemon))" : "quire unmount \"$M\""
                if bySignal {
                    try mount.shell("sleep 0.05; exec 9>>c; echo more >&9; \(end); sleep 1.5")
                } else {
                    try mount.shell(end, in: "/")
                }
                try mount.mount()
                try mount.scanned()
                #expect(try mount.names(in: ".recents") == (bySignal ? ["c", "b", "a"] : ["b", "a"]))
            }
        }

        @Test func aLinksTimeIsWhenTheDocumentWasUsed() throws {
            try withMount(prepare: Self.documents + "; touch -d 2001-01-01 a") { mount in
                let before = time(nil)
                try mount.shell("cat a")
                try mount.expectNames(["a"], in: ".recents")
                let used = try #require(Int(try mount.shell("stat -c %Y .recents/a")))
                #expect((before...time(nil)).contains(used))
                #expect(try mount.shell("stat -L -c %y .recents/a").hasPrefix("2001-01-01 00:00:00"))
            }
        }

        @Test(arguments: Account.allCases)
        func rmForgetsAndKeepsTheDocument(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                // Looked at, not read: that would be a use, which shows after a moment.
                try mount.shell("echo 1 >>a; sleep 0.02; echo 2 >>b; rm .recents/a; [ -s a ]")
                try mount.expectNames(["b"], in: ".recents")
                #expect(try mount.quire("recents", "forget", mount.path + "/b").status == 0)
                #expect(try mount.names(in: ".recents") == [])
                #expect(try mount.shell("ls") == "a\nb\nc\nd")
            }
        }

        @Test func equalNamesAreNumberedAndGoneDocumentsLeave() throws {
            try withMount(prepare: "mkdir x y; echo 1 >x/note; echo 2 >y/note") { mount in
                try mount.shell("echo >>x/note; sleep 0.02; echo >>y/note")
                try mount.expectNames(["note", "note (2)"], in: ".recents")
                try mount.shell("rm y/note")
                try mount.expectNames(["note"], in: ".recents")
                #expect(try mount.shell("readlink .recents/note") == "../x/note")
            }
        }

        @Test(arguments: Account.allCases)
        func renamesInTheMountAreFollowed(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.shell("echo 1 >>a; sleep 0.02; echo 2 >>d/inner; mv a d/moved; mv d e; mv e/inner e/other")
                try mount.expectNames(["other", "moved"], in: ".recents")
                #expect(try mount.shell("readlink .recents/*") == "../e/moved\n../e/other")
            }
        }

        @Test(arguments: Account.allCases)
        func renamesOutsideTheMountAreFollowed(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.scanned()
                try mount.shell("echo 1 >>a; sleep 0.02; echo 2 >>d/inner")
                try mount.expectNames(["inner", "a"], in: ".recents")
                try mount.shell("mv a moved; mv d e; mv e/inner other", in: mount.store)
                try mount.expectNames(["other", "moved"], in: ".recents")
            }
        }

        @Test(arguments: Account.allCases)
        func movesMadeWhileNotMountedAreFollowed(account: Account) throws {
            try withMount(account, prepare: Self.documents) { mount in
                try mount.scanned()
                try mount.shell("echo 1 >>a; sleep 0.02; echo 2 >>d/inner")
                try mount.expectNames(["inner", "a"], in: ".recents")
                try mount.unmount()
                try mount.shell("mkdir new; mv a new/moved; echo edited >>new/moved; mv d e", in: mount.store)
                try mount.mount()
                try mount.scanned()
                try mount.expectNames(["inner", "moved"], in: ".recents")
                #expect(try mount.shell("readlink .recents/*") == "../e/inner\n../new/moved")
            }
        }

        @Test func recentsOutliveAKilledDaemon() throws {
            try withMount(prepare: Self.documents) { mount in
                try mount.shell("echo 1 >>a; sleep 0.02; echo 2 >>b")
                try mount.expectNames(["b", "a"], in: ".recents")
                usleep(500_000)
                kill(try #require(mount.daemon), SIGKILL)
                eventually { mount.daemon.map(Mount.hasEnded) ?? true }
                try mount.mount()
                try mount.expectNames(["b", "a"], in: ".recents")
            }
        }

        @Test func theCommandListsTheSame() throws {
            try withMount(prepare: Self.documents) { mount in
                try mount.shell("echo 1 >>a; sleep 0.02; echo 2 >>b")
                try mount.expectNames(["b", "a"], in: ".recents")
                let lines = try mount.shell("quire recents").split(separator: "\n")
                #expect(lines.map { $0.split(separator: " ").last ?? "" } == ["\(mount.path)/b", "\(mount.path)/a"])
                #expect(try mount.shell("quire recents --limit 1 --json | grep -c path") == "1")
            }
        }

        /// With GLib's own reader and writer, as GTK's programs use them.
        @Test(arguments: Account.allCases)
        func theyAreExchangedWithTheDesktops(account: Account) throws {
            try withMount(account, prepare: Self.documents + "; for n in e f g; do echo $n >$n; done") { (mount: Mount) throws in
                try mount.scanned()
                let found = try mount.python(#"""
                    import os, subprocess, time
                    from gi.repository import GLib
                    M, home = os.environ["M"], os.environ["T"] + "/home"
                    list = home + "/data/recently-used.xbel"
                    os.makedirs(home + "/data", mode=0o700)
                    env = dict(os.environ, HOME=home, XDG_DATA_HOME=home + "/data", GSETTINGS_BACKEND="memory")
                    def sync(): subprocess.run(["quire", "recents", "sync"], env=env, check=True, cwd=M)
                    def recents(): return [os.path.basename(line) for line in subprocess.check_output(["quire", "recents"], cwd=M, text=True).splitlines()]
                    def uri(name): return GLib.filename_to_uri(f"{M}/{name}")
                    file, past = GLib.BookmarkFile(), GLib.DateTime.new_now_utc().add_hours(-1)
                    for name in "a", "e", "f", "/etc/passwd", "nothing":
                        file.set_mime_type(uri(name) if name[0] != "/" else "file://" + name, "text/plain")
                        file.add_application(uri(name) if name[0] != "/" else "file://" + name, "gedit", "gedit %u")
                    file.set_visited_date_time(uri("a"), past); file.set_visited_date_time(uri("e"), past.add_minutes(-1))
                    file.set_is_private(uri("f"), True); file.set_title(uri("e"), "A title")
                    file.to_file(list)
                    with open(M + "/b", "a") as document: document.write("used")
                    sync()
                    print(recents())
                    file = GLib.BookmarkFile(); file.load_from_file(list)
                    uris = [one.replace("file://" + M + "/", "") for one in file.get_uris()]
                    print(sorted(uris), file.get_mime_type(uri("b")), file.get_applications(uri("b")), file.get_title(uri("e")), file.get_applications(uri("e")))
                    print(file.get_is_private(uri("f")), file.get_applications(uri("f")))
                    before = os.stat(list).st_mtime_ns
                    sync()
                    print(os.stat(list).st_mtime_ns == before)
                    # Forgotten here, and not told again by what the desktop has not used since.
                    open(list, "w").write("no list"); failed = subprocess.run(["quire", "recents", "sync"], env=env, capture_output=True, text=True, cwd=M)
                    print(failed.returncode, "left as it is" in failed.stderr, open(list).read())
                    """#)
                #expect(found == """
                    ['b', 'a', 'e']
                    ['/etc/passwd', 'a', 'b', 'e', 'f', 'nothing'] text/plain ['Quire'] A title ['gedit']
                    True ['gedit']
                    True
                    1 True no list
                    """)
            }
        }
    }
}
