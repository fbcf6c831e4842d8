import TestSupport
import Testing

extension MountTests {
    /// Attacks on searches: long and odd queries, documents without end, damage to the files of the index during searches.
    struct SearchCornerTests {
        @Test(arguments: Account.allCases)
        func oddQueriesAreAnsweredOrRefused(account: Account) throws {
            try withMount(account, prepare: "echo x >doc; echo y >$'odd\\x01\\xff name'") { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import os, subprocess
                    def search(query):
                        done = subprocess.run([b"quire", b"search", b"--", query], capture_output=True, timeout=60)
                        assert done.returncode in (0, 1, 64), (query[:50], done)
                        assert done.returncode != 64 or done.stderr, query[:50]
                        assert search_for_doc() == 0
                        return done
                    def search_for_doc(): return subprocess.run(["quire", "search", "doc"], capture_output=True).returncode
                    odd = [b"a" * 4096, b"(" * 4096, b"-" * 4096, b'"' * 4095, b"a OR " * 2000 + b"a", b"*" * 4096, b"name:" + b"*a" * 2000, b"path:" + b"**/" * 1300 + b"a",
                        b"tag:" + b"x" * 4096, b"name:" + b"[" * 4096, b"size>" + b"9" * 4096, b"after:99999-01-01", b"date:0-0-0..9999-99-99", b"x" * 120000,
                        b"\\x01\\x02\\x1b[2J", b"\\xff\\xfe", "\\u202e\\u0000".encode().replace(b"\\0", b""), b"name:\\xff", b"a\\nb", b":", b"::", b"in:", b"in:/", b"in:../..", b"NOT", b"OR", b"( )"]
                    for query in odd:
                        search(query)
                        if len(query) < 256 and b"/" not in query:
                            try: names = os.listdir(b".search/" + query)
                            except OSError: names = []
                            assert len(names) <= 2, names
                    assert b"odd" in search(b"odd").stdout and len(os.listdir(".search/odd")) == 1
                    """, limit: .seconds(600))
            }
        }

        /// Searches find their words up to the limits, and all other documents; the index lists those that cannot be read.
        @Test func documentsThatNeverEndAreReadUpToTheirLimits() throws {
            try withMount(.root, ["search-text=on"], prepare: """
                python3 - <<'END'
                import zipfile, io, gzip
                def packed(name, member, data):
                    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
                        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text"); archive.writestr(member, data)
                packed("bomb.odt", "content.xml", b"<office><p>bombword</p>" + b" " * (1 << 28) + b"</office>")
                packed("deep.odt", "content.xml", b"<p>" * 1000000 + b"deepword")
                packed("laughs.docx", "word/document.xml", b'<!DOCTYPE x [<!ENTITY a "ha">' + b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%s;" % (str(n - 1).encode() if n else b"") * 10) for n in range(1, 12)) + b"]><x>&a11;</x>")
                with zipfile.ZipFile("many.zip", "w") as archive:
                    for number in range(60000): archive.writestr("member%d" % number, "")
                open("long.txt", "w").write("firstword " + "x " * 8000000 + "lastword")
                open("oneword.txt", "w").write("y" * 30000000)
                open("loop.pdf", "wb").write(b"%PDF-1.4\\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000000>>endobj\\ntrailer<</Root 1 0 R>>")
                open("nested.eml", "wb").write(b"From: a@b\\nSubject: nestedword\\n" + b"".join(b"Content-Type: multipart/mixed; boundary=b%d\\n\\n--b%d\\n" % (n, n) for n in range(20000)))
                open("page.html", "w").write("<div>" * 300000 + "htmlword")
                open("plain.txt", "w").write("plainword")
                END
                """) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(
                    """
                    read_all() { state=$(quire index --json) || return; [ "$(jq -r .state <<<"$state")" = idle ] || return; [ "$(jq '.indexed + .nothing + .failed' <<<"$state")" = "$(find . -type f -not -path '*/.*' | wc -l)" ]; }
                    eventually read_all
                    [ "$(quire search plainword)" = "$M/plain.txt" ]; [ "$(quire search firstword)" = "$M/long.txt" ]; expect_status 1 quire search lastword
                    for name in *; do quire search --why "$name" >/dev/null; done
                    """, limit: .seconds(900))
            }
        }

        /// Searches fail or find what they can; nothing hangs, no document is harmed, and the next mount has all again.
        @Test(arguments: ["index.sqlite", "text.sqlite"])
        func anIndexThatIsDamagedMeanwhileEndsNoDaemon(file: String) throws {
            try withMount(.user, ["search-text=on"], prepare: "for n in $(seq 3000); do echo word$((n % 7)) common >doc$n; done") { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import glob, os, subprocess, threading, random, time, json
                    state = os.environ["QUIRE_STATE_HOME"] if "QUIRE_STATE_HOME" in os.environ else os.path.expanduser("~/.local/state/quire")
                    def indexed():
                        status = json.loads(subprocess.run(["quire", "index", "--json"], capture_output=True, text=True, check=True).stdout)
                        return status["state"] == "idle" and status["indexed"] >= 3000
                    while not indexed(): time.sleep(0.2)
                    over = threading.Event(); codes = set()
                    def searches():
                        while not over.is_set():
                            codes.add(subprocess.run(["quire", "search", "--limit", "50", "word3 name:doc"], capture_output=True, timeout=60).returncode)
                    threads = [threading.Thread(target=searches) for _ in range(2)]
                    for thread in threads: thread.start()
                    files = [path for path in glob.glob(state + "/**/\(file)*", recursive=True) if not path.endswith("-shm")]
                    assert files, state
                    random.seed(7)
                    for _ in range(40):
                        for path in files:
                            with open(path, "r+b") as file:
                                size = os.path.getsize(path)
                                for _ in range(20):
                                    if size > 200: file.seek(random.randrange(100, size - 50)); file.write(os.urandom(40))
                        name = f"doc{random.randrange(1, 3000)}"
                        with open(name, "w") as file: file.write("changed common")
                        assert open(name).read() == "changed common"
                        time.sleep(0.02)
                    over.set()
                    for thread in threads: thread.join()
                    assert codes <= {0, 1, 2}, codes
                    assert open("doc1").read() in ("word1 common\\n", "changed common")
                    """, limit: .seconds(600))
                try mount.unmount()
                try mount.mount(["search-text=on"])
                try mount.scanned()
                try mount.shell("[ \"$(quire search name:doc1000)\" = \"$M/doc1000\" ]; all() { [ \"$(quire search --limit 1000 common | wc -l)\" = 1000 ]; }; eventually all")
            }
        }
    }
}
