import TestSupport
import Testing

extension MountTests {
    /// Small documents that are only read come from the kernel's pages, which may never be older than the last write.
    @Suite(.sharedMounts) struct SmallReadTests {
        private static let kinds: [SaveMount] = SaveMount.allCases

        /// Changes a document in place in every way, and opens it anew after each, with and without a reader that has it open.
        @Test(arguments: kinds)
        func whatIsReadIsWhatWasWrittenLast(kind: SaveMount) throws {
            try withSharedMount(kind) { mount in
                let wrong = try mount.python(
                    """
                    import mmap, os
                    content = bytearray(b"first" * 1000)
                    with open("doc", "wb") as file: file.write(content)
                    def patch(at, data):
                        content[at:at + len(data)] = data
                        fd = os.open("doc", os.O_WRONLY); os.pwrite(fd, data, at); os.close(fd)
                    def append(data):
                        content.extend(data)
                        with open("doc", "ab") as file: file.write(data)
                    def cut(size):
                        del content[size:]
                        content.extend(bytes(size - len(content)))
                        os.truncate("doc", size)
                    def store(at, data):
                        content[at:at + len(data)] = data
                        fd = os.open("doc", os.O_RDWR)
                        with mmap.mmap(fd, 0) as memory: memory[at:at + len(data)] = data
                        os.close(fd)
                    held = None
                    for n in range(200):
                        mark = b"%06d" % n
                        ways = {"patch": lambda: patch(n % 900, mark), "append": lambda: append(mark * 50),
                                "cut": lambda: cut(3000 + n * 17 % 9000), "store": lambda: store(n % 800, mark),
                                "late patch": lambda: patch(len(content) - 6, mark)}
                        for name, change in ways.items():
                            change()
                            with open("doc", "rb") as file:
                                if file.read() != content: print(n, name)
                            if held is not None and os.pread(held, 1 << 20, 0) != content: print(n, name, "of the open reader")
                        if n % 3 == 0:
                            if held is None: held = os.open("doc", os.O_RDONLY)
                            else: os.close(held); held = None
                    """)
                #expect(wrong == "")
            }
        }

        /// An open may meet a writer: what the kernel is given with the open must not cover what is written meanwhile.
        @Test(arguments: kinds)
        func noReaderMeetsContentOlderThanTheLastClosedWrite(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "head -c 4096 /dev/zero >doc") { mount in
                let outcome = try mount.python(
                    """
                    import mmap, os, time
                    shared = mmap.mmap(-1, 4096)
                    written = lambda: int.from_bytes(shared[:8], "little")
                    end = time.monotonic() + 2
                    readers = []
                    for _ in range(2):
                        pid = os.fork()
                        if pid == 0:
                            reads = old = 0
                            while time.monotonic() < end:
                                least = written()
                                with open("doc", "rb") as file: data = file.read()
                                if int.from_bytes(data[:8], "little") < least: old += 1
                                reads += 1
                            os._exit(2 if old else 0 if reads > 50 else 3)
                        readers.append(pid)
                    n = 0
                    while time.monotonic() < end:
                        n += 1
                        number = n.to_bytes(8, "little")
                        fd = os.open("doc", os.O_WRONLY)
                        os.pwrite(fd, number, 0)
                        os.close(fd)
                        shared[:8] = number
                    print(*[os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in readers], n > 50)
                    """)
                #expect(outcome == "0 0 True")
            }
        }

        /// Around a page, and around the size up to which documents come from pages.
        @Test(arguments: kinds)
        func sizesAroundTheLimitsMakeNoDifference(kind: SaveMount) throws {
            try withSharedMount(kind) { mount in
                let wrong = try mount.python(
                    """
                    import os, time
                    for size in 0, 1, 4095, 4096, 4097, 65535, 65536, 65537:
                        content = bytearray(os.urandom(size))
                        with open("doc", "wb") as file: file.write(content)
                        for n in range(4):
                            time.sleep(0.03 * (n % 2))
                            with open("doc", "rb") as file:
                                if file.read() != content: print(size, n)
                            os.stat("doc")
                            fd = os.open("doc", os.O_RDONLY)
                            if os.pread(fd, 10, size - 5 if size > 5 else 0) != content[max(size - 5, 0):]: print(size, n, "end")
                            os.close(fd)
                            if size:
                                content[size - 1] = n
                                fd = os.open("doc", os.O_WRONLY)
                                os.pwrite(fd, bytes([n]), size - 1)
                                os.close(fd)
                    fd = os.open("doc", os.O_RDONLY | os.O_TRUNC)
                    if os.read(fd, 10) != b"" or os.stat("doc").st_size: print("truncated")
                    """)
                #expect(wrong == "")
            }
        }

        /// The kernel keeps its pages beyond a content that it is given.
        @Test(arguments: kinds)
        func aDocumentShortenedOutsideIsReadAsItWasOrAsItIs(kind: SaveMount) throws {
            try withSharedMount(kind) { mount in
                let wrong = try mount.python(
                    """
                    import os
                    S = os.environ["S"]
                    with open("doc", "wb") as file: file.write(bytes(8192))
                    for n in range(1, 100):
                        size = 8192 - n * 50
                        with open("doc", "rb") as file: old = file.read()
                        new = bytes([n]) * size
                        fd = os.open(S + "/doc", os.O_WRONLY)
                        os.pwrite(fd, new, 0); os.ftruncate(fd, size)
                        os.close(fd)
                        with open("doc", "rb") as file: data = file.read()
                        if data != new and data != old: print(n, len(data), data[:1], data[-1:])
                    """)
                #expect(wrong == "")
            }
        }

        /// A file that is passed through to its readers is so to its writers too.
        @Test func aSetIDFileThatIsBeingReadMayBeWritten() throws {
            try withSharedMount(.root) { mount in
                try mount.shell("head -c 200k /dev/zero >program; chmod 6777 program; sleep 0.05")
                let user = Account.alice
                #expect(try mount.shell(
                    "exec 3<program; echo more >>program; stat -c '%a %s' program", as: user) == "777 204805")
                // Passthrough writes as the daemon, which has no CAP_FSETID: root's write strips them too, the safe side.
                #expect(try mount.shell(
                    "chmod 6777 program; exec 3<program; echo more >>program; stat -c '%a %s' program") == "777 204810")
            }
        }
    }
}
