import TestSupport
import Testing

extension MountTests {
    /// `quire thumbnail` and `quire types`.
    struct ThumbnailCommandTests {
        private static let documents = "mkdir d; for i in 1 2 3 4; do convert -size 2${i}0x100 xc:red d/$i.png; done; echo words >d/words.txt; head -c 99 /dev/zero >d/x.quire; : >d/empty"

        @Test(arguments: Account.allCases)
        func aPictureIsWrittenToAFile(account: Account) throws {
            try withMount(account, prepare: Self.documents) { (mount: Mount) throws in
                try mount.shell("""
                    quire thumbnail d/1.png -o "$T/a.png"; test "$(identify -format '%w %h' "$T/a.png")" = '210 100'
                    test "$(quire thumbnail --size 100 d/4.png -o - | identify -format '%w %h' -)" = '128 53'
                    quire thumbnail d/1.png d/2.png | grep -c drawn
                    """)
                try mount.refuses("quire thumbnail d/x.quire d/1.png", "nothing here draws documents of type")
                try mount.refuses("quire thumbnail d/empty", "it is empty")
                try mount.refuses("quire thumbnail d/none", "No such file")
                // One that is not there keeps nobody from the others.
                let some = try mount.attempt("quire thumbnail d/none d/1.png; quire types --json d/none d/1.png")
                #expect(some.status == 1 && some.output == "d/1.png: drawn\n", "\(some)")
                #expect(try mount.attempt("quire types --json d/none d/1.png").output.contains("image/png"))
                try mount.refuses("quire thumbnail --size huge d/1.png", "huge")
                try mount.refuses("quire thumbnail d/1.png d/2.png -o x", "one document")
                #expect(try mount.attempt("quire thumbnail --json d/x.quire").output.contains("\"drawn\" : false"))
            }
        }

        @Test(arguments: Account.allCases)
        func aFolderIsWarmedAndCleared(account: Account) throws {
            try withMount(account, prepare: Self.documents) { (mount: Mount) throws in
                let warmed = try mount.attempt("quire thumbnail --warm --size normal .")
                #expect(warmed.output == "5 drawn, 1 not.\n" && warmed.errors.contains("x.quire"), "\(warmed)")
                #expect(try mount.shell("quire thumbnail --status").contains("normal 5, large 0"))
                #expect(try mount.shell("quire thumbnail --clear d") == "Forgot the thumbnails of 6 documents.")
                #expect(try mount.shell("quire thumbnail --clear d") == "Forgot the thumbnails of 0 documents.")
                #expect(try mount.shell("quire thumbnail --status").contains("normal 0, large 0"))
                // A listing has them rendered again.
                try mount.shell("all() { [ $(ls .thumbnails/normal/d | wc -l) = 5 ]; }; eventually all")
                // After warming it has all at once.
                try mount.shell("quire thumbnail --clear d")
                _ = try mount.attempt("quire thumbnail --warm --size normal .")
                #expect(try mount.shell("ls .thumbnails/normal/d | wc -l") == "5")
            }
        }

        @Test func whyNothingCanBeKeptIsTold() throws {
            try withMount(.user, prepare: Self.documents + "; mkdir -p $XDG_CACHE_HOME/thumbnails; chmod 500 $XDG_CACHE_HOME/thumbnails") { (mount: Mount) throws in
                try mount.refuses("quire thumbnail d/1.png", "/thumbnails: no thumbnail can be written there: Permission denied")
                #expect(try mount.shell("quire thumbnail --status; quire status . --json").contains("no thumbnail can be written there"))
                try mount.shell("chmod 700 $XDG_CACHE_HOME/thumbnails; quire thumbnail d/2.png; quire status . --json | { grep -c 'can be written' || true; }")
            }
        }

        /// The desktop's own cache, so that file managers find it.
        @Test func outsideOfMountsItRendersItself() throws {
            try withMount(.user, prepare: Self.documents) { (mount: Mount) throws in
                try mount.shell("""
                    cp -r "$S/d" "$T/"; cd "$T"; { quire thumbnail --warm d 2>/dev/null || true; } | grep '5 drawn'
                    sum=$(printf %s "file://$T/d/1.png" | md5sum | cut -c1-32); f=$XDG_CACHE_HOME/thumbnails/large/$sum.png
                    test "$(identify -format '%[Thumb::URI]' $f)" = "file://$T/d/1.png"; test "$(stat -c %a $f)" = 600
                    quire thumbnail --clear d; test ! -e $f
                    """)
            }
        }

        /// What is rendered through a mount is the desktop's too, under the path as it is browsed.
        @Test func aUsersMountFillsTheDesktopsCache() throws {
            try withMount(.user, prepare: Self.documents) { (mount: Mount) throws in
                try mount.shell("""
                    quire thumbnail --size normal d/1.png
                    sum=$(printf %s "file://$M/d/1.png" | md5sum | cut -c1-32); f=$XDG_CACHE_HOME/thumbnails/normal/$sum.png
                    cmp $f .thumbnails/normal/d/1.png.png; test "$(stat -c %a $f $(dirname $f))" = "$(printf '600\\n700')"
                    quire thumbnail d/x.quire || ls $XDG_CACHE_HOME/thumbnails/fail/quire-1 | wc -l
                    rm d/1.png; eventually [ ! -e $f ]
                    """)
            }
        }

        @Test func typesTellsTheTypeAndWhatRendersIt() throws {
            try withMount(prepare: Self.documents) { (mount: Mount) throws in
                let text = try mount.shell("quire types d/1.png d/words.txt d d/x.quire")
                for part in ["image/png (PNG image)", "built in: the image", "text/plain", "built in: the beginning, as prose", "inode/directory", "nobody"] {
                    #expect(text.contains(part), "\(text)")
                }
                #expect(try mount.shell("quire types --json d/1.png | python3 -c 'import json, sys; print(json.load(sys.stdin)[0][\"type\"])'") == "image/png")
                try mount.refuses("quire types d/none", "No such file")
            }
        }
    }
}
