import TestSupport
import Testing

extension MountTests {
    /// Locks belong to the document, whichever version of it a descriptor is on (rule 16).
    @Suite(.sharedMounts)
    struct SaveLockTests {
        /// `exec 9>lock; flock 9` in two scripts: each open truncates, and is a save.
        @Test(arguments: SaveMount.accounts)
        func twoScriptsThatTruncateTheirLockFileExcludeEachOther(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo some text >lock") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    echo 0 >count
                    add() {
                        for n in $(seq 25); do
                            (exec 9>lock; flock 9; value=$(cat count); sleep 0.001; echo $((value + 1)) >count.new
                            mv count.new count; echo $$ >&9)
                        done
                    }
                    add & add & add & wait; cat count
                    """) == "75")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aLockOnAWorkingCopyExcludesThatOnTheDocument(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo some text >lock") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 9>lock; flock 9
                    other 'exec 8<lock 7>lock; flock -n 8 || echo held; flock -n 7 || echo held; flock -n lock true || echo held'
                    echo text >&9; exec 9>&-
                    other 'flock -n 7 && echo got; flock -n 8 || echo held by 7; exec 7>&-; flock -n 8 && echo got'
                    flock -n lock true || echo held; other 'exec 8<&-'; flock -n lock echo free
                    """) == "held\nheld\nheld\ngot\nheld by 7\ngot\nheld\nfree")
            }
        }

        /// What is locked before another saves stays locked when that is published.
        @Test(arguments: SaveMount.accounts)
        func aLockOutlivesThePublishingOfANewVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 9<doc; flock 9; other 'echo new >doc; flock -n doc true || echo held'; cat doc
                    exec 9<&-; other 'flock -n doc echo free'
                    """) == "held\nnew\nfree")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func recordLocksExcludeAcrossVersions(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    attempt = '''python3 -c 'import fcntl
                    try: fcntl.lockf(open("doc", "r+"), fcntl.LOCK_EX | fcntl.LOCK_NB, 10); print("got")
                    except OSError: print("held")' '''
                    old = open("doc", "r+"); fcntl.lockf(old, fcntl.LOCK_EX, 10); other("echo new >doc"); print(other(attempt))
                    old.close(); print(other(attempt))
                    save = os.open("doc", os.O_RDWR | os.O_TRUNC); os.write(save, b"x" * 20); fcntl.lockf(save, fcntl.LOCK_EX, 10)
                    print(other(attempt)); os.close(save); print(other(attempt))
                    """) == "held\ngot\nheld\ngot")
            }
        }

        /// A lock asked for straight after the close of who had it, by descriptors that truncate: never refused.
        @Test(arguments: SaveMount.accounts)
        func aLockIsFreeStraightAfterASaversClose(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo text >lock") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import fcntl, os
                    rounds, refused = \(isLongRun ? 20_000 : 500), 0
                    there, back = os.pipe(), os.pipe()
                    def take():
                        file = os.open("lock", os.O_WRONLY | os.O_TRUNC); os.write(file, b"x")
                        try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB); answer = b"y"
                        except BlockingIOError: answer = b"n"
                        os.close(file)
                        return answer
                    if os.fork() == 0:
                        os.close(there[1])
                        while os.read(there[0], 1): os.write(back[1], take())
                        os._exit(0)
                    for n in range(rounds):
                        refused += take() == b"n"; os.write(there[1], b"x"); refused += os.read(back[0], 1) == b"n"
                    print(refused)
                    """, limit: .seconds(300)) == "0")
            }
        }

        /// fcntl locks through a descriptor that only reads, and locks of an open file description.
        @Test(arguments: SaveMount.accounts)
        func locksOfReadersAreFreeAtOnceAfterTheirClose(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo text >lock") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import fcntl, os, struct
                    F_OFD_SETLK = 37
                    def ofd(file, kind): fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))
                    there, back = os.pipe(), os.pipe()
                    if os.fork() == 0:
                        os.close(there[1])
                        while how := os.read(there[0], 1):
                            file = os.open("lock", os.O_RDWR)
                            try:
                                if how == b"o": ofd(file, fcntl.F_WRLCK)
                                else: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                                answer = b"y"
                            except OSError: answer = b"n"
                            os.close(file); os.write(back[1], answer)
                        os._exit(0)
                    refused = 0
                    for n in range(\(isLongRun ? 5_000 : 400)):
                        how = b"o" if n % 2 else b"r"
                        if how == b"o":
                            file = os.open("lock", os.O_RDWR); ofd(file, fcntl.F_WRLCK)
                        else:
                            file = os.open("lock", os.O_RDONLY); fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                        os.close(file); os.write(there[1], how)
                        if os.read(back[0], 1) == b"n": refused += 1
                    print(refused)
                    """) == "0")
            }
        }

        /// Those who wait for a lock of a document that is being saved neither stop the mount nor the saves.
        @Test(arguments: SaveMount.accounts)
        func waitersDoNotHoldUpSaves(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo text >lock; echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    exec 9>lock; flock 9; for n in $(seq 30); do (exec 9>&-; exec 8>lock; flock 8; echo got >>"$T/got") & done
                    sleep 0.3
                    timeout 20 bash -c 'for n in $(seq 50); do echo $n >doc; cat doc; done' 9>&- | tail -1; test ! -e "$T/got"
                    exec 9>&-; wait; wc -l <"$T/got"
                    """) == "50\n30")
            }
        }
    }
}
