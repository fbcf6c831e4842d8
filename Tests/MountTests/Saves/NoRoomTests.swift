import TestSupport
import Testing

extension MountTests {
    /// Saves that the store has no room for: the error reaches the app, the old content stays (rules 7 and 10).
    struct NoRoomTests {
        enum Disk: String, CaseIterable, Sendable {
            case tmpfs, ext4, btrfsQuota

            /// Makes a store of some megabytes.
            var preparation: String {
                switch self {
                case .tmpfs: "mount -t tmpfs -o size=4m store \"$S\""
                case .ext4: """
                    truncate -s 6M "$T/disk"; mkfs.ext4 -q -m 0 -O ^has_journal -E lazy_itable_init=0 "$T/disk"
                    mount -o loop "$T/disk" "$S"; rmdir "$S/lost+found"
                    """
                case .btrfsQuota: """
                    truncate -s 200M "$T/disk"; mkfs.btrfs -q "$T/disk" >/dev/null; mkdir "$T/top"
                    mount -o loop "$T/disk" "$T/top"
                    btrfs quota enable "$T/top"; btrfs subvolume create "$T/top/v" >/dev/null; btrfs qgroup limit 4M "$T/top/v"
                    mount --bind "$T/top/v" "$S"
                    """
                }
            }
            var message: String { self == .btrfsQuota ? "Disk quota exceeded" : "No space left" }
        }
        static let cases: [(SaveMount, Disk)] =
            SaveMount.allCases.map { ($0, .tmpfs) } + SaveMount.accounts.map { ($0, .ext4) } + [(.root, .btrfsQuota)]

        private func withSmallStore(_ kind: SaveMount, _ disk: Disk, _ body: (Mount) throws -> Void) throws {
            try withSmallStore(kind, preparation: disk.preparation, body)
        }

        private func withSmallStore(_ kind: SaveMount, preparation: String, _ body: (Mount) throws -> Void) throws {
            let mount = try Mount(kind.account)
            defer {
                mount.end()
                _ = try? mount.attempt(
                    "umount \"$S\" || umount -l \"$S\"; if mountpoint -q \"$T/top\"; then umount \"$T/top\"; fi", in: "/", as: 0)
            }
            try mount.shell(preparation + "\nchmod 1777 \"$S\"", in: "/", as: 0)
            try mount.mount(kind.options)
            try body(mount)
        }

        @Test(arguments: cases)
        func aSaveWithoutRoomFailsAndLeavesTheOldVersion(kind: SaveMount, disk: Disk) throws {
            try withSmallStore(kind, disk) { (mount: Mount) throws in
                try mount.shell("seq 500 >doc; cp doc \"$T/old\"; head -c 12M /dev/urandom >\"$T/big\"")
                let saves = [
                    "cp \"$T/big\" doc", "cat \"$T/big\" >doc", "cat \"$T/big\" | tee doc >/dev/null",
                    "dd if=\"$T/big\" of=doc bs=64k conv=fsync", Self.late,
                ]
                for save in saves {
                    try mount.refuses(save, disk.message)
                    try mount.shell("cmp doc \"$T/old\"  # after \(save)")
                }
                #expect(try mount.shell("echo new >doc; cat doc; ls") == "new\ndoc")
                try expectNothingHidden(mount)
            }
        }

        private static let late =
            "python3 -c 'import os; file = os.open(\"doc\", os.O_RDWR); os.ftruncate(file, 0); [os.write(file, b\"x\" * (4 << 20)) for _ in range(4)]'"

        /// The disk fills up after the document was opened. With passthrough the kernel writes then, and tells the daemon of no write that
        /// fails. XFS refuses this one as a whole.
        @Test(arguments: SaveMount.accounts, ["mkfs.ext4 -q -m 0", "mkfs.xfs -q"])
        func aLateSaveThatFindsTheDiskFullFails(kind: SaveMount, making: String) throws {
            try withSmallStore(kind, preparation: """
                truncate -s 400M "$T/disk"; \(making) "$T/disk"; mount -o loop "$T/disk" "$S"; rm -rf "$S/lost+found"
                """) { (mount: Mount) throws in
                let found = try mount.python("""
                    import os
                    with open("doc", "w") as file: file.write("old" * 10000)
                    file = os.open("doc", os.O_RDWR); os.read(file, 10)
                    def room(): return os.statvfs(".").f_bavail * os.statvfs(".").f_frsize
                    with open("filler", "w") as filler: os.posix_fallocate(filler.fileno(), 0, room() - (3 << 20))
                    os.ftruncate(file, 0)
                    written = 0
                    try:
                        while True: written += os.write(file, b"x" * (4 << 20))
                    except OSError as error: print(error.strerror)
                    try: os.close(file)
                    except OSError as error: print(error.strerror)
                    print(open("doc").read() == "old" * 10000)
                    """)
                let log = try mount.attempt("cat $QUIRE_STATE_HOME/*/log").output
                #expect(found == "No space left on device\nNo space left on device\nTrue", "\(log)")
            }
        }

