import TestSupport
import Testing

extension MountTests {
    /// `.previews`: what there is to see of each document.
    struct PreviewFolderTests {
        /// A PDF document of a page for each line of a text. - Parameter lines: how many.
        static func pages(_ lines: Int, _ name: String) -> String {
            """
            python3 - <<'END'
            import ctypes
            cairo = ctypes.CDLL("libcairo.so.2")
            cairo.cairo_pdf_surface_create.restype = cairo.cairo_create.restype = ctypes.c_void_p
            cairo.cairo_pdf_surface_create.argtypes = [ctypes.c_char_p, ctypes.c_double, ctypes.c_double]
            for call in ["cairo_create", "cairo_show_page", "cairo_destroy", "cairo_surface_finish"]: getattr(cairo, call).argtypes = [ctypes.c_void_p]
            cairo.cairo_move_to.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_double]
            cairo.cairo_show_text.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
            surface = cairo.cairo_pdf_surface_create(b"\(name)", 300, 200); context = cairo.cairo_create(surface)
            for line in range(1, \(lines) + 1):
                cairo.cairo_move_to(context, 40, 80); cairo.cairo_show_text(context, b"page number %d" % line); cairo.cairo_show_page(context)
            cairo.cairo_destroy(context); cairo.cairo_surface_finish(surface)
            END

            """
        }

        @Test(arguments: Account.allCases)
        func eachTypeHasItsParts(account: Account) throws {
            try withMount(account, prepare: Samples.script + Self.pages(3, "long.pdf") + "head -c 99 /dev/zero >x.quire; : >empty") { (mount: Mount) throws in
                let page = "facts.txt page-1.png", text = page + " text.txt", archive = "contents facts.txt page-1.png"
                let wanted = [
                    "photo.jpg": page, "film.mkv": page, "sound.mp3": page, "drawing.svg": page, "icon.bmp": page, "letter.txt": text,
                    "program.c": text, "letter.odt": text, "page.pdf": text, "parts.zip": archive, "parts.tar.gz": archive,
                    "long.pdf": "facts.txt page-1.png page-2.png page-3.png text.txt", "x.quire": "facts.txt", "empty": "facts.txt",
                ]
                for (name, parts) in wanted { #expect(try mount.shell("ls .previews/\(name) | paste -sd' '") == parts, "\(name)") }
                #expect(try mount.shell("cd .previews; identify -format '%w %h' photo.jpg/page-1.png") == "600 400")
                #expect(try mount.shell("cd .previews; identify -format '%w %h' page.pdf/page-1.png") == "1600 800")
                #expect(try mount.shell("cd .previews; cat long.pdf/text.txt | tr '\\f' ' ' | paste -sd' '").contains("page number 2"))
                #expect(try mount.shell("cat .previews/letter.odt/text.txt").contains("Dear Ada, this is a letter"))
                #expect(try mount.shell("cat .previews/program.c/text.txt") == "int main(void) {\n    return 0;\n}")
                let facts = try mount.shell("cat .previews/film.mkv/facts.txt .previews/photo.jpg/facts.txt .previews/x.quire/facts.txt")
                for fact in ["duration: 2.0", "video: ", "width: 320", "height: 240", "width: 600", "type: image/jpeg", "size: 99", "trouble: nothing here draws"] {
                    #expect(facts.contains(fact), "\(fact)")
                }
                // Unlisted, and nothing is made there.
                #expect(try mount.shell("ls -A | { grep previews || true; }; find . -path ./.previews") == "")
                for command in ["touch .previews/x", "mkdir .previews/d", "rm .previews/page.pdf/page-1.png", "echo x >.previews/page.pdf/text.txt"] {
                    try mount.refuses(command, "")
                }
                try mount.refuses("ls .previews/none", "No such file")
                try mount.refuses("cat .previews/page.pdf/page-2.png", "No such file")
                try mount.refuses("cat .previews/page.pdf/page-01.png", "No such file")
            }
        }

        /// A listing of the root, with what it looks up, does not bring up a folder of the store that has the name.
        @Test(arguments: Account.allCases)
        func aFolderOfTheirNameInTheStoreStaysHidden(account: Account) throws {
            try withMount(account, prepare: "mkdir .previews; echo own >.previews/own; echo text >doc") { (mount: Mount) throws in
                #expect(try mount.shell("ls .previews/doc; ls -lA >/dev/null; ls .previews/doc; cat .previews/doc/text.txt; ls .previews | grep own || true") == """
                    facts.txt
                    page-1.png
                    text.txt
                    facts.txt
                    page-1.png
                    text.txt
                    text
                    """)
            }
        }

        @Test func aDocumentIsShownWhereAFolderWas() throws {
            try withMount(.root, prepare: "mkdir place") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    exec 5<.previews/place; rmdir place; echo hello >place; eventually 'ls .previews/place | grep facts.txt >/dev/null'
                    rm place; mkdir place; touch place/doc; eventually 'ls .previews/place | grep doc >/dev/null'; ls .previews/place
                    """) == "doc")
            }
        }

