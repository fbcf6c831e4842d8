import TestSupport
import Testing

extension MountTests {
    /// Nobody reads half a save, however reading and saving is done. `SaveExerciser` tells versions apart and knows a whole one.
    @Suite(.sharedMounts)
    struct TornReadTests {
        static let readers = "read pread mmap sendfile copy reopen"
        static let noneTorn = "torn 0 older 0 failed 0, failed saves 0 unseen 0, crashed 0, at the end whole"
        /// Three mounts, three numbers of savers, six readers: a million reads and more.
        static let readsOfEach = isLongRun ? 18_600 : 60

        @Test(arguments: SaveMount.allCases, [1, 2, 8])
        func noReadIsTorn(kind: SaveMount, savers: Int) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell(
                    "SaveExerciser torn doc \(savers) \(Self.readsOfEach) 1048576 300 \(Self.readers)", limit: .seconds(3600)
                ) == Self.noneTorn)
            }
        }

        /// - Parameters:
        ///   - start: as in `SaveExerciser/saver.h`.
        ///   - load: started before it, in the background, and ends when `$T/stop` is there.
        private func expectNoneTorn(_ kind: SaveMount, start: String, reads: Int, _ readers: String, beside load: String = "") throws {
            try withSharedMount(kind, prepare: "SaveExerciser version doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    \(load)
                    START=\(start) SaveExerciser torn doc 1 \(reads) 1048576 300 \(readers); touch "$T/stop"; wait
                    """, limit: .seconds(3600)) == Self.noneTorn)
            }
        }

        /// Savers that open the document through /proc/self/fd: the kernel changes the size of the inode that readers came to.
        @Test(arguments: SaveMount.allCases)
        func noReadIsTornOfASaveThroughProc(kind: SaveMount) throws {
            try expectNoneTorn(kind, start: "reopened", reads: isLongRun ? 16_700 : 60, Self.readers)
        }

        /// The processors are busy, so that programs come to an inode that a save is about to write by, or has: by an open that the kernel
        /// repeats, or since the answer to an OPEN is a while on its way. Calls that go by the kernel's size of the inode meet the end of theirs.
        /// Those of read(2) met it once in 18,000 reads, with the size of a question that was under way when the kernel cut the inode off.
        @Test(arguments: ["sendfile copy sendfile copy sendfile mmap", "read pread reopen read pread reopen"])
        func noReadIsTornOfASaveThroughProcOnABusyMachine(readers: String) throws {
            try expectNoneTorn(
                .rootWithoutPassthrough, start: "reopened", reads: isLongRun ? 25_000 : 1_500, readers, beside: Self.busyLoops)
        }

        private static let busyLoops = #"for n in $(seq 12); do while [ ! -e "$T/stop" ]; do :; done & done"#

        /// Savers that cut it off by ftruncate(2). Calls that go by the kernel's size of the inode may meet its end too early (quire help saves).
        @Test(arguments: SaveMount.allCases)
        func noReadIsTornOfASaveByFtruncate(kind: SaveMount) throws {
            try expectNoneTorn(kind, start: "late", reads: isLongRun ? 25_000 : 100, "read pread read pread")
        }

        /// An open that the kernel repeats may come to the inode that a save has kept: the processors are busy, so that some do.
        @Test func noReadIsTornOfASaveByFtruncateOnABusyMachine() throws {
            try expectNoneTorn(
                .rootWithoutPassthrough, start: "late", reads: isLongRun ? 25_000 : 1_500, "read pread read pread",
                beside: Self.busyLoops)
        }

        /// The kernel has one size of the inode that reader and saver have open, which stays the reader's as long as the saver does not ask for
        /// its own. A mapping and sendfile(2) go by it.
        @Test(arguments: SaveMount.allCases)
        func aReaderKeepsItsVersionThroughASaveByFtruncate(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import mmap, os, subprocess, sys
                    size = 300_000
                    open("doc", "wb").write(b"a" * size)
                    file = os.open("doc", os.O_RDONLY)
                    mapped = mmap.mmap(file, size, prot=mmap.PROT_READ)
                    saver = subprocess.Popen([sys.executable, "-c", "; ".join([
                        "import os, sys", "file = os.open('doc', os.O_WRONLY)", "os.ftruncate(file, 0); print(flush=True)",
                        "sys.stdin.readline(); os.write(file, b'b' * 10); print(flush=True)",
                        "sys.stdin.readline(); os.close(file); print(flush=True)"])], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                    def sent():
                        os.lseek(file, 0, os.SEEK_SET)
                        target = os.memfd_create("target")
                        return sum(iter(lambda: os.sendfile(target, file, None, size), 0))
                    def stored():
                        place, (end, written) = 0, os.pipe()
                        while place < size: place += len(os.read(end, os.write(written, memoryview(mapped)[place:place + 4000])))
                        return place
                    for step in "cut", "written", "closed":
                        if step != "cut": saver.stdin.write(b"\\n"); saver.stdin.flush()
                        saver.stdout.readline()
                        print(step, sent(), stored(), os.pread(file, size + 1, 0) == b"a" * size)
                    print(saver.wait(), open("doc").read())
                    """) == """
                    cut 300000 300000 True
                    written 300000 300000 True
                    closed 300000 300000 True
                    0 bbbbbbbbbb
                    """)
            }
        }

        /// Answers to readdir that are on their way when a version is published may not bring the old one back.
        @Test(arguments: SaveMount.accounts)
        func whoListsTheFolderHidesNoVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir d; for n in $(seq 40); do echo $n >d/$n; done") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    for n in 1 2 3; do while [ ! -e "$T/stop" ]; do ls -l d >/dev/null; done & done
                    SaveExerciser torn d/doc 1 \(isLongRun ? 7_000 : 300) 16384 100 read; touch "$T/stop"; wait
                    """, limit: .seconds(600)) == Self.noneTorn)
            }
        }

        /// A listing that was answered before a save, and that the kernel takes in after it: an app's memory, to which the names go, is
        /// there only then (userfaultfd, which is root's).
        @Test(arguments: [SaveMount.root, .rootWithoutPassthrough])
        func aListingTakenInAfterASaveHidesNoVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir d; echo >d/doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import ctypes, fcntl, mmap, os, struct, threading, time
                    libc = ctypes.CDLL(None, use_errno=True); libc.syscall.restype = ctypes.c_long
                    userfaultfd, getdents = {"x86_64": (323, 217), "aarch64": (282, 61)}[os.uname().machine]
                    pages = libc.syscall(userfaultfd, os.O_CLOEXEC)
                    def told(request, *values): fcntl.ioctl(pages, request, bytearray(struct.pack("%dQ" % len(values), *values)))
                    told(0xc018aa3f, 0xaa, 0, 0)
                    buffer = mmap.mmap(-1, 65536, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
                    told(0xc020aa00, address, 65536, 1, 0)
                    folder = os.open("d", os.O_RDONLY)
                    lister = threading.Thread(
                        target=lambda: libc.syscall(getdents, folder, ctypes.c_void_p(address), ctypes.c_size_t(65536)))
                    lister.start(); os.read(pages, 32)
                    file = os.open("d/doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"new text"); os.close(file)
                    told(0xc020aa04, address, 65536, 0, 0)
                    # The close has not waited for it. A look would have the name looked up again.
                    lister.join(); time.sleep(1); print(os.stat("d/doc").st_size)
                    """) == "8")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func threadsOfOneProcessSaveOneDocument(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("SaveExerciser threads doc 4 1200") == "failed 0")
                #expect(try mount.shell("stat -c %s doc") == "4096")
            }
        }

        /// What watches over documents for an IDE is its child, and older than any save.
        @Test(arguments: SaveMount.accounts)
        func aChildFromBeforeTheSaveReadsWholeVersions(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, time
                    size = 64 << 10
                    open("doc", "wb").write(b"a" * size)
                    if os.fork() == 0:
                        torn, seen = 0, set()
                        while not os.path.exists(os.environ["T"] + "/stop"):
                            with open("doc", "rb") as file: content = file.read()
                            if len(content) != size or len(set(content)) != 1: torn += 1
                            seen.update(content[:1])
                        print(torn, len(seen) > 5); os._exit(0 if print(end="", flush=True) is None else 1)
                    for n in range(\(isLongRun ? 2_000 : 60)):
                        with open("doc", "wb", buffering=0) as file:
                            for part in range(4): file.write(bytes([98 + n % 20]) * (size // 4)); time.sleep(0.001)
                    open(os.environ["T"] + "/stop", "w").close(); os.wait()
                    """) == "0 True")
            }
        }

        /// The published version that others read need not be looked up again: one open at a time, through a mapping.
        @Test(arguments: SaveMount.allCases)
        func aVersionStaysAsLongAsItIsOpen(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    open("doc", "w").write("old" * 1000)
                    file = open("doc", "rb"); mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
                    for n in range(3):
                        other("printf %%05000d%%d 0 %d >doc" % n)
                        assert mapped[:] == b"old" * 1000 and os.fstat(file.fileno()).st_size == 3000
                        assert os.pread(file.fileno(), 9000, 0) == b"old" * 1000
                        fresh = open("doc", "rb"); assert fresh.read() == b"0" * 5000 + b"%d" % n
                        again = mmap.mmap(fresh.fileno(), 0, prot=mmap.PROT_READ); assert again[5000:] == b"%d" % n
                    print(os.stat("doc").st_size)
                    """) == "5001")
            }
        }
    }
}