        /// A save that fails for want of room, as Python code: `mapped`, of `libc`, is a mapping that is left of it.
        private static let failedSave = """
            libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p
            file = os.open("doc", os.O_RDWR | os.O_TRUNC)
            try:
                for _ in range(1000): os.write(file, b"x" * 65536)
            except OSError as error: print(error.strerror)
            mapped = ctypes.c_void_p(libc.mmap(None, 4096, 1, 2, file, 0))
            try: os.close(file)
            except OSError: pass
            """

        /// A failed save's content takes room until the kernel tells of the end of its handle: here that of a mapping by which nothing
        /// can be written. The next saver waits for it, and does not cut the document off to have room.
        @Test(arguments: cases)
        func theNextSaveHasTheRoomOfAFailedOne(kind: SaveMount, disk: Disk) throws {
            try withSmallStore(kind, disk) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import ctypes, os, subprocess
                    from waiting import await_block
                    open("doc", "w").write("old" * 1000)
                    \(Self.failedSave)
                    other = subprocess.Popen(["sh", "-c", "seq 20000 >doc"])
                    await_block(other.pid); libc.munmap(mapped, 4096)
                    print(other.wait(), os.stat("doc").st_size)
                    """) == "\(disk == .btrfsQuota ? "Disk quota exceeded" : "No space left on device")\n0 108894")
                #expect(try mount.shell("quire status \"$M\" | grep -o 'live.noRoom [0-9]*' || true") == "")
            }
        }

        /// Also one that begins with ftruncate(2), which needs a copy of the old version then. Btrfs gives the room of a quota back with its next
        /// commit alone: there ftruncate(2) fails.
        @Test(arguments: cases.filter { $0.1 != .btrfsQuota })
        func aLateSaveHasTheRoomOfAFailedOne(kind: SaveMount, disk: Disk) throws {
            try withSmallStore(kind, disk) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import ctypes, os
                    from waiting import await_block
                    open("doc", "w").write("old" * 1000)
                    begins, begin = os.pipe(); hasBegun, tellBegun = os.pipe(); written, tell = os.pipe(); mayEnd, end = os.pipe()
                    if (other := os.fork()) == 0:
                        status = 1
                        try:
                            os.read(begins, 1); os.write(tellBegun, b"x")
                            file = os.open("doc", os.O_RDWR); os.ftruncate(file, 0); os.write(file, b"new"); os.write(tell, b"x")
                            os.read(mayEnd, 1); os.close(file); status = 0
                        finally: os._exit(status)
                    \(Self.failedSave)
                    os.write(begin, b"x"); os.read(hasBegun, 1); await_block(other); libc.munmap(mapped, 4096)
                    os.read(written, 1); print(open("doc").read() == "old" * 1000)
                    os.write(end, b"x"); print(os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]), open("doc").read())
                    """) == "No space left on device\nTrue\n0 new")
            }
        }

        /// That of a save by ftruncate(2), which had the document's inode, until the kernel forgets that: here for a descriptor of O_PATH.
        /// Room is waited for a second from when the failed save is given up: an attempt for which a busy machine takes longer is made again.
        @Test(arguments: cases)
        func theNextSaveHasTheRoomOfAFailedOneByFtruncate(kind: SaveMount, disk: Disk) throws {
            try withSmallStore(kind, disk) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, re, subprocess, time
                    from waiting import await_block
                    slow = 0
                    while True:
                        open("doc", "w").write("old" * 1000)
                        begins, begin = os.pipe(); hasBegun, tell = os.pipe()
                        if (other := os.fork()) == 0:
                            os.read(begins, 1); os.write(tell, b"x")
                            status = 1
                            try:
                                with open("doc", "w") as file: file.write("x" * 108894)
                                status = 0
                            finally: os._exit(status)
                        path = os.open("doc", os.O_PATH)
                        file = os.open("doc", os.O_RDWR); os.ftruncate(file, 0)
                        refusal = ""
                        try:
                            for _ in range(1000): os.write(file, b"x" * 65536)
                        except OSError as error: refusal = error.strerror
                        begun = time.monotonic()
                        try: os.close(file)
                        except OSError: pass
                        os.write(begin, b"x"); os.read(hasBegun, 1); await_block(other); os.close(path)
                        took = time.monotonic() - begun
                        ended = os.waitstatus_to_exitcode(os.waitpid(other, 0)[1])
                        if took < 0.5 or slow == 20: break
                        slow += 1
                    live = re.search("live.noRoom ([0-9]*)", subprocess.check_output(["quire", "status", "."], text=True))
                    print(refusal, ended, os.stat("doc").st_size, "live" if live and int(live[1]) > slow else "transactions")
                    """) == "\(disk == .btrfsQuota ? "Disk quota exceeded" : "No space left on device") 0 108894 transactions")
            }
        }

        /// Not in place: half of it would stay when the command fails.
        @Test(arguments: cases)
        func whatAClaimHasNoRoomForStaysAsItIs(kind: SaveMount, disk: Disk) throws {
            try withSmallStore(kind, disk) { (mount: Mount) throws in
                try mount.shell("""
                    head -c 2M /dev/urandom >doc; cp doc "$T/old"; head -c 1500k /dev/urandom >filler; sync
                    head -c 3M /dev/urandom >"$T/new"
                    """)
                // There is room for a copy where the file system clones.
                let truncating = disk == .btrfsQuota ? [] : ["truncate -s 0 doc"]
                for save in truncating + ["cp \"$T/new\" doc", "cat \"$T/new\" >>doc", "dd if=\"$T/new\" of=doc conv=notrunc"] {
                    try mount.refuses("quire coordinate --write doc -- sh -c '\(save)'", disk.message)
                    try mount.shell("cmp doc \"$T/old\"  # after \(save)")
                }
                try mount.shell("rm filler; echo new >\"$T/new\"; quire coordinate --write doc -- cp \"$T/new\" doc; grep -x new doc")
                try expectNothingHidden(mount)
            }
        }

        /// Old and new together have no room, the new alone has: it is written as on a plain folder.
        @Test(arguments: cases.filter { $0.1 != .btrfsQuota })
        func aSaveThatHasRoomOnlyWithoutTheOldVersionSucceeds(kind: SaveMount, disk: Disk) throws {
            try withSmallStore(kind, disk) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    head -c 2200000 /dev/urandom >doc; head -c 2500000 /dev/urandom >"$T/new"; cat "$T/new" >doc; cmp doc "$T/new"
                    head -c 1000 /dev/urandom >"$T/short"; cat "$T/short" >doc; cmp doc "$T/short"; cp "$T/new" doc
                    cmp doc "$T/new"
                    python3 -c 'import os
                    file = os.open("doc", os.O_WRONLY | os.O_TRUNC)
                    for n in range(40): assert os.write(file, b"%05d" % n * 13000) == 65000
                    os.close(file); print(os.stat("doc").st_size)'
                    """) == "2600000")
                try expectNothingHidden(mount)
            }
        }

        /// The same where more is written before the disk is full than the old version took: that is nobody's any more then. With a reader
        /// it stays.
        @Test(arguments: cases.filter { $0.1 == .tmpfs })
        func aSaveThatOutgrowsTheOldVersionSucceeds(kind: SaveMount, disk: Disk) throws {
            try withSmallStore(kind, disk) { (mount: Mount) throws in
                try mount.shell("""
                    head -c 1500000 /dev/urandom >doc; head -c 3500000 /dev/urandom >"$T/new"; cat "$T/new" >doc; cmp doc "$T/new"
                    head -c 1000000 /dev/urandom >doc; cat "$T/new" >doc; cmp doc "$T/new"; head -c 1500000 /dev/urandom >doc
                    """)
                try mount.refuses("exec 5<doc; cat \"$T/new\" >doc", disk.message)
                // The kernel tells of the reader's end a moment later (RELEASE).
                #expect(try mount.shell("wc -c <doc; eventually 'cat \"$T/new\" >doc'; cmp doc \"$T/new\"") == "1500000")
                try expectNothingHidden(mount)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whatFreesRoomInTimeSavesTheSave(kind: SaveMount) throws {
            try withSmallStore(kind, .tmpfs) { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    open("doc", "w").write("old"); open("other", "wb").write(b"x" * 3000000)
                    file = os.open("doc", os.O_WRONLY | os.O_TRUNC)
                    try:
                        for n in range(40): os.write(file, b"n" * 65536)
                    except OSError as failure: print(failure.strerror)
                    os.unlink("other"); os.ftruncate(file, 0); os.lseek(file, 0, os.SEEK_SET)
                    for n in range(40): os.write(file, b"n" * 65536)
                    os.close(file); print(other("wc -c <doc"))
                    """) == "No space left on device\n2621440")
            }
        }

        /// A write that the file system cannot take at all.
        @Test(arguments: SaveMount.accounts)
        func aWriteBeyondTheLargestFileLeavesTheOldVersion(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"new")
                    try: os.pwrite(file, b"x", 1 << 62)
                    except OSError as failure: print(failure.strerror)
                    try: os.close(file)
                    except OSError as failure: assert failure.errno == errno.EFBIG
                    print(other("cat doc"))
                    """) == "File too large\nold")
            }
        }

        /// SIGXFSZ is a fatal signal as others are.
        @Test(arguments: SaveMount.accounts)
        func aSaverKilledForItsFileSizeLeavesTheOldVersion(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    ulimit -c 0; (ulimit -f 64
                    exec perl -e 'open F, ">", "doc"; print F "x" x 1000000; close F; sleep 1') || echo $?; cat doc
                    """) == "153\nold")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aReadOnlyMountIsNotSavedTo(kind: SaveMount) throws {
            try withMount(kind.account, kind.options + ["ro"], prepare: "echo old >doc") { mount in
                try mount.refuses("echo new >doc", "Read-only file system")
                #expect(try mount.shell("cat doc") == "old")
            }
        }
    }
}
