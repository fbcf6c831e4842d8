import TestSupport
import Testing

extension MountTests {
    /// DocumentKit's providers and preview sessions, by the examples.
    struct ProviderTests {
        private static let sketches = "SketchPictures --install; printf '0,50 100,50\\n50,0 50,100\\n' >a.sketch; echo nonsense >b.sketch; cp a.sketch c.sketch; echo words >d.txt"

        @Test func anAppsTypeIsRenderedAndPreviewed() throws {
            try withMount(.user, prepare: Self.sketches) { (mount: Mount) throws in
                #expect(try mount.shell("quire types a.sketch").contains("application/x-quire-sketch (Sketch)"))
                #expect(try mount.python(Samples.colour + """
                    print(colour(".thumbnails/large/a.sketch.png", 0.5, 0.25), colour(".thumbnails/large/a.sketch.png", 0.25, 0.25))
                    print(colour(".previews/a.sketch/page-1.png", 0.5, 0.25), sorted(os.listdir(".previews/a.sketch")))
                    print(open(".previews/a.sketch/text.txt").read().strip())
                    """) == """
                    (204, 25, 25) (255, 255, 255)
                    (204, 25, 25) ['facts.txt', 'page-1.png', 'page-2.png', 'text.txt']
                    2 strokes
                    """)
                try mount.refuses("quire thumbnail b.sketch", "failed (status 1)")
                #expect(try mount.shell("ls .previews/b.sketch") == "facts.txt")
                // A type that is gone is nobody's.
                #expect(try mount.shell("SketchPictures --uninstall; ls $HOME/.local/share/thumbnailers | wc -l; quire types c.sketch").contains("text/plain"))
                try mount.refuses("SketchPictures", "usage")
                try mount.refuses("SketchPictures --thumbnail b.sketch $T/x.png 100", "")
            }
        }

        /// Programs that render a type leave it its text, pages and contents; where they fail others render.
        @Test func othersThumbnailersTakeNothingFromPreviews() throws {
            let prepare = Samples.script + PreviewFolderTests.pages(3, "long.pdf") + """
                mkdir -p $HOME/.local/share/thumbnailers
                printf '[Thumbnailer Entry]\nExec=false %%i %%o\nMimeType=application/pdf;application/zip;\n' >$HOME/.local/share/thumbnailers/x.thumbnailer
                """
            try withMount(.user, prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("ls .previews/long.pdf | paste -sd' '; ls .previews/page.pdf | paste -sd' '; ls .previews/parts.zip .previews/parts.zip/contents | paste -sd' '") == """
                    facts.txt page-1.png page-2.png page-3.png text.txt
                    facts.txt page-1.png text.txt
                    .previews/parts.zip: contents facts.txt page-1.png  .previews/parts.zip/contents: letter.txt program.c
                    """)
            }
        }

        @Test func aSessionShowsItemsOneAfterTheOther() throws {
            try withMount(.user, prepare: Self.sketches + "; head -c 99 /dev/zero >e.quire; zip -q f.zip d.txt") { (mount: Mount) throws in
                let printed = try mount.shell("""
                    printf 'next\\ntext\\nnext\\nnext\\nprevious\\npage 1 %s/p.png\\npage 2 %s/x.png\\nopen http://a.b\\nopen file:///etc/passwd\\nquit\\n' "$T" "$T" |
                        QuireLook a.sketch d.txt f.zip e.quire; identify -format '%w %h\\n' "$T/p.png"
                    """)
                let lines = printed.split(separator: "\n").map(String.init)
                #expect(lines.filter { $0.contains(" of ") } == ["1 of 3: a.sketch", "2 of 3: d.txt", "3 of 3: f.zip", "3 of 3: f.zip", "2 of 3: d.txt"])
                #expect(lines.first == "e.quire: there is nothing to see")
                #expect(lines.contains("words") && lines.contains("it has 1 page") && lines.filter { $0 == "not opened" }.count == 2)
                #expect(lines.contains("  kind: Sketch") && lines.contains("  entries: 1") && lines.last == "1232 1600")
            }
        }

        @Test(arguments: Account.allCases)
        func anAppHandsOverTheThumbnail(account: Account) throws {
            try withMount(account, prepare: "echo old >a.txt; echo old >b.txt; convert -size 500x500 xc:blue $T/blue.png") { (mount: Mount) throws in
                #expect(try mount.python(Samples.colour + """
                    def run(*words): subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
                    drawn = colour(".thumbnails/large/a.txt.png", 0.5, 0.9)
                    run("CoordinatedProgram", "write", "a.txt", "text=new", "thumbnail=" + os.environ["T"] + "/blue.png")
                    print(drawn, colour(".thumbnails/large/a.txt.png", 0.5, 0.9), colour(".thumbnails/normal/a.txt.png", 0.5, 0.9))
                    # The next version is drawn of its content again.
                    open("a.txt", "w").write("newer"); print(colour(".thumbnails/large/a.txt.png", 0.5, 0.9))
                    # A folder's claim covers its documents; what fails hands nothing over.
                    subprocess.run(["CoordinatedProgram", "write", "b.txt", "move=/nowhere/x", "thumbnail=" + os.environ["T"] + "/blue.png"], stdout=subprocess.DEVNULL)
                    print(colour(".thumbnails/large/b.txt.png", 0.5, 0.9))
                    """) == "(255, 255, 255) (0, 0, 255) (0, 0, 255)\n(255, 255, 255)\n(255, 255, 255)")
            }
        }
    }
}
