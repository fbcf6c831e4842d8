import TestSupport
import Testing

extension MountTests {
    /// Searches in the text of documents.
    struct TextSearchTests {
        private static let documents = "python3 \(Products.folder)/programs/make-texts.py; mkdir .hidden; echo wordhidden >.hidden/note"

        private func withTexts(_ account: Account = .root, _ body: (Mount) throws -> Void) throws {
            try withMount(account, ["search-text=on"], prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.readAll)
                try body(mount)
            }
        }

        private static let readAll = """
            read_all() {
                local state
                state=$(quire index --json) || return
                [ "$(jq -r .state <<<"$state")" = idle ] || return
                [ "$(jq '.indexed + .nothing + .failed' <<<"$state")" = "$(find . -type f -not -path '*/.*' | wc -l)" ]
            }
            eventually read_all

            """

        @Test(arguments: Account.allCases)
        func textsOfManyTypesAreFound(account: Account) throws {
            try withTexts(account) { (mount: Mount) throws in
                func found(_ query: String) throws -> String { try mount.shell("{ quire search --sort name \(query) || true; } | sed \"s|^$M/||\"") }
                for (word, name) in [
                    ("docx", "letter.docx"), ("odt", "letter.odt"), ("xlsx", "sheet.xlsx"), ("pptx", "talk.pptx"), ("epub", "book.epub"), ("zip", "parts.zip"),
                    ("multipart", "multi.eml"), ("latin", "multi.eml"), ("attached", "multi.eml"), ("subjecté", "multi.eml"), ("mboxtwo", "box.mbox"),
                    ("pdf", "page.pdf"), ("txt", "note.txt"), ("md", "read.md"), ("html", "site.html"), ("svg", "drawing.svg"), ("eml", "mail.eml"), ("c", "program.c"),
                ] { #expect(try found("word\(word)") == name, "\(word)") }
                #expect(try found("wordpdftitle wordpdf") == "page.pdf")
                #expect(try found("wordcreator cafe") == "letter.docx")
                #expect(try found("'\"wordodt more tabbed\"'") == "letter.odt")
                #expect(try found("'\"two three\"' 'ubung OR one'") == "site.html")
                #expect(try found("検索 ext:txt") == "notes.ja.txt")
                #expect(try found("'wordp*'") == "page.pdf\ntalk.pptx")
                for word in ["wordstyle", "wordrels", "wordcomment", "wordscript", "wordbin", "wordbroken", "wordinside", "wordhtmltag", "wordhidden", "wordt"] { #expect(try found(word) == "", "\(word)") }
                #expect(try mount.shell("ls .search/wordtxt; cat .search/wordmd/read.md") == "note.txt\n# wordmd")
            }
        }

        /// The document, as it is, is found by what was written; its old text is not.
        @Test func whatIsWrittenIsReadSoon() throws {
            try withTexts { (mount: Mount) throws in
                try mount.shell(
                    """
                    echo newword >note.txt; new() { [ "$(quire search newword)" = "$M/note.txt" ]; }; eventually new
                    expect_status 1 quire search wordtxt
                    mv note.txt moved.txt; [ "$(quire search newword)" = "$M/moved.txt" ]
                    cp moved.txt copy; both() { [ "$(quire search newword | wc -l)" = 2 ]; }; eventually both
                    rm moved.txt; [ "$(quire search newword)" = "$M/copy" ]
                    """)
            }
        }

        /// A save by rename, a name of another type, and a version whose text others could not read.
        @Test func aTextIsOfTheVersionAndNameThatTheDocumentHas() throws {
            try withTexts { (mount: Mount) throws in
                try mount.shell(
                    """
                    echo renamedword >tmp; mv tmp note.txt; new() { [ "$(quire search renamedword)" = "$M/note.txt" ]; }; eventually new
                    expect_status 1 quire search wordtxt
                    echo partword >a.part; mv a.part other.txt; new() { [ "$(quire search partword)" = "$M/other.txt" ]; }; eventually new
                    quire index pause; echo public >note.txt; expect_status 1 quire search renamedword
                    mkdir beneath; quire index resume
                    """)
                // Made beneath the mount, and moved there.
                try mount.shell("mkdir -p \"$T/new\"; echo beneathword >\"$T/new/doc.txt\"; cp -r \"$T/new\" \"$S/arrived\"; new() { [ \"$(quire search beneathword)\" = \"$M/arrived/doc.txt\" ]; }; eventually new")
            }
        }

        @Test func whatIsKnownOfADocumentIsSaid() throws {
            try withTexts { (mount: Mount) throws in
                func why(_ name: String) throws -> String { try mount.shell("quire search --why \(name)") }
                #expect(try why("note.txt").hasPrefix("note.txt: its text is indexed ("))
                #expect(try why("empty.txt") == "empty.txt: it has no text: it is empty")
                #expect(try why("data.bin2").contains("nothing here reads documents of type"))
                #expect(try why("broken.pdf").hasPrefix("broken.pdf: it has no text: "))
                #expect(try why(".hidden/note") == ".hidden/note: it has no text: hidden documents are not read")
                try mount.refuses("quire search --why nothing", "nothing")
                #expect(try mount.shell("quire search --why note.txt --json | jq -r .state") == "indexed")
            }
        }

        @Test func readingIsPausedAndBegunAgain() throws {
            try withTexts { (mount: Mount) throws in
                try mount.shell("quire index pause; echo newword >note.txt")
                #expect(try mount.shell("quire index").contains("texts: paused"))
                #expect(try mount.shell("quire search --why note.txt").contains("it has changed since it was read"))
                try mount.shell("quire index resume; new() { [ -n \"$(quire search newword)\" ]; }; eventually new; quire index rebuild")
                try mount.shell(Self.readAll + "[ \"$(quire search newword)\" = \"$M/note.txt\" ]; [ \"$(quire search wordmd)\" = \"$M/read.md\" ]")
                // The daemon that is mounted next goes on with what was read.
                try mount.shell("cd /; quire unmount \"$M\"", in: "/")
                try mount.mount(["search-text=on"])
                #expect(try mount.shell("quire search wordmd").hasSuffix("/read.md"))
            }
        }

        /// Each user finds texts of documents that the user may read.
        @Test func textsAreFoundByWhoMayReadThem() throws {
            try withMount(.root, ["allow_other,search-text=on"], prepare: "chmod 755 .; echo wordsecret >secret; chmod 600 secret; echo wordopen >open; chmod 644 open") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.readAll)
                #expect(try mount.shell("quire search 'word*'", as: Account.alice) == "\(mount.path)/open")
                let none = try mount.attempt("quire search wordsecret", as: Account.alice)
                #expect(none.status == 1 && none.output == "" && none.errors == "", "\(none)")
                try mount.refuses("quire search --why secret", "there is no", as: Account.alice)
                try mount.refuses("quire index pause", "only root and the user who mounted", as: Account.alice)
                #expect(try mount.shell("quire search 'word*' | wc -l") == "2")
            }
        }

