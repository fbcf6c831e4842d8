import TestSupport
import Testing

extension MountTests {
    /// readdir(3): an entry that is there from the first piece of a listing to the last is seen once, whatever happens beside it.
    @Suite(.sharedMounts) struct ListingInPiecesTests {
        /// `exercise` reads a folder by several readers in pieces of random sizes; between two pieces names are made and removed, and
        /// others list the folder. It answers the readings that missed one of the stable names or saw it twice.
        private static let readers = """
            import ctypes, os, random, struct
            libc = ctypes.CDLL(None, use_errno=True)
            class Reader:
                def __init__(self, path):
                    self.file, self.names, self.ended = os.open(path, os.O_RDONLY | os.O_DIRECTORY), [], False
                def piece(self, size):
                    buffer = ctypes.create_string_buffer(size)
                    count = libc.syscall(217, self.file, buffer, size)  # getdents64
                    if count < 0: raise OSError(ctypes.get_errno(), "getdents64")
                    self.ended, place = count == 0, 0
                    while place < count:
                        length, = struct.unpack_from("H", buffer, place + 16)
                        self.names.append(ctypes.string_at(ctypes.addressof(buffer) + place + 19).decode())
                        place += length
                def rest(self, size=32768):
                    while not self.ended: self.piece(size)
                    os.close(self.file)
                    return self.names
            def whole(path): return Reader(path).rest()
            # The kernel's listings are kept in its page cache.
            def reclaim():
                if os.geteuid() == 0: open("/proc/sys/vm/drop_caches", "w").write("2")
            def exercise(path, make, remove, stable, rounds):
                chance, serial, made, wrong = random.Random(7), 0, [], []
                for n in range(rounds):
                    readers = [Reader(path) for _ in range(chance.choice([1, 1, 2, 3]))]
                    size = chance.choice([280, 300, 512, 1000, 4096, 16384, 32768])
                    while waiting := [reader for reader in readers if not reader.ended]:
                        chance.choice(waiting).piece(size)
                        what = chance.randrange(8 if size < 4096 else 4)
                        if what == 0:
                            serial += 1
                            made.append("made%d" % serial)
                            make(made[-1])
                        elif what == 1 and made: remove(made.pop(chance.randrange(len(made))))
                        elif what == 2: whole(path)
                        elif what == 3 and chance.randrange(20) == 0: reclaim()
                    for reader in readers:
                        os.close(reader.file)
                        missing = stable - set(reader.names)
                        twice = {name for name in stable if reader.names.count(name) > 1}
                        if missing or twice: wrong.append((n, size, sorted(missing)[:3], sorted(twice)[:3]))
                return wrong

            """
        private static let rounds = isLongRun ? 2_000 : 60

        @Test(arguments: SaveMount.accounts)
        func aReaderInTheMiddleOfTheRootSeesTheRest(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "touch f{0001..3000}; ls >/dev/null") { mount in
                let found = try mount.python(Self.readers + """
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
                let found = try mount.python(Self.readers + """
                    folder = "\(folder)"
                    stable = {".", ".."} | {"stable%d" % (n + 1) for n in range(300)}
                    if folder == ".": stable |= {".recents", ".tags", ".thumbnails"}
                    make = lambda name: open(folder + "/" + name, "w").close()
                    print(exercise(folder, make, lambda name: os.unlink(folder + "/" + name), stable, \(Self.rounds)))
                    """, limit: .seconds(isLongRun ? 3_600 : 300))
                #expect(found == "[]")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whatIsTaggedThroughoutIsSeenOnce(kind: SaveMount) throws {
            let prepare = "mkdir d; touch d/stable{1..300}; setfattr -n user.xdg.tags -v pieces d/*"
            try withSharedMount(kind, prepare: prepare) { mount in
                let found = try mount.python(Self.readers + """
                    folder, stable = ".tags/pieces", {".", ".."} | {"stable%d" % (n + 1) for n in range(300)}
                    def make(name):
                        open("d/" + name, "w").close()
                        os.symlink("../../d/" + name, folder + "/" + name)
                    print(exercise(folder, make, lambda name: os.unlink(folder + "/" + name), stable, \(Self.rounds / 2)))
                    """, limit: .seconds(isLongRun ? 3_600 : 300))
                #expect(found == "[]")
            }
        }

        /// rewinddir(3): the reading begins anew, with what is there now. seekdir(3): an entry's place is kept after the end, too.
        @Test(arguments: [".", "d", ".tags/pieces"])
        func aReadingBeginsAnewAndContinuesWhereItWas(folder: String) throws {
            let prepare = "mkdir d; touch {.,d}/a{1..9}; setfattr -n user.xdg.tags -v pieces d/*"
            try withSharedMount(.root, prepare: prepare) { mount in
                let found = try mount.python(Self.readers + """
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
