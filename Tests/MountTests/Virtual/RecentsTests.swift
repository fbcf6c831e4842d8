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

        /// The list is as GTK's programs write it.
        @Test(arguments: Account.allCases)
        func theyAreExchangedWithTheDesktops(account: Account) throws {
            try withMount(account, prepare: Self.documents + "; for n in e f g; do echo $n >$n; done") { (mount: Mount) throws in
                try mount.scanned()
                let found = try mount.python(#"""
                    import datetime, os, subprocess, urllib.parse
                    import xml.etree.ElementTree as tree
                    M, home = os.environ["M"], os.environ["T"] + "/home"
                    list = home + "/data/recently-used.xbel"
                    os.makedirs(home + "/data", mode=0o700)
                    env = dict(os.environ, HOME=home, XDG_DATA_HOME=home + "/data", XDG_STATE_HOME=home + "/state", QUIRE_STATE_HOME=os.environ.get("QUIRE_STATE_HOME", ""))
                    def quire(*words): return subprocess.run(["quire", "recents", *words], env=env, check=True, cwd=M, stdout=subprocess.PIPE, text=True).stdout
                    def recents(): return [os.path.basename(line) for line in quire().splitlines()]
                    def uri(name): return "file://" + urllib.parse.quote(name if name[0] == "/" else f"{M}/{name}")
                    spaces = 'xmlns:bookmark="http://www.freedesktop.org/standards/desktop-bookmarks" xmlns:mime="http://www.freedesktop.org/standards/shared-mime-info"'
                    def entry(name, minutes, extra="", title=""):
                        time = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
                        return f'<bookmark href="{uri(name)}" added="{time}" modified="{time}" visited="{time}">{title}<info><metadata owner="http://freedesktop.org"><mime:mime-type type="text/plain"/>' \
                            f'<bookmark:applications><bookmark:application name="gedit" exec="&apos;gedit %u&apos;" modified="{time}" count="1"/></bookmark:applications>{extra}</metadata></info></bookmark>'
                    open(list, "w").write(f'<?xml version="1.0" encoding="UTF-8"?>\n<xbel version="1.0" {spaces}>' + entry("a", 60) + entry("e", 61, title="<title>A title</title>")
                        + entry("f", 1, "<bookmark:private/>") + entry("/etc/passwd", 1) + entry("nothing", 1) + "</xbel>")
                    with open(M + "/b", "a") as document: document.write("used")
                    quire("sync")
                    print(recents())
                    def listed():
                        found = {}
                        for one in tree.parse(list).getroot().iter("bookmark"):
                            apps = [app.get("name") for app in one.iter("{http://www.freedesktop.org/standards/desktop-bookmarks}application")]
                            found[urllib.parse.unquote(one.get("href")).replace("file://" + M + "/", "")] = (one.findtext("title"), apps)
                        return found
                    print(sorted(listed().items()))
                    before = os.stat(list).st_mtime_ns
                    quire("sync")
                    print(os.stat(list).st_mtime_ns == before)
                    # What was forgotten in either list does not come back.
                    quire("forget", "a", "b"); quire("sync"); print(recents(), "a" in listed(), "b" in listed())
                    open(list, "w").write(f'<?xml version="1.0" encoding="UTF-8"?>\n<xbel version="1.0" {spaces}></xbel>'); quire("sync"); print(listed())
                    open(list, "w").write("no list"); failed = subprocess.run(["quire", "recents", "sync"], env=env, capture_output=True, text=True, cwd=M)
                    print(failed.returncode, "left as it is" in failed.stderr, open(list).read())
                    """#)
                #expect(found == """
                    ['b', 'a', 'e']
                    [('a', (None, ['gedit'])), ('b', (None, ['Quire'])), ('e', ('A title', ['gedit'])), ('f', (None, ['gedit'])), ('file:///etc/passwd', (None, ['gedit'])), ('nothing', (None, ['gedit']))]
                    True
                    ['e'] False False
                    {}
                    1 True no list
                    """)
            }
        }
    }
}