        /// Whenever the daemon is killed, both indexes are whole afterwards, and the next daemon goes on.
        @Test(arguments: Account.allCases)
        func aKilledDaemonLeavesTheIndexesWhole(account: Account) throws {
            let mount = try Mount(account)
            defer { mount.end() }
            try mount.python(
                """
                import glob, os, random, signal, sqlite3, subprocess, time
                store, place, state = os.environ["S"], os.environ["M"], os.environ["QUIRE_STATE_HOME"]
                words = ["alpha", "beta", "gamma", "delta"]
                def start():
                    daemon = subprocess.Popen(["quire", "mount", "--foreground", store, place, "-o", "search-text=on"])
                    while not os.path.ismount(place): time.sleep(0.01); assert daemon.poll() is None
                    return daemon
                def end(daemon, number):
                    daemon.send_signal(number); daemon.wait()
                    if os.path.ismount(place): subprocess.run(["umount" if os.getuid() == 0 else "fusermount3"] + (["-l"] if os.getuid() == 0 else ["-uz"]) + [place], check=True)
                for n in range(\(isLongRun ? 200 : 8)):
                    daemon = start()
                    for m in range(random.randrange(1, 30)):
                        with open(f"{place}/doc{m}.txt", "w") as file: file.write(" ".join(random.choices(words, k=200)) + f" round{n}")
                        if m % 7 == 3: os.unlink(f"{place}/doc{m}.txt")
                        elif m % 5 == 2: os.setxattr(f"{place}/doc{m}.txt", "user.xdg.tags", b"tag")
                    time.sleep(random.random())
                    end(daemon, signal.SIGKILL)
                    for name, check in ("text", "INSERT INTO word (word) VALUES ('integrity-check')"), ("index", "PRAGMA integrity_check"):
                        for path in glob.glob(f"{state}/*/{name}.sqlite"):
                            with sqlite3.connect(path) as database: answer = database.execute(check).fetchall()
                            assert answer in ([], [("ok",)]), (path, answer)
                daemon = start()
                with open(f"{place}/last.txt", "w") as file: file.write("finally")
                end_of_wait = time.monotonic() + 180
                while subprocess.run(["quire", "search", "--in", place, "finally"], capture_output=True, text=True).stdout.strip() != f"{place}/last.txt":
                    assert time.monotonic() < end_of_wait
                    time.sleep(0.1)
                assert len(os.listdir(f"{place}/.tags/tag")) == sum(1 for path in glob.glob(f"{place}/*.txt") if b"tag" in (os.getxattr(path, "user.xdg.tags") if "user.xdg.tags" in os.listxattr(path) else b""))
                end(daemon, signal.SIGTERM)
                """, in: mount.store, limit: .seconds(isLongRun ? 1_200 : 300))
        }

