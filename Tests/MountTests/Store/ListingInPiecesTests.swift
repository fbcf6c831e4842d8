import TestSupport
import Testing

extension MountTests {
    /// readdir(3): an entry that is there from the first piece of a listing to the last is seen once, whatever happens beside it.
    @Suite(.sharedMounts) struct ListingInPiecesTests {
        private static let readers = Products.text(of: "listing-readers.py")
        private static let rounds = isLongRun ? 2_000 : 60

        private func reading(_ mount: Mount, _ program: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
            try mount.python(
                Self.readers + program, in: "/", as: 0, limit: .seconds(isLongRun ? 3_600 : 300), sourceLocation: sourceLocation)
        }

        /// A folder with things in it that stay, and how others are made and removed there.
        struct Folder: Sendable, CustomTestStringConvertible {
            let path: String
            let prepare: String
            /// Python: the set of what stays.
            let stable: String
            /// Python statements, for a `name`.
            let make: String
            let remove: String
            var testDescription: String { path }

            private static let ten = "{'stable%d' % n for n in range(10)}"
            static let all = [
                Folder(path: "folder", prepare: "mkdir folder; touch folder/stable{0..9}", stable: ten,
                    make: "open('folder/' + name, 'w').close()", remove: "os.unlink('folder/' + name)"),
                Folder(path: ".", prepare: "touch stable{0..9}", stable: ten + " | {'.favorites', '.recents', '.search', '.tags', '.thumbnails'}",
                    make: "open(name, 'w').close()", remove: "os.unlink(name)"),
                Folder(path: ".recents", prepare: "mkdir d; for n in {0..9}; do echo $n >d/stable$n; done", stable: ten,
                    make: "open('d/' + name, 'w').write('x'); open('d/stable3', 'a').write('x')", remove: "os.unlink('.recents/' + name)"),
                Folder(path: ".tags", prepare: "mkdir .tags/stable{0..9}", stable: ten,
                    make: "os.mkdir('.tags/' + name)", remove: "os.rmdir('.tags/' + name)"),
                Folder(path: ".tags/t", prepare: "mkdir d; touch d/stable{0..9}; setfattr -n user.xdg.tags -v t d/*", stable: ten,
                    make: "open('d/' + name, 'w').close(); os.symlink('../../d/' + name, '.tags/t/' + name)",
                    remove: "os.unlink('.tags/t/' + name)"),
                Folder(path: ".thumbnails", prepare: "mkdir d", stable: "{'normal', 'large', 'x-large', 'xx-large'}",
                    make: "os.mkdir('d/' + name)", remove: "os.rmdir('d/' + name)"),
                Folder(path: ".thumbnails/large/d", prepare: "mkdir -p d/stable{0..9}", stable: ten,
                    make: "os.mkdir('d/' + name)", remove: "os.rmdir('d/' + name)"),
            ]
        }

        @Test(arguments: SaveMount.accounts, Folder.all)
        func inPiecesOfEverySizeWhatIsThereThroughoutIsSeenOnce(kind: SaveMount, folder: Folder) throws {
            try withSharedMount(kind, prepare: folder.prepare) { mount in
                let found = try reading(mount, """
                    stable = {".", ".."} | \(folder.stable)
                    def make(name): \(folder.make)
                    def remove(name): \(folder.remove)
                    print(every_size("\(folder.path)", make, remove, stable, \(isLongRun ? 1 : 8)))
                    """)
                #expect(found == "[]")
                try mount.shell("find .tags -depth -mindepth 1 -delete")
            }
        }

