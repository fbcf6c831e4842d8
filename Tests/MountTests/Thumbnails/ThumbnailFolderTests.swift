import TestSupport
import Testing

extension MountTests {
    /// `.thumbnails`: the tree again, as pictures.
    struct ThumbnailFolderTests {
        /// `drawn FOLDER COUNT` waits until that many entries are listed there.
        static let helpers = """
            drawn() { eventually '[ $(ls '"$1 | wc -l) -ge $2 ]"; }
            count() { quire status "$M" --json | sed -n 's/.*"thumbnailsDrawn" : \\([0-9]*\\).*/\\1/p'; }

            """

        @Test(arguments: Account.allCases)
        func eachTypeIsRendered(account: Account) throws {
            try withMount(account, prepare: Samples.script) { (mount: Mount) throws in
                // Opened once, the folder is rendered whole.
                try mount.shell(Self.helpers + "ls .thumbnails/normal; drawn .thumbnails/normal \(Samples.normal.count)")
                let found = try mount.shell("cd .thumbnails/normal; identify -format '%f %w %h %m\\n' *.png")
                #expect(found.split(separator: "\n").map(String.init) == Samples.normal.map { "\($0).png \($1) \($2) PNG" })
                #expect(try mount.python(Samples.colour + """
                    os.chdir(".thumbnails/normal")
                    print(colour("page.pdf.png", 0.5, 0.5), colour("drawing.svg.png", 0.5, 0.5), colour("small.png.png", 0.5, 0.5))
                    print(colour("photo.jpg.png", 0.5, 0)[0] > 200 and colour("photo.jpg.png", 0.5, 0.98)[2] > 200)
                    """) == "(255, 0, 0) (0, 255, 0) (0, 128, 0)\nTrue")
            }
        }

        /// Cameras note how they were held, and colours may be meant otherwise than in sRGB.
        @Test func imagesAreUprightAndInTheirColours() throws {
            let prepare = """
                convert -size 400x200 gradient:red-blue plain.jpg
                python3 - <<'END'
                import struct
                # An Exif header that says: turn by 90 degrees to the right (6).
                exif = b"Exif\\0\\0MM\\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, 6, 0, 0)
                data = open("plain.jpg", "rb").read()
                open("turned.jpg", "wb").write(data[:2] + b"\\xff\\xe1" + struct.pack(">H", len(exif) + 2) + exif + data[2:])
                # A profile in which red and green are exchanged.
                fixed = lambda *numbers: b"".join(struct.pack(">i", round(number * 65536)) for number in numbers)
                xyz = lambda *numbers: b"XYZ \\0\\0\\0\\0" + fixed(*numbers)
                curve = b"curv\\0\\0\\0\\0" + struct.pack(">IHH", 1, 563, 0)
                red, green, blue = (.4361, .2225, .0139), (.3851, .7169, .0971), (.1431, .0606, .7141)
                tags = [(b"desc", b"desc\\0\\0\\0\\0" + struct.pack(">I", 2) + b"x" + bytes(81)), (b"cprt", b"text\\0\\0\\0\\0x\\0\\0\\0"), (b"wtpt", xyz(.9642, 1, .8249)),
                        (b"rXYZ", xyz(*green)), (b"gXYZ", xyz(*red)), (b"bXYZ", xyz(*blue)), (b"rTRC", curve), (b"gTRC", curve), (b"bTRC", curve)]
                table, data, start = b"", b"", 132 + 12 * len(tags)
                for name, tag in tags:
                    table += name + struct.pack(">II", start + len(data), len(tag)); data += tag + bytes(-len(tag) % 4)
                size = start + len(data)
                header = struct.pack(">I4xI", size, 0x2400000) + b"mntrRGB XYZ " + bytes(12) + b"acsp" + bytes(28) + fixed(.9642, 1, .8249) + bytes(48)
                open("swapped.icc", "wb").write(header + struct.pack(">I", len(tags)) + table + data)
                END
                convert -size 200x200 'xc:rgb(200,0,0)' -profile swapped.icc exchanged.jpg
                """
            try withMount(prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("cd .thumbnails/normal; identify -format '%w %h\\n' plain.jpg.png turned.jpg.png") == "128 64\n64 128")
                #expect(try mount.python(Samples.colour + """
                    # What was at the top is on the right.
                    print(colour(".thumbnails/normal/turned.jpg.png", 0.97, 0.5)[0] > 200, colour(".thumbnails/normal/turned.jpg.png", 0.02, 0.5)[2] > 200)
                    red, green, blue = colour(".thumbnails/normal/exchanged.jpg.png", 0.5, 0.5); print(red < 5, 195 < green < 205, blue < 5)
                    """) == "True True\nTrue True True")
                #expect(try mount.shell("identify -format '%w %h\\n' .previews/turned.jpg/page-1.png; cat .previews/turned.jpg/facts.txt | grep t: | paste -sd' '")
                    == "200 400\nheight: 400")
                #expect(try mount.shell("grep width .previews/turned.jpg/facts.txt") == "width: 200")
            }
        }

        /// What is in a folder that others may list, but may not read, is not in its picture.
        @Test func aFoldersPictureShowsWhatItsReadersMaySee() throws {
            let prepare = "mkdir d e; for d in d e; do convert -size 99x99 xc:blue $d/all.png; convert -size 99x99 xc:red $d/mine.png; chmod 600 $d/mine.png; done; chmod 700 e"
            try withMount(prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.python(Samples.colour + """
                    def colours(path):
                        return subprocess.run(["convert", path, "-alpha", "off", "-unique-colors", "txt:"], check=True, capture_output=True, text=True).stdout
                    for folder in "de":
                        found = colours(".thumbnails/large/" + folder + ".png"); print("#0000FF" in found.upper(), "#FF0000" in found.upper())
                    """) == "True False\nTrue True")
            }
        }

        /// Time and size can be given to any file.
        @Test func aFileOfTheSameTimeAndSizeIsAnotherOne() throws {
            try withMount(prepare: "mkdir d; convert -size 99x99 xc:red d/a.png; chmod 600 d/a.png; chmod 777 d") { (mount: Mount) throws in
                try mount.shell("cat .thumbnails/large/d/a.png.png >/dev/null")
                try mount.refuses("cat .thumbnails/large/d/a.png.png", "Permission denied", as: Account.alice)
                try mount.shell("head -c $(stat -c %s d/a.png) /dev/zero >d/b; touch -r d/a.png d/b; mv -f d/b d/a.png; test -r d/a.png", as: Account.alice)
                try mount.refuses("cat .thumbnails/large/d/a.png.png", "No such file", as: Account.alice)
            }
        }

        @Test func longNamesHavePictures() throws {
            let prepare = "n=$(python3 -c 'print(chr(0x4e00) * 84)'); d=.; for i in 1 2 3 4 5 6; do d=$d/$n; mkdir $d; done; convert -size 99x99 xc:red $d/a.png"
            try withMount(prepare: prepare) { (mount: Mount) throws in
                try mount.shell(Self.helpers + """
                    f=$(cd .thumbnails/normal; echo *); f=.thumbnails/normal/$f/$f/$f/$f/$f/$f/a.png.png
                    identify -format '%w %h' $f; cat $f >/dev/null; test $(count) = 1
                    """)
            }
        }

        @Test func anEntryOpenedByNameIsRenderedAtOnce() throws {
            try withMount(prepare: "mkdir d; convert -size 600x400 xc:red d/photo.jpg; head -c 9 /dev/zero >d/empty.bin") { (mount: Mount) throws in
                #expect(try mount.shell("ls .thumbnails/x-large") == "d")
                #expect(try mount.shell("identify -format '%w %h' .thumbnails/x-large/d/photo.jpg.png") == "512 341")
                // What stat(2) says is what there is to read.
                try mount.shell("f=.thumbnails/x-large/d/photo.jpg.png; test $(stat -c %s $f) = $(cat $f | wc -c)")
                try mount.refuses("cat .thumbnails/x-large/d/empty.bin.png", "No such file")
                try mount.refuses("cat .thumbnails/x-large/d/photo.jpg", "No such file")
                try mount.refuses("cat .thumbnails/other/d", "No such file")
            }
        }

        @Test func aNewVersionHasItsPictureAtTheNextLookup() throws {
            try withMount(prepare: "convert -size 200x100 xc:red a.png") { (mount: Mount) throws in
                #expect(try mount.python(Samples.colour + """
                    def draw(name): subprocess.run(["convert", "-size", "200x100", "xc:" + name, "PNG:" + os.environ["T"] + "/new"], check=True)
                    picture = ".thumbnails/large/a.png.png"
                    print(colour(picture, 0.5, 0.5)); seen = [os.stat(picture).st_ino]
                    for name, command in [("blue", "cat $T/new >a.png"), ("lime", "cp $T/new b; mv b a.png"), ("white", "cp $T/new $S/a.png; sleep 1.1")]:
                        draw(name); subprocess.run(command, shell=True, check=True)
                        seen.append(os.stat(picture).st_ino); print(colour(picture, 0.5, 0.5))
                    print(len(set(seen)))
                    """) == "(255, 0, 0)\n(0, 0, 255)\n(0, 255, 0)\n(255, 255, 255)\n4")
            }
        }

        @Test func whoHasAPictureOpenKeepsIt() throws {
            try withMount(prepare: "convert -size 200x100 xc:red a.png") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, subprocess
                    picture = open(".thumbnails/normal/a.png.png", "rb"); before = picture.read()
                    subprocess.run("convert -size 200x100 xc:blue a.png; cat .thumbnails/normal/a.png.png >/dev/null", shell=True, check=True)
                    picture.seek(0); print(picture.read() == before, os.fstat(picture.fileno()).st_size == len(before))
                    print(open(".thumbnails/normal/a.png.png", "rb").read() == before)
                    """) == "True True\nFalse")
            }
        }

        @Test func picturesFollowTheirDocuments() throws {
            try withMount(prepare: "mkdir d e; convert -size 200x100 xc:red d/a.png; convert -size 100x100 xc:blue d/b.png") { (mount: Mount) throws in
                try mount.shell(Self.helpers + """
                    ls .thumbnails/normal/d; drawn .thumbnails/normal/d 2; drawn=$(count)
                    # Nobody is still looking, nor looks before the pictures have followed, who would have the new names drawn.
                    sleep 0.5
                    mv d/a.png d/c.png; sleep 2; test -e .thumbnails/normal/d/c.png.png
                    mv d e/d; sleep 2; test "$(ls .thumbnails/normal/e/d)" = "$(printf 'b.png.png\\nc.png.png')"
                    cat .thumbnails/normal/e/d/*.png >/dev/null
                    test $(count) = $drawn  # nothing was drawn again
                    rm e/d/b.png; eventually '[ "$(ls .thumbnails/normal/e/d)" = c.png.png ]'
                    eventually '[ $(find "$QUIRE_CACHE_HOME" -name "*.png" | wc -l) = 1 ]'
                    """)
            }
        }

        @Test func theSameContentIsRenderedOnce() throws {
            try withMount(prepare: "convert -size 2000x1000 plasma:fractal a.jpg; for i in 1 2 3 4 5; do cp a.jpg copy$i.jpg; done") { (mount: Mount) throws in
                try mount.shell(Self.helpers + "ls .thumbnails/large; drawn .thumbnails/large 6")
                // The texts in them are each one's own.
                #expect(try mount.shell("cd .thumbnails/large; for f in *; do convert $f rgb:- | md5sum; done | sort -u | wc -l") == "1")
                #expect(try mount.shell("cd .thumbnails/large; identify -format '%[Thumb::URI]\\n' *.png | sort -u | wc -l") == "6")
            }
        }

        @Test func walksRenderNothing() throws {
            let prepare = "for d in a b c d e; do mkdir $d; convert -size 200x100 xc:red $d/x.png; done; convert -size 200x100 xc:red top.png"
            try withMount(prepare: prepare) { (mount: Mount) throws in
                try mount.shell(Self.helpers + """
                    find .thumbnails >/dev/null; ls -lR .thumbnails >/dev/null; grep -r word .thumbnails || true; du -s .thumbnails
                    tar cf /dev/null .thumbnails; rsync -a .thumbnails "$T/copy"; cp -r .thumbnails "$T/copy2"
                    python3 -c 'import os; list(os.walk(".thumbnails"))'
                    nice ls .thumbnails/normal; sleep 1
                    test $(count) = 0; test -z "$(find .thumbnails -name '*.png')"
                    # One who looks at one folder is shown it.
                    ls .thumbnails/normal/a; drawn .thumbnails/normal/a 1; test $(count) = 1
                    """)
            }
        }

        @Test func backupsPassOver() throws {
            try withMount(prepare: "convert -size 200x100 xc:red a.png") { (mount: Mount) throws in
                try mount.shell("cat .thumbnails/normal/a.png.png >/dev/null")
                #expect(try mount.shell("tar cf - --exclude-caches-all . | tar tf - | grep -c thumbnails || true") == "0")
                #expect(try mount.shell("head -c 43 .thumbnails/CACHEDIR.TAG") == "Signature: 8a477f597d28d172789f06886806bc55")
            }
        }

        @Test(arguments: Account.allCases)
        func whoWatchesIsToldOfEachPicture(account: Account) throws {
            try withMount(account, prepare: "mkdir d; for i in 1 2 3; do convert -size 2${i}0x100 xc:red d/$i.png; done") { (mount: Mount) throws in
                let told = try mount.shell("""
                    before=$(stat -c %y .thumbnails/large/d)
                    watching "$T/told" -e create --format '%e %f' .thumbnails/large/d
                    ls .thumbnails/large/d; eventually '[ $(wc -l <"$T/told") = 3 ]'
                    test "$before" != "$(stat -c %y .thumbnails/large/d)"; sort "$T/told"; kill $watcher
                    """)
                #expect(told == "CREATE 1.png.png\nCREATE 2.png.png\nCREATE 3.png.png")
            }
        }

        @Test func nothingIsMadeThereAndAPictureCanBeRemoved() throws {
            try withMount(prepare: "convert -size 200x100 xc:red a.png") { (mount: Mount) throws in
                for command in ["touch .thumbnails/new", "touch .thumbnails/normal/new", "mkdir .thumbnails/normal/d", "cp a.png .thumbnails/normal/b.png",
                    "mv a.png .thumbnails/normal/", "ln -s a.png .thumbnails/normal/l", "echo x >>.thumbnails/normal/a.png.png"] {
                    try mount.refuses(command, "")
                }
                try mount.shell(Self.helpers + """
                    cat .thumbnails/normal/a.png.png >/dev/null; test $(count) = 1; rm -f .thumbnails/normal/a.png.png
                    test -z "$(ls .thumbnails/normal)"; test -e a.png; cat .thumbnails/normal/a.png.png >/dev/null; test $(count) = 2
                    """)
            }
        }

        @Test func aFolderIsAPictureOfWhatIsInIt() throws {
            try withMount(prepare: "mkdir d empty; convert -size 200x200 xc:red d/a.png; convert -size 200x200 xc:blue d/b.png") { (mount: Mount) throws in
                #expect(try mount.python(Samples.colour + """
                    colours = {colour(".thumbnails/large/d.png", 0.25, 0.5), colour(".thumbnails/large/d.png", 0.75, 0.5)}
                    print(colours == {(255, 0, 0), (0, 0, 255)})
                    """) == "True")
                try mount.refuses("cat .thumbnails/large/empty.png", "No such file")
            }
        }

        /// In root's mount everybody sees what they may read, and nothing else.
        @Test func othersSeeWhatTheyMayRead() throws {
            let prepare = """
                mkdir open closed; for f in open/a open/mine closed/b; do convert -size 200x100 xc:red $f.png; done
                chown \(Account.alice) open/mine.png; chmod 600 open/mine.png; chmod 700 closed
                convert -size 200x100 xc:red open/list.png; chmod 600 open/list.png; setfacl -m u:\(Account.bob):r open/list.png
                """
            try withMount(prepare: prepare) { (mount: Mount) throws in
                try mount.shell(Self.helpers + "cd .thumbnails/normal; cat open/{a,mine,list}.png.png closed/b.png.png >/dev/null; ls open closed")
                for (user, seen) in [(Account.alice, "a.png.png mine.png.png"), (Account.bob, "a.png.png list.png.png")] {
                    #expect(try mount.shell("ls -m .thumbnails/normal/open | tr -d ,", as: user) == seen)
                    #expect(try mount.shell("cd .thumbnails/normal/open; for f in a mine list; do cat $f.png.png >/dev/null 2>&1 && echo $f.png.png || true; done | paste -sd' '", as: user) == seen)
                    try mount.refuses("ls .thumbnails/normal/closed", "ermission denied", as: user)
                    try mount.refuses("cat .thumbnails/normal/closed/b.png.png", "", as: user)
                }
                try mount.refuses("rm -f .thumbnails/normal/open/a.png.png", "", as: Account.alice)
            }
        }
    }
}
