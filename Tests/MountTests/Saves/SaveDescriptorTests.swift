import TestSupport
import Testing

extension MountTests {
    /// Descriptors of a save that others come by: inherited, passed, reopened, mapped.
    @Suite(.sharedMounts)
    struct SaveDescriptorTests {
        @Test(arguments: SaveMount.accounts)
        func aSaveEndsWithTheLastDescriptorThatWasInherited(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    ends = os.pipe(); saver = os.fork()
                    if saver == 0:
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"parent\\n")
                        if os.fork() == 0:
                            os.close(ends[1]); os.read(ends[0], 1); os.write(file, b"child\\n"); os._exit(0)
                        os._exit(0)
                    os.close(ends[0]); os.waitpid(saver, 0); time.sleep(0.1)
                    before = other("cat doc"); os.close(ends[1])
                    for attempt in range(3000):
                        if other("cat doc") != before: break
                        time.sleep(0.01)
                    print(before); print(other("cat doc"))
                    """) == "old\nparent\nchild")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aProgramStartedWithTheDescriptorIsPartOfTheSave(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>doc; sh -c 'echo one; stat -c %s doc' >&3; other 'cat doc'; /bin/echo two >&3; exec 3>&-
                    other 'cat doc'
                    """) == "old\none\n4\ntwo")
            }
        }

        /// Through exec alone: the program that opened is gone, its process is not.
        @Test(arguments: SaveMount.accounts)
        func execWithTheDescriptorGoesOnWithTheSave(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    saver = os.fork()
                    if saver == 0:
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"first\\n")
                        os.set_inheritable(file, True)
                        wait = 'touch "$T/started"; until [ -e "$T/go" ]; do sleep 0.02; done; echo second >&%d'
                        os.execvp("bash", ["bash", "-c", wait % file])
                    while not os.path.exists(os.environ["T"] + "/started"): time.sleep(0.02)
                    print(other("cat doc; touch $T/go")); os.waitpid(saver, 0); print(other("cat doc"))
                    """) == "old\nfirst\nsecond")
            }
        }

        /// Whoever gets it by a socket need not be of the lineage: nothing that is written is lost.
        @Test(arguments: SaveMount.accounts)
        func aPassedDescriptorLosesNothing(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    here, there = socket.socketpair()
                    ends = os.pipe()
                    if os.fork() == 0:
                        here.close(); file = socket.recv_fds(there, 1, 1)[1][0]
                        os.write(file, b"receiver\\n"); there.send(b"x"); there.recv(1); os.write(file, b"late\\n")
                        os.close(file); os._exit(0)
                    there.close(); saver = os.fork()
                    if saver == 0:
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"saver\\n")
                        socket.send_fds(here, [b"x"], [file]); here.recv(1); os.write(file, b"again\\n"); os.close(file)
                        os._exit(0)
                    os.waitpid(saver, 0); here.send(b"x"); os.wait()
                    print(other("cat doc"))
                    """) == "saver\nreceiver\nagain\nlate")
            }
        }

        /// A copy of the descriptor in the same process keeps a save open.
        @Test(arguments: SaveMount.accounts)
        func aSaveEndsWithTheLastCopyOfItsDescriptor(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    first = os.open("doc", os.O_WRONLY | os.O_TRUNC); second = os.dup(first); os.write(first, b"one\\n")
                    os.close(first)
                    print(other("cat doc")); os.write(second, b"two\\n"); os.close(second); print(other("cat doc"))
                    """) == "old\none\ntwo")
            }
        }

        @Test(arguments: SaveMount.allCases)
        func aSaveStoredThroughAMappingIsPublishedWhole(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    size = 300000
                    file = os.open("doc", os.O_RDWR | os.O_TRUNC); os.ftruncate(file, size)
                    mapped = mmap.mmap(file, size); os.close(file)
                    for n in range(0, size, 1000): mapped[n:n + 1000] = b"n" * 1000
                    mapped.close()
                    for attempt in range(3000):
                        if other("stat -c %s doc") == str(size): break
                        time.sleep(0.01)
                    print(other("tr -d n <doc | wc -c; wc -c <doc"))
                    """) == "0\n300000")
            }
        }

        /// The mapping is closed by nobody's close: it is as on a plain folder, or as if it had not been.
        @Test(arguments: SaveMount.allCases)
        func aSaverKilledWhileItStoresThroughAMappingHalvesNoPublishedSave(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    size = 1 << 20
                    for n in range(\(isLongRun ? 100 : 10)):
                        with open("doc", "wb") as file: file.write(b"o" * size)
                        saver = os.fork()
                        if saver == 0:
                            file = os.open("doc", os.O_RDWR | os.O_TRUNC); os.write(file, b"p" * size)
                            mapped = mmap.mmap(file, size); os.close(file)
                            for place in range(0, size if n % 2 else size // 2, 4096): mapped[place:place + 4096] = b"n" * 4096
                            os.kill(os.getpid(), signal.SIGKILL)
                        os.waitpid(saver, 0); time.sleep(0.02)
                        content = open("doc", "rb").read()
                        stored = size if n % 2 else size // 2
                        if content not in (b"o" * size, b"n" * stored + b"p" * (size - stored)):
                            print("differs:", n, len(content), content[:1], content[-1:], len(set(content)))
                    """) == "")
            }
        }

        /// Each of these saves is published when the kernel lets go of the mapping, perhaps while the next one is opened.
        @Test(arguments: SaveMount.accounts)
        func manySavesThroughMappingsInARow(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import mmap, os
                    for n in range(\(isLongRun ? 50_000 : 4_000)):
                        file = os.open("doc", os.O_RDWR | os.O_TRUNC); os.ftruncate(file, 5000); mapped = mmap.mmap(file, 5000)
                        mapped[0:5] = b"%05d" % n; os.close(file); mapped.close()
                    content = open("doc", "rb").read(); print(int(content[:5]) == n, len(content))
                    """) == "True 5000")
            }
        }

        /// A program that shares its opener's table of descriptors, and is none of its threads: no FLUSH tells of the opener's end.
        @Test(arguments: SaveMount.accounts)
        func aKilledSaverWhoseDescriptorsAnotherProcessSharesPublishesNothing(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    import ctypes, platform
                    clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
                    for killed in True, False:
                        go, done = os.pipe(), os.pipe(); saver = os.fork()
                        if saver == 0:
                            # Descriptors are closed in their order: the last one tells that the others are.
                            os.dup2(done[1], 100); os.close(done[1]); os.close(go[1])
                            file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"half\\n")
                            if ctypes.CDLL(None).syscall(clone, 0x400 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
                                os.read(go[0], 1); os.write(file, b"rest\\n"); os._exit(0)
                            os.kill(os.getpid(), signal.SIGKILL) if killed else os._exit(0)
                        os.close(done[1]); os.waitpid(saver, 0); os.close(go[1]); os.read(done[0], 1)
                        print(other("cat doc"))
                    """) == "old\nhalf\nrest")
            }
        }

        /// The kernel opens a file anew for these, and walks no path.
        @Test(arguments: SaveMount.accounts)
        func ioctlOnADescriptorOfAReplacedVersionWorks(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    file = os.open("doc", os.O_RDONLY); other("echo newer >doc")
                    fcntl.ioctl(file, 0x80086601, bytearray(8)); print(os.read(file, 9))
                    """) == "b'old\\n'")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func reopeningThroughProcForWritingLosesNothing(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    def link(file): return "/proc/self/fd/%d" % file
                    reader = os.open("doc", os.O_RDONLY)
                    file = os.open(link(reader), os.O_WRONLY | os.O_TRUNC); os.write(file, b"by link\\n"); os.close(file)
                    print(other("cat doc"))
                    place = os.open("doc", os.O_PATH)
                    file = os.open(link(place), os.O_WRONLY | os.O_TRUNC); os.write(file, b"by place\\n"); os.close(file)
                    print(other("cat doc"))
                    file = os.open("doc", os.O_RDWR | os.O_TRUNC); os.write(file, b"save\\n")
                    again = os.open(link(file), os.O_RDWR); os.pwrite(again, b"S", 0)
                    print(os.pread(again, 99, 0), other("cat doc"))
                    os.close(file); os.close(again); print(other("cat doc"))
                    """) == "by link\nby place\nb'Save\\n' by place\nSave")
            }
        }

        /// The kernel takes no open of a file that is open with passthrough unless it names the same backing.
        @Test(arguments: SaveMount.allCases)
        func aLargeDocumentIsReopenedThroughProcAfterASave(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "head -c 100000 /dev/zero >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    exec 5<doc
                    (echo new >doc)
                    (echo more >>/proc/self/fd/5); cat doc
                    (echo last >/proc/self/fd/5); cat doc
                    (echo half; while [ ! -e "$T/appended" ]; do sleep 0.05; done; echo whole) >doc &
                    (echo live >>/proc/self/fd/5); touch "$T/appended"; wait; cat doc
                    wc -c <&5
                    """) == "new\nmore\nlast\nhalf\nwhole\n100000")
            }
        }

        @Test func aFileHandleForWritingLosesNothing() throws {
            try withSharedMount(.root, prepare: "echo old >doc") { (mount: Mount) throws in
                let printed = try mount.python(Unrelated.python + """
                    import ctypes
                    libc = ctypes.CDLL(None, use_errno=True)
                    class Handle(ctypes.Structure):
                        _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]
                    handle, mounted = Handle(128), ctypes.c_int()
                    if libc.name_to_handle_at(-100, b"doc", ctypes.byref(handle), ctypes.byref(mounted), 0) != 0:
                        print("no handles"); sys.exit()
                    folder = os.open(".", os.O_RDONLY)
                    file = libc.open_by_handle_at(folder, ctypes.byref(handle), os.O_WRONLY | os.O_TRUNC)
                    assert file >= 0, os.strerror(ctypes.get_errno())
                    os.write(file, b"by handle\\n"); os.close(file); print(other("cat doc"))
                    """)
                #expect(printed == "by handle" || printed == "no handles")
            }
        }

        /// The last save finds a descriptor of its own shell on the document, and so is published in place.
        /// Cached reading, passthrough and direct writing of one inode, in each order, before and after a save is published.
        @Test(arguments: SaveMount.allCases)
        func readersAndWritersOfAllKindsGoTogether(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    readers = [open("doc", "rb")]
                    file = os.open("doc", os.O_RDWR | os.O_TRUNC); readers.append(open("doc", "rb"))
                    os.write(file, b"new\\n"); own = mmap.mmap(file, 4); os.fsync(file)
                    print(other("exec 7<doc; cat doc")); readers.append(open("doc", "rb"))
                    os.write(file, b"after\\n"); print(other("cat doc; echo more >>doc; cat <&7; exec 8<>doc; printf N >&8"))
                    readers.append(open("doc", "rb")); own[1:2] = b"E"; os.fsync(file); os.close(file); own.close()
                    print(other("cat doc; echo newest >doc; exec 7<&- 8<&-; cat doc"))
                    print(other("exec 5<doc; echo last >>doc; cat <&5; exec 5<&-"))
                    print([reader.read()[:4] for reader in readers])
                    """) == """
                    new
                    new
                    after
                    new
                    after
                    more
                    NEw
                    after
                    more
                    newest
                    newest
                    last
                    [b'old\\n', b'newe', b'newe', b'newe']
                    """)
            }
        }

        /// fsync publishes; what is written afterwards is seen as it is written.
        @Test(arguments: SaveMount.accounts)
        func fsyncPublishes(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"one\\n"); print(other("cat doc"))
                    os.fsync(file); print(other("cat doc")); os.write(file, b"two\\n"); print(other("cat doc"))
                    os.fdatasync(file); os.close(file); print(other("cat doc; stat -c %h doc"))
                    """) == "old\none\none\ntwo\none\ntwo\n1")
            }
        }

        /// A stated exception: what was bound is an inode.
        @Test func aBindMountOfADocumentKeepsTheVersionItWasBoundTo() throws {
            try withSharedMount(.root, prepare: "echo old >doc; echo place >\"$T/bound\"") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    mount --bind doc "$T/bound"; echo new >doc; cat "$T/bound" doc; umount "$T/bound"; cat "$T/bound"
                    """) == "old\nnew\nplace")
            }
        }

        @Test func aSaverInAPidNamespaceOfItsOwnSaves() throws {
            try withSharedMount(.root, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    unshare -p -f bash -c 'exec 3>doc; echo new >&3; cat doc; exec 3>&-; cat doc; echo newer >doc'; cat doc
                    unshare -p -f bash -c 'exec 3>doc; echo newest >&3; ln doc link'; cat doc link
                    """) == "new\nnew\nnewer\nnewest\nnewest")
            }
        }

        /// The daemon cannot see who asks: every open is a plain one.
        @Test func saversOutsideOfTheDaemonsPidNamespaceAreLive() throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            #expect(try mount.shell("""
                echo old >"$S/doc"
                unshare -p -f --kill-child bash -c 'quire mount "$S" "$M" -o allow_other && touch "$T/up"
                    exec sleep 60' >"$T/log" 2>&1 &
                namespace=$!; eventually [ -e "$T/up" ]
                cd "$M"
                """ + "\n" + Unrelated.shell + """
                exec 3>doc; echo new >&3; other 'cat doc'; exec 3>&-; cat doc
                (exec 3>doc; echo half >&3; kill -9 $BASHPID) || true; cat doc
                chmod 604 doc; truncate -s 2 doc; touch -d @5 doc; stat -c '%a %s %Y' "$S/doc"
                other=$OTHER_PID; kill $other; wait $other || true; cd /; umount "$M"; kill -9 $namespace
                """, in: "/") == "new\nnew\nhalf\n604 2 5")
        }
    }
}