        /// Texts of one user's documents are searched without an option; of several users' documents with it.
        @Test func oneUsersTextsAreSearchedUnlessTheOptionIsOff() throws {
            let mount = try Mount(.user)
            defer { mount.end() }
            try mount.shell("echo worddefault >\"$S/note.txt\"; quire mount \"$S\" \"$M\"", in: mount.store)
            try mount.shell("found() { [ \"$(quire search worddefault)\" = \"$M/note.txt\" ]; }; eventually found")
            try withMount(.root, ["allow_other"], prepare: "echo worddefault >note.txt") { (mount: Mount) throws in
                try mount.scanned()
                #expect(try mount.shell("quire index").contains("texts: off"))
            }
        }

        @Test(arguments: Account.allCases)
        func textInPicturesIsRecognized(account: Account) throws {
            let draw = "convert -font DejaVu-Sans -background white -fill black -pointsize 48 label:'Invoice harbour 4711' scan.png; convert -size 300x300 gradient: plain.png"
            try withMount(account, ["search-text=pictures"], prepare: draw) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.readAll + "[ \"$(quire search 'harbour 4711')\" = \"$M/scan.png\" ]")
                #expect(try mount.shell("quire search --why plain.png --json | jq -r .state") == "indexed")
            }
            try withMount(account, ["search-text=on"], prepare: draw) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.readAll + "expect_status 1 quire search harbour")
            }
        }

        @Test func withTheOptionOffNamesAloneAreSearched() throws {
            try withMount(.user, prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                let none = try mount.attempt("quire search wordtxt")
                #expect(none.status == 1 && none.output == "" && none.errors == "", "\(none)")
                #expect(try mount.shell("quire index").contains("texts: off"))
                try mount.refuses("quire index rebuild", "mount option search-text")
            }
        }
    }
}