        /// Whatever becomes of the folder, a claim's snapshot of it has what was there.
        @Test(arguments: SaveMount.accounts)
        func aSnapshotsFolderIsReadInPiecesOfEverySize(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir d; touch d/stable{0..9}") { mount in
                let found = try reading(mount, """
                    hold = subprocess.Popen(
                        ["quire", "coordinate", "--read", "d", "--", "sh", "-c", 'echo "$QUIRE_SNAPSHOT"; cat'], text=True,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                    snapshot = hold.stdout.readline().rstrip()
                    stable = {".", ".."} | {"stable%d" % n for n in range(10)}
                    def make(name): open("d/" + name, "w").close()
                    def remove(name): os.unlink("d/" + name)
                    print(every_size(snapshot, make, remove, stable, \(isLongRun ? 1 : 8)), set(whole(snapshot)) == stable)
                    hold.stdin.close()
                    print(hold.wait())
                    """)
                #expect(found == "[] True\n0")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aReaderInTheMiddleOfTheRootSeesTheRest(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "touch f{0001..3000}; ls >/dev/null") { mount in
                let found = try reading(mount, """
                    first = Reader(".")
                    first.piece(32768)
                    open("new", "w").close()
                    second = Reader(".")
                    second.piece(32768)
                    names = first.rest()
                    print(len([name for name in names if name[0] == "f"]), len(set(names)) == len(names))
                    """)
                #expect(found == "3000 True")
            }
        }

        @Test(arguments: SaveMount.accounts, [".", "folder"])
        func whatIsThereThroughoutIsSeenOnce(kind: SaveMount, folder: String) throws {
            try withSharedMount(kind, prepare: "mkdir -p folder; cd \(folder); touch stable{1..300} other{1..40}") { mount in
                let found = try reading(mount, """
                    folder = "\(folder)"
                    stable = {".", ".."} | {"stable%d" % (n + 1) for n in range(300)}
                    if folder == ".": stable |= {".favorites", ".recents", ".search", ".tags", ".thumbnails"}
                    make = lambda name: open(folder + "/" + name, "w").close()
                    print(exercise(folder, make, lambda name: os.unlink(folder + "/" + name), stable, \(Self.rounds)))
                    """)
                #expect(found == "[]")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whatIsTaggedThroughoutIsSeenOnce(kind: SaveMount) throws {
            let prepare = "mkdir d; touch d/stable{1..300}; setfattr -n user.xdg.tags -v pieces d/*"
            try withSharedMount(kind, prepare: prepare) { mount in
                let found = try reading(mount, """
                    folder, stable = ".tags/pieces", {".", ".."} | {"stable%d" % (n + 1) for n in range(300)}
                    def make(name):
                        open("d/" + name, "w").close()
                        os.symlink("../../d/" + name, folder + "/" + name)
                    print(exercise(folder, make, lambda name: os.unlink(folder + "/" + name), stable, \(Self.rounds / 2)))
                    """)
                #expect(found == "[]")
            }
        }

        /// rewinddir(3): the reading begins anew, with what is there now. seekdir(3): an entry's place is kept after the end, too.
        @Test(arguments: [".", "d", ".tags/pieces"])
        func aReadingBeginsAnewAndContinuesWhereItWas(folder: String) throws {
            let prepare = "mkdir d; touch {.,d}/a{1..9}; setfattr -n user.xdg.tags -v pieces d/*"
            try withSharedMount(.root, prepare: prepare) { mount in
                let found = try reading(mount, """
                    reader = Reader("\(folder)")
                    reader.piece(280)
                    place, seen = os.lseek(reader.file, 0, os.SEEK_CUR), len(reader.names)
                    while not reader.ended: reader.piece(280)
                    names, reader.names, reader.ended = reader.names, [], False
                    os.lseek(reader.file, place, os.SEEK_SET)
                    while not reader.ended: reader.piece(280)
                    print(reader.names == names[seen:], len(names) == len(set(names)) > 9)
                    for parent in [".", "d"]: open(parent + "/new", "w").close()
                    os.setxattr("d/new", "user.xdg.tags", b"pieces")
                    os.lseek(reader.file, 0, os.SEEK_SET)
                    reader.names, reader.ended = [], False
                    print(set(reader.rest()) - set(names))
                    """)
                #expect(found == "True True\n{'new'}")
            }
        }
    }
}
