import TestSupport
import Testing

extension MountTests {
    /// `.sh_thumbnails`, where Xfce looks.
    struct SharedThumbnailTests {
        /// `sum NAME` is a picture's name as Xfce has it up to 4.18, `sum ./NAME` from 4.20 on.
        private static let helpers = """
            sum() { printf %s "$1" | md5sum | cut -c1-32; }
            ready() { eventually [ -e "$1" ]; }

            """
        private static let documents = "mkdir d; convert -size 200x100 xc:red 'd/a picture.png'; setfattr -n user.xdg.tags -v work 'd/a picture.png'"

        @Test(arguments: Account.allCases, ["a%20picture.png", "./a%20picture.png"])
        func aPictureIsThereAMomentAfterItsLookup(account: Account, name: String) throws {
            try withMount(account, prepare: Self.documents) { (mount: Mount) throws in
                try mount.shell(Self.helpers + """
                    f=d/.sh_thumbnails/normal/$(sum \(name)).png
                    # It is not waited for.
                    test ! -e $f; ready $f; test $(identify -format '%w %h' $f) = '128 64'
                    cmp $f ".thumbnails/normal/d/a picture.png.png"
                    test "$(identify -format '%[Thumb::MTime]' $f)" = "$(stat -c %.6Y 'd/a picture.png')"
                    """.replacing("test $(identify -format '%w %h' $f) = '128 64'", with: "test \"$(identify -format '%w %h' $f)\" = '128 64'"))
            }
        }

        @Test func itIsInEveryFolderAndListedInNone() throws {
            try withMount(prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("echo >>d/new; cat '.thumbnails/normal/d/a picture.png.png' >/dev/null")
                try mount.shell(Self.helpers + """
                    for d in . d .tags .tags/work .recents; do ls -d $d/.sh_thumbnails/large; expect_equal "$(ls -A $d | grep sh_ || true)" ''; done
                    ready .tags/work/.sh_thumbnails/normal/$(sum a%20picture.png).png
                    test ! -e .tags/work/.sh_thumbnails/normal/$(sum other).png
                    """)
                try mount.refuses("ls d/.sh_thumbnails/other", "No such file")
                try mount.refuses("touch d/.sh_thumbnails/normal/x", "")
            }
        }

        @Test func aRepositoryOfTheStoresOwnStays() throws {
            try withMount(prepare: "mkdir -p d/.sh_thumbnails/normal; echo mine >d/.sh_thumbnails/normal/x.png") { (mount: Mount) throws in
                #expect(try mount.shell("cat d/.sh_thumbnails/normal/x.png; ls -A d") == "mine\n.sh_thumbnails")
            }
        }

        /// Whoever shows the document looks again when it is told that something changed.
        @Test func whoWatchesTheFolderIsTold() throws {
            try withMount(prepare: Self.documents) { (mount: Mount) throws in
                #expect(try mount.shell(Self.helpers + """
                    watching "$T/told" -e attrib --format '%f' d
                    test ! -e d/.sh_thumbnails/normal/$(sum a%20picture.png).png
                    eventually grep -q picture "$T/told"; kill $watcher; cat "$T/told"
                    """) == "a picture.png")
            }
        }

        @Test func anotherUsersDocumentIsNotShown() throws {
            try withMount(prepare: "convert -size 200x100 xc:red a.png; chmod 600 a.png") { (mount: Mount) throws in
                try mount.shell(Self.helpers + "cat .thumbnails/normal/a.png.png >/dev/null; test -e .sh_thumbnails/normal/$(sum a.png).png")
                try mount.refuses(Self.helpers + "cat .sh_thumbnails/normal/$(sum a.png).png", "", as: Account.alice)
                try mount.shell("sleep 1.1")
                try mount.refuses(Self.helpers + "cat .sh_thumbnails/normal/$(sum a.png).png", "No such file", as: Account.alice)
            }
        }
    }
}