        /// The kernel judges by what stood there up to a second ago; the daemon by what stands there now.
        @Test func whoSwapsNamesSeesNothingOfAnothersDocument() throws {
            let prepare = """
                mkdir -m 777 shared; cd shared; mkdir in; echo secret >in/diary; zip -qr hers.zip in; mv in bobs; zip -qr his.zip bobs; rm -r bobs
                chown \(Account.alice) hers.zip; chown \(Account.bob) his.zip; chmod 600 hers.zip
                """
            try withMount(prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, time
                    os.setgroups([]); os.setgid(\(Account.bob)); os.setuid(\(Account.bob))
                    view = os.getcwd() + "/.previews/shared/his.zip"
                    os.chdir("shared")
                    print(sorted(os.listdir(view)))
                    folder = os.open(view, os.O_PATH)
                    def attempt(name, call):
                        try: print(name, call())
                        except OSError as error: print(name, error.strerror)
                    time.sleep(1.2); os.fstat(folder)
                    os.rename("his.zip", "other.zip"); os.rename("hers.zip", "his.zip")
                    for name in ["contents", "facts.txt", "page-1.png", "text.txt"]:
                        attempt(name, lambda: os.stat(name, dir_fd=folder).st_size)
                    os.rename("his.zip", "hers.zip"); os.rename("other.zip", "his.zip")
                    time.sleep(1.2)
                    print(os.listdir(view + "/contents"))
                    """) == """
                    ['contents', 'facts.txt', 'page-1.png']
                    contents Permission denied
                    facts.txt Permission denied
                    page-1.png Permission denied
                    text.txt Permission denied
                    ['bobs']
                    """)
            }
        }

        /// In a folder that was closed meanwhile nobody learns by the errors which names there are.
        @Test func aFolderThatWasClosedTellsNoNames() throws {
            try withMount(prepare: "mkdir -p hers/priv/folder; echo x >hers/priv/doc; chown -R \(Account.alice) hers") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, subprocess, time
                    views = [".previews/hers/priv", ".thumbnails/large/hers/priv"]
                    folders = [os.open(view, os.O_PATH) for view in views]
                    child = os.fork()
                    if child == 0:
                        time.sleep(0.2)
                        os.setgroups([]); os.setgid(\(Account.bob)); os.setuid(\(Account.bob))
                        while True:
                            try: os.stat("hers/priv/doc"); time.sleep(0.05)
                            except OSError: break
                        time.sleep(1.2)
                        for view, folder in zip(views, folders):
                            for name in ["doc", "folder", "none", "doc.png"]:
                                try: os.stat(name, dir_fd=folder); print(view, name, "there", flush=True)
                                except OSError as error: print(view, name, error.strerror, flush=True)
                        os._exit(0)
                    time.sleep(0.4)
                    subprocess.run("chmod 700 hers/priv; setfacl -m u:61003:rx hers/priv", shell=True, check=True)
                    os.waitpid(child, 0)
                    """) == [".previews/hers/priv", ".thumbnails/large/hers/priv"].flatMap { view in
                        ["doc", "folder", "none", "doc.png"].map { "\(view) \($0) Permission denied" }
                    }.joined(separator: "\n"))
            }
        }

        @Test func anArchiveIsBrowsedWithoutBeingUnpacked() throws {
            let prepare = """
                mkdir -p in/deep; echo one >in/one; seq 5000 >in/deep/two; ln -s /etc/passwd in/link; mkfifo in/pipe; tar cf box.tar in; zip -qr box.zip in/one in/deep
                python3 - <<'END'
                import io, tarfile, zipfile
                with tarfile.open("evil.tar", "w") as tar:
                    for name in ["../up", "/etc/root", "a/../../b", "./dot/./c", "n" * 300, "twice", "twice/in", "ok"]:
                        entry = tarfile.TarInfo(name); entry.size = 2; tar.addfile(entry, io.BytesIO(b"x\\n"))
                END
                """
            try withMount(prepare: prepare) { (mount: Mount) throws in
                for box in ["box.tar", "box.zip"] {
                    try mount.shell("""
                        cd .previews/\(box)/contents; cmp in/one $S/in/one; cmp in/deep/two $S/in/deep/two
                        test $(stat -c %s in/deep/two) = $(stat -c %s $S/in/deep/two); test $(stat -c %Y in/one) = $(stat -c %Y $S/in/one)
                        test "$(find . -type f | sort | paste -sd' ')" = './in/deep/two ./in/one'; test -z "$(find . -type l -o -type p)"
                        """)
                }
                #expect(try mount.shell("cd .previews/evil.tar/contents; find . -type f | sort | paste -sd' '") == "./dot/c ./etc/root ./ok ./twice/in")
                #expect(try mount.shell("cat .previews/evil.tar/contents/ok") == "x")
            }
        }

        /// What cannot be had is not listed, or says why.
        @Test func whatCannotBeShownSaysSo() throws {
            let prepare = "head -c 200000 /dev/urandom >noise.txt; head -c 67108865 /dev/zero >over; echo secret >s; zip -q1 box.zip over; zip -qP word box.zip s; rm over s"
            try withMount(prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("ls -l .previews/noise.txt | tail -n +2 | wc -l; grep trouble .previews/noise.txt/facts.txt") == "1\ntrouble: it is not text")
                #expect(try mount.shell("ls .previews/box.zip/contents | paste -sd' '") == "over s")
                try mount.refuses("cat .previews/box.zip/contents/over", "File too large")
                for _ in 0..<2 { try mount.refuses("cat .previews/box.zip/contents/s", "Input/output error") }
            }
        }

        /// Each page's size would have it rendered: a listing has few of them rendered, and opening one always.
        @Test func aLongDocumentIsListedWithoutBeingRendered() throws {
            try withMount(prepare: Self.pages(60, "long.pdf")) { (mount: Mount) throws in
                #expect(try mount.shell("ls .previews/long.pdf | grep -c page; ls -l .previews/long.pdf | awk '$5 == 0' | wc -l") == "60\n44")
                #expect(try mount.shell("f=.previews/long.pdf/page-55.png; identify -format '%w %h' $f; test $(stat -c %s $f) = $(wc -c <$f)") == "1600 1067")
                // Now that pages are opened, lookups are worth rendering.
                #expect(try mount.shell("test $(stat -c %s .previews/long.pdf/page-59.png) -gt 1000; file .previews/long.pdf/page-60.png").contains("PNG image data"))
            }
        }

        /// What the kernel keeps of previews that were looked at long ago takes no descriptors; nor do lookups by file managers.
        @Test func previewsLookedAtBeforeHoldNothing() throws {
            let prepare = Self.pages(2, "two.pdf") + "for i in $(seq 60); do { cat two.pdf; echo %$i; } >$i.pdf; done; convert -size 60x40 xc:red xc:blue xc:green pages.tiff"
            try withMount(prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    pid=$(quire status . --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
                    held() { ls -l /proc/$pid/fd | { grep -c memfd || true; }; }
                    for i in $(seq 60); do test ! -e .previews/$i.pdf/.hidden; done; echo $(($(held) < 3))
                    for i in $(seq 60); do cat .previews/$i.pdf/text.txt .previews/$i.pdf/page-1.png >/dev/null; done; echo $(($(held) < 100))
                    for i in $(seq 40); do cat .previews/two.pdf/page-2.png | md5sum & done | sort -u | wc -l; wait
                    ls .previews/pages.tiff | paste -sd' '; convert .previews/pages.tiff/page-2.png -format '%[pixel:p{5,5}]' info:
                    """) == "1\n1\n1\nfacts.txt page-1.png page-2.png page-3.png\nsrgb(0,0,255)")
            }
        }

        @Test(arguments: Account.allCases)
        func aNewVersionHasANewPreview(account: Account) throws {
            try withMount(account, prepare: "echo one >a.txt; zip -q b.zip a.txt") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    cat .previews/a.txt/text.txt; exec 3<.previews/a.txt/text.txt
                    echo two >a.txt; cat .previews/a.txt/text.txt; echo three >new; mv new a.txt; cat .previews/a.txt/text.txt
                    echo four >$S/a.txt; sleep 1.2; cat .previews/a.txt/text.txt; mv a.txt c.txt; cat .previews/c.txt/text.txt; cat <&3
                    """) == "one\ntwo\nthree\nfour\nfour\none")
                try mount.refuses("cat .previews/a.txt/text.txt", "No such file")
                // As with a name that the kernel has kept for a moment too long.
                try mount.refuses("cd .previews/c.txt; mv \"$M/c.txt\" \"$M/d.txt\"; cat text.txt", "No such file")
                try mount.refuses("mkdir sub; cd .previews/sub; rmdir \"$M/sub\"; ls text.txt", "No such file")
            }
        }

        @Test func othersSeeWhatTheyMayRead() throws {
            let prepare = "echo mine >a.txt; chmod 600 a.txt; echo all >b.txt; mkdir d; echo in >d/c.txt; chmod 700 d; echo acl >e.txt; chmod 600 e.txt; setfacl -m u:quiretest:r e.txt"
            try withMount(prepare: prepare) { (mount: Mount) throws in
                try mount.shell("cat .previews/a.txt/text.txt .previews/d/c.txt/text.txt .previews/e.txt/text.txt")
                #expect(try mount.shell("cat .previews/b.txt/text.txt", as: Account.alice) == "all")
                for path in ["a.txt/text.txt", "a.txt/facts.txt", "d/c.txt/text.txt"] {
                    try mount.refuses("cat .previews/\(path)", "Permission denied", as: Account.alice)
                }
                try mount.refuses("ls .previews/d", "Permission denied", as: Account.alice)
            }
        }

        @Test func whoIsKilledWhileWaitingHarmsNobody() throws {
            // A program that never ends, of the user's own.
            let prepare = """
                mkdir -p $HOME/.local/share/thumbnailers
                printf '#!/bin/sh\\nexec sleep 100\\n' >$HOME/slow; chmod +x $HOME/slow
                printf '[Thumbnailer Entry]\\nExec=%s/slow %%i %%o\\nX-Quire-PreviewExec=%s/slow %%i %%o\\nMimeType=application/x-slow;\\n' $HOME $HOME >$HOME/.local/share/thumbnailers/s.thumbnailer
                mkdir -p $HOME/.local/share/mime/packages
                printf '<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info"><mime-type type="application/x-slow"><glob pattern="*.slow"/></mime-type></mime-info>' >$HOME/.local/share/mime/packages/s.xml
                update-mime-database $HOME/.local/share/mime; for i in 1 2 3 4 5 6 7 8; do echo $i >$i.slow; done; echo text >a.txt
                """
            try withMount(.user, prepare: prepare) { (mount: Mount) throws in
                try mount.shell("""
                    for i in 1 2 3 4 5 6 7 8; do
                        timeout -s KILL 0.3 cat .thumbnails/large/$i.slow.png & timeout -s KILL 0.2 ls .previews/$i.slow &
                        timeout -s KILL 0.1 cat .thumbnails/normal/$i.slow.png & timeout -s KILL 0.001 ls .previews/$i.slow &
                    done; wait; sleep 1; cat a.txt; ls .thumbnails/normal; quire status .
                    """)
            }
        }

        @Test func aPictureIsWholeWhenItCanBeOpened() throws {
            try withMount(.root, ["allow_other"], prepare: "echo words >a.txt") { (mount: Mount) throws in
                try mount.shell("""
                    eventually 'text=$(cat .previews/a.txt/text.txt)'; expect_equal "$text" words
                    # It opens a picture several times: while that is drawn the first open may fail and the next succeed.
                    eventually 'width=$(identify -format %w .thumbnails/normal/a.txt.png)'; expect_equal "$width" 98
                    """)
                // Whoever can open a picture at all reads the whole of it.
                try mount.python("""
                    import os, time
                    for number in range(20):
                        with open("b%d.txt" % number, "w") as file: file.write("words %d" % number)
                        path, end = ".thumbnails/normal/b%d.txt.png" % number, time.monotonic() + 180
                        while True:
                            try:
                                with open(path, "rb") as file: content = file.read()
                                break
                            except FileNotFoundError: assert time.monotonic() < end
                        assert content[-8:-4] == b"IEND" and len(content) == os.stat(path).st_size, (path, len(content), content[-20:])
                    """)
            }
        }

        /// Bombs, and programs that do not end: each ends within its limits, and the mount does not wait.
        @Test func whatIsHarmfulEnds() throws {
            let prepare = """
                head -c 30000000 /dev/zero | gzip -9 >zeros; for n in {1..100}; do cat zeros; done >zeros.gz; rm zeros
                python3 - <<'END'
                import io, zipfile
                class Zeros(io.RawIOBase):
                    left = 2 << 30
                    def readable(self): return True
                    def readinto(self, b): n = min(len(b), self.left); b[:n] = bytes(n); self.left -= n; return n
                with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as z:
                    with z.open("zeros", "w", force_zip64=True) as f:
                        import shutil; shutil.copyfileobj(io.BufferedReader(Zeros()), f, 1 << 20)
                inner = open("bomb.zip", "rb").read()
                with zipfile.ZipFile("nested.zip", "w") as z: z.writestr("bomb.zip", inner)
                with zipfile.ZipFile("many.zip", "w") as z:
                    for n in range(120000): z.writestr(str(n), b"")
                END
                head -c 300 bomb.zip >cut.zip
                """
            try withMount(prepare: prepare) { (mount: Mount) throws in
                try mount.refuses("cat .previews/bomb.zip/contents/zeros >/dev/null", "")
                try mount.shell("cmp .previews/nested.zip/contents/bomb.zip bomb.zip; ls .previews/cut.zip; test $(ls .previews/many.zip/contents | wc -l) = 100000")
                #expect(try mount.shell("timeout 60 ls .previews/zeros.gz/contents 2>/dev/null || true; echo still here >a; cat a") == "still here")
            }
        }
    }
}
