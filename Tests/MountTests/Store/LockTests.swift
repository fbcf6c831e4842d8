import TestSupport
import Testing

extension MountTests {
    /// Advisory locks between processes, and a mount that goes on while they wait.
    struct LockTests {
        @Test(arguments: Account.allCases)
        func waitingLocksDoNotStopTheMount(account: Account) throws {
            try withMount(account, prepare: "touch lock; seq 1000 >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    exec 9>lock; flock 9
                    for n in $(seq 16); do flock lock sh -c "echo $n >>$T/got" 9>&- & done; sleep 0.5
                    test ! -e "$T/got"
                    timeout 10 bash -c 'for n in $(seq 100); do cat doc >/dev/null; echo $n >new$n; stat lock >/dev/null; done; ls | wc -l' 9>&-
                    exec 9>&-; wait; sort -n "$T/got" | tr '\\n' ' '
                    """) == "102\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 ")
            }
        }

        @Test(arguments: Account.allCases)
        func waitingRecordLocksDoNotStopTheMount(account: Account) throws {
            try withMount(account, prepare: "truncate -s 100 lock") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import fcntl, os, time
                    file = open("lock", "r+b"); fcntl.lockf(file, fcntl.LOCK_EX, 50)
                    children = []
                    for n in range(16):
                        child = os.fork()
                        if child == 0:
                            own = open("lock", "r+b"); fcntl.lockf(own, fcntl.LOCK_EX, 1, n); os._exit(n)
                        children.append(child)
                    time.sleep(0.5)
                    for n in range(100):
                        open("f%d" % n, "w").write("x")
                    print(os.waitpid(-1, os.WNOHANG)[0], len([n for n in os.listdir(".") if n[0] == "f"]))
                    fcntl.lockf(file, fcntl.LOCK_UN)
                    print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == list(range(16)))
                    """) == "0 100\nTrue")
            }
        }

        /// close(2) returns before its RELEASE reaches the daemon: a lock asked for right after must wait for it.
        @Test(arguments: Account.allCases)
        func aLockIsFreeStraightAfterAnothersClose(account: Account) throws {
            try withMount(account, prepare: "touch lock") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import fcntl, os
                    rounds, refused = \(isLongRun ? 20_000 : 2_000), 0
                    there, back = os.pipe(), os.pipe()
                    if os.fork() == 0:
                        os.close(there[1])
                        while os.read(there[0], 1):
                            file = os.open("lock", os.O_RDWR)
                            try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB); answer = b"y"
                            except BlockingIOError: answer = b"n"
                            os.close(file)
                            os.write(back[1], answer)
                        os._exit(0)
                    for n in range(rounds):
                        file = os.open("lock", os.O_RDWR)
                        try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        except BlockingIOError: refused += 1
                        os.close(file)
                        os.write(there[1], b"x")
                        if os.read(back[0], 1) == b"n": refused += 1
                    print(refused)
                    """, limit: .seconds(300)) == "0")
            }
        }

        @Test func aDeadlockIsToldToOneOfTwo() throws {
            try withMount(prepare: "truncate -s 100 lock") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import errno, fcntl, os, time
                    there, back = os.pipe(), os.pipe()
                    child = os.fork()
                    file = open("lock", "r+b")
                    mine, other = (0, 1) if child else (1, 0)
                    fcntl.lockf(file, fcntl.LOCK_EX, 1, mine)
                    (write, read) = (there[1], back[0]) if child else (back[1], there[0])
                    os.write(write, b"x"); os.read(read, 1)
                    failure = 0
                    try: fcntl.lockf(file, fcntl.LOCK_EX, 1, other)
                    except OSError as error: failure = error.errno
                    if not child: os._exit(failure)
                    file.close()
                    print(sorted([failure, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]) == [0, errno.EDEADLK])
                    """) == "True")
            }
        }

        @Test func aWaitingLockIsInterruptedByASignal() throws {
            try withMount(prepare: "touch lock") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    exec 9>lock; flock 9; status=0; timeout 0.5 flock lock true 9>&- || status=$?; echo $status
                    flock lock true 9>&- & sleep 0.2; kill -9 $!; wait $! || echo $?; exec 9>&-; flock -n lock echo free
                    """) == "124\n137\nfree")
            }
        }

        @Test func locksEndWithTheirProcess() throws {
            try withMount(prepare: "touch lock") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    flock lock sleep 60 & sleep 0.3; flock -n lock true || echo held; kill -9 $(pgrep -P $! sleep) $!
                    wait 2>/dev/null || true; flock -w 2 lock echo free
                    """) == "held\nfree")
            }
        }

        @Test func locksExcludeBetweenUsers() throws {
            try withMount(prepare: "touch lock; chmod 666 lock") { mount in
                try mount.shell("""
                    exec 9>lock; flock 9
                    if setpriv --reuid=\(Account.alice) --clear-groups flock -n lock true 9>&-; then exit 1; fi
                    exec 9>&-; setpriv --reuid=\(Account.alice) --clear-groups flock -n lock true
                    """)
            }
        }
    }
}
