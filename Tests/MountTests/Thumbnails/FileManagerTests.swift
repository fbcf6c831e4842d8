import TestSupport
import Testing

extension MountTests {
    /// File managers show the mount's pictures: of a type that none of them can render.
    struct FileManagerTests {
        /// An office document whose own picture is all of one colour.
        private static let documents = """
            mkdir Thumbnails; convert -size 256x256 xc:'rgb(250,10,200)' Thumbnails/thumbnail.png
            printf application/vnd.oasis.opendocument.text >mimetype
            zip -q -0 letter.odt mimetype; zip -q letter.odt Thumbnails/thumbnail.png; rm -r Thumbnails mimetype
            setfattr -n user.xdg.tags -v work letter.odt

            """

        /// `look(FOLDER, RUNS)` is whether a file manager comes to show the colour there. Each run is given more time.
        private static let helpers = """
            def look(folder, runs=5):
                for attempt in range(runs):
                    program = run("dbus-run-session", name, mount + "/" + folder)
                    limit, seen = time.monotonic() + 10 * 2 ** attempt, False
                    while time.monotonic() < limit and not seen:
                        seen = share(250, 10, 200) > 0.002
                        time.sleep(0.1)
                    end(program, seen or attempt == runs - 1)
                    if seen: return True
                return False

            """

        static let folders = [".", ".tags/work", ".recents"]

        /// It looks in `.sh_thumbnails`, and has nothing rendered itself: root's mounts are not rendered into its cache.
        @Test(arguments: folders)
        func thunarShowsThem(folder: String) throws {
            try withMount(prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("touch letter.odt; cat letter.odt >letter; mv letter letter.odt; setfattr -n user.xdg.tags -v work letter.odt; ls .recents")
                #expect(try mount.python(Screen.python(for: "thunar") + Self.helpers + "print(look('\(folder)'))") == "True")
                try mount.shell("test -z \"$(find $XDG_CACHE_HOME/thumbnails -name '*.png' 2>/dev/null)\"; ls .thumbnails/normal | grep letter.odt.png")
            }
        }

        /// They look in the desktop's cache, by the path they show. PCManFM shows what comes later when it shows the folder again.
        @Test(arguments: ["nautilus", "pcmanfm"], folders)
        func othersFindThemInTheDesktopsCache(program: String, folder: String) throws {
            try withMount(.user, prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("cat letter.odt >letter; mv letter letter.odt; setfattr -n user.xdg.tags -v work letter.odt; ls .recents")
                let seen = try mount.python(
                    Screen.python(for: program) + Self.helpers + "print(look('\(folder)'))", limit: .seconds(600))
                // Whether it was not rendered, or not shown, which PCManFM does not always do when it shows the folder again.
                let rendered = try mount.shell("find $XDG_CACHE_HOME/thumbnails -type f -printf '%P %T+\\n'; date; stat -c %y letter.odt")
                #expect(seen == "True", "\(rendered)")
                #expect(try mount.shell("quire status . --json | grep -c '\"thumbnailsDrawn\" : 0' || true") == "0")
            }
        }

        /// Whoever lists a folder without showing it has nothing rendered.
        @Test func otherProgramsHaveNothingRendered() throws {
            try withMount(prepare: Self.documents) { (mount: Mount) throws in
                try mount.shell("ls -lA; cat letter.odt >/dev/null; find . >/dev/null; sleep 0.6; quire status . --json | grep '\"thumbnailsDrawn\" : 0'")
            }
        }

        /// Pictures under the paths of links go with the documents, and with all others when they are cleared.
        @Test func picturesOfLinksGo() throws {
            try withMount(.user, prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("""
                    cat letter.odt >letter; mv letter letter.odt; setfattr -n user.xdg.tags -v work letter.odt; ls .recents
                    picture() { printf '%s/thumbnails/large/%s.png' "$XDG_CACHE_HOME" $(printf %s "file://$M/$1" | md5sum | cut -c1-32); }
                    shown() {
                        for folder in .recents .tags/work; do python3 -c 'import os, sys; os.path.exists(sys.argv[1] + "/.hidden")' $folder; sleep 0.6; done
                        eventually '[ -e $(picture .recents/'"$1) ] && [ -e "'$(picture .tags/work/'"$1) ]"
                    }
                    gone() { eventually '[ ! -e $(picture .recents/'"$1) ] && [ ! -e "'$(picture .tags/work/'"$1) ]"; }
                    shown letter.odt
                    mv letter.odt other.odt; gone letter.odt; shown other.odt
                    quire thumbnail --clear .; gone other.odt; shown other.odt
                    rm other.odt; gone other.odt
                    """)
            }
        }

        /// A later lookup is heard of, too: though nothing was found at the first one, or the folder has such a file and was listed with it.
        @Test(arguments: ["", "echo new.odt >.hidden"])
        func whatIsAddedIsRenderedAtTheNextLookup(before: String) throws {
            try withMount(.user, prepare: Self.documents + before) { (mount: Mount) throws in
                try mount.shell("""
                    ls -la >/dev/null
                    python3 -c 'import os; os.path.exists(".hidden")'; sleep 1; convert -size 90x60 xc:green new.png
                    python3 -c 'import os; os.path.exists(".hidden")'
                    sum=$(printf %s "file://$M/new.png" | md5sum | cut -c1-32)
                    eventually [ -e $XDG_CACHE_HOME/thumbnails/large/$sum.png ]
                    """)
            }
        }
    }
}
