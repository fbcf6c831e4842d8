import TestSupport
import Testing

extension MountTests {
    /// Several who write one document at once: no write is lost but that of a saver whose whole version a later one replaced.
    @Suite(.sharedMounts)
    struct ConcurrentSaverTests {
        @Test(arguments: SaveMount.accounts)
        func theLastToCloseWinsWhole(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>doc; echo mine, the longer one >&3; other 'exec 3>doc; echo other >&3; cat doc'; cat doc; echo -
                    exec 3>&-; cat doc; other 'cat doc'; echo -; other 'exec 3>&-; cat doc'; cat doc
                    """) == "other\nmine, the longer one\n-\nmine, the longer one\nother\n-\nother\nother")
            }
        }

        /// An append belongs to the newest save that is open, so that it is not lost when that is published.
        @Test(arguments: SaveMount.accounts)
        func anAppendToADocumentBeingSavedIsInTheFile(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >rep") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>rep; echo first >&3; other 'echo note >>rep'; cat rep; echo -; exec 3>&-; other 'cat rep'
                    """) == "first\nnote\n-\nfirst\nnote")
            }
        }

        /// What is written after the append has its own offset, and so writes over it, as on a plain folder.
        @Test(arguments: SaveMount.accounts)
        func anAppendBesideARedirectedShellIsInTheFile(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >rep") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    bash -c '. "$PRELUDE"; exec >rep; echo begun; touch "$T/begun"; eventually [ -e "$T/go" ]; echo end' &
                    eventually [ -e "$T/begun" ]; echo a longer note >>rep; touch "$T/go"; wait $!; cat rep
                    """) == "begun\nend\nnger note")
            }
        }

        /// A truncating saver and appends: nothing that was written after the last save's beginning is lost.
        @Test(arguments: SaveMount.accounts)
        func noAppendIsLostWhileOthersSave(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo start >doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os
                    rounds = \(isLongRun ? 2_500 : 250)
                    there, back = os.pipe(), os.pipe()
                    if os.fork() == 0:
                        os.close(there[1])
                        os.close(back[0])
                        while os.read(there[0], 1):
                            file = os.open("doc", os.O_WRONLY | os.O_APPEND); os.write(file, b"note\\n"); os.close(file)
                            os.write(back[1], b"x")
                        os._exit(0)
                    os.close(there[0]); os.close(back[1])
                    lost = 0
                    for n in range(rounds):
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"save\\n")
                        os.write(there[1], b"x")
                        if n % 3 == 0: os.read(back[0], 1)
                        os.close(file)
                        if n % 3: os.read(back[0], 1)
                        if open("doc").read() != "save\\nnote\\n": lost += 1
                    print(lost)
                    """) == "0")
            }
        }

        /// Two unrelated truncating savers, and a third process that opens to write in place at any moment.
        @Test(arguments: SaveMount.accounts)
        func noWriteGoesToASupersededVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo start >doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os
                    rounds = \(isLongRun ? 2_500 : 250)
                    savers = []
                    for name in (b"a", b"b"):
                        pid = os.fork()
                        if pid == 0:
                            for n in range(rounds):
                                file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, name * 4096); os.close(file)
                            os._exit(0)
                        savers.append(pid)
                    failed = 0
                    for n in range(rounds):
                        try:
                            file = os.open("doc", os.O_RDWR); os.fstat(file); os.close(file)
                        except OSError: failed += 1
                    status = [os.waitpid(pid, 0)[1] for pid in savers]
                    # Nobody saves any more, so what each writes last is there, at once and for good.
                    wrong = 0
                    for n in range(rounds):
                        with open("doc", "w") as file: file.write("%d" % n)
                        if open("doc").read() != "%d" % n: wrong += 1
                        with open("doc", "a") as file: file.write("+")
                        if open("doc").read() != "%d+" % n: wrong += 1
                    print(status, failed, wrong)
                    """) == "[0, 0] 0 0")
            }
        }

        /// `echo a >>f; echo b >f`: a writer that has closed does not make the next save a live one.
        @Test(arguments: SaveMount.accounts)
        func aSaveStraightAfterAnAppendIsATransaction(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo start >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    rounds, live = \(isLongRun ? 300 : 100), 0
                    for n in range(rounds):
                        subprocess.run(["bash", "-c", "echo a >>doc"])
                        before = os.stat("doc").st_ino
                        subprocess.run(["bash", "-c", "echo b >doc"])
                        # A version of its own is an inode of its own.
                        if os.stat("doc").st_ino == before: live += 1
                    print(live, open("doc").read().strip())
                    """) == "0 b")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aWriterInPlaceThatWasThereBeforeKeepsASaveLive(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    other 'exec 4<>doc'; before=$(stat -c %i doc); exec 3>doc; echo new >&3; other 'cat doc; printf N >&4; cat doc'
                    exec 3>&-; other 'exec 4>&-'; cat doc; test $(stat -c %i doc) = $before; echo next >doc; cat doc
                    """) == "new\nNew\nNew\nnext")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func theLoserOfTwoSaversIsKept(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>doc; echo the losing version >&3; other 'exec 3>doc; echo winner >&3'; exec 3>&-; other 'exec 3>&-'
                    cat doc; quire recover list "$M" | grep -w doc >/dev/null
                    """) == "winner")
            }
        }

        /// The kernel retries an open(2) that was answered ESTALE once. On that walk, too, the name may go and come back.
        @Test(arguments: SaveMount.accounts, ["os.rename('doc', 'away'); os.rename('away', 'doc')", "os.unlink('doc'); open('doc', 'x').close()"])
        func noSaverIsAnsweredStaleWhoseNameGoesAndComesBack(kind: SaveMount, change: String) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, signal
                    changer = os.fork()
                    if changer == 0:
                        while True:
                            try: \(change)
                            except OSError: pass
                    failed = {}
                    for n in range(\(isLongRun ? 100_000 : 3_000)):
                        try:
                            file = os.open("doc", os.O_WRONLY | os.O_TRUNC | (os.O_CREAT if n % 2 else 0), 0o666)
                            os.write(file, b"x"); os.close(file)
                        except FileNotFoundError: pass
                        except OSError as error: failed[error.strerror] = failed.get(error.strerror, 0) + 1
                    os.kill(changer, signal.SIGKILL); os.waitpid(changer, 0)
                    print(failed)
                    """) == "{}")
            }
        }

        /// Whoever renames a folder above a document, or exchanges it with another, does not make its saves live: the kernel's second walk
        /// comes to the file at another place, or does not come to it at all.
        @Test(arguments: SaveMount.accounts, ["exchange('a', 'b')", "os.rename('a', 't'); os.rename('t', 'a')", "exchange('a/doc', 'b/doc')"])
        func savesStayTransactionsWhileFoldersAreRenamed(kind: SaveMount, change: String) throws {
            let prepare = "mkdir a b; head -c 90000 /dev/zero | tr '\\0' A | tee a/doc >b/doc"
            try withMount(kind.account, kind.options, prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import ctypes, os, signal, time
                    libc = ctypes.CDLL(None, use_errno=True)
                    def exchange(one, other): libc.renameat2(-100, one.encode(), -100, other.encode(), 2)
                    def child(body):
                        pid = os.fork()
                        if pid: return pid
                        while True:
                            try: body()
                            except OSError: pass
                    def save():
                        for letter in b"AB":
                            file = os.open("a/doc", os.O_WRONLY | os.O_TRUNC)
                            for n in range(3): os.write(file, bytes([letter]) * 30_000)
                            os.close(file)
                    def change(): \(change); time.sleep(0.001)
                    children = [child(save), child(save), child(change)]
                    torn, read, end = 0, 0, time.monotonic() + 180
                    while read < \(isLongRun ? 3_000 : 1_000) and time.monotonic() < end:
                        try:
                            with open("a/doc", "rb") as file: content = file.read()
                            read += 1
                            torn += len(content) != 90_000 or len(set(content)) != 1
                        except OSError: pass
                    for pid in children: os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
                    print(torn)
                    """) == "0")
            }
        }
    }
}
