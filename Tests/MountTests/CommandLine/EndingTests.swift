import Glibc
import TestSupport
import Testing

extension MountTests {
    /// How a mount ends, whoever is at work in it, and so that it can be made again at once. How soon the benchmarks measure.
    struct EndingTests {
        /// What goes on in the mount just before its daemon is told to end.
        static let activities = ["true", "for n in $(seq 50); do echo text >file$n; done", "cat doc >/dev/null"]

        private func expectEnd(of mount: Mount, after script: String, by end: (pid_t) throws -> Void) throws {
            if !mount.isMounted { try mount.mount() }
            try mount.shell(script)
            let daemon = try #require(mount.daemon)
            try end(daemon)
            eventually { Mount.hasEnded(daemon) }
            #expect(!mount.isMounted)
        }

        @Test(arguments: Account.allCases, activities)
        func aMountWithNothingOpenEnds(account: Account, activity: String) throws {
            try withMount(account, prepare: "echo text >doc") { mount in
                try expectEnd(of: mount, after: activity) { kill($0, SIGTERM) }
                try expectEnd(of: mount, after: activity) { _ in try mount.unmount() }
            }
        }

        @Test func aMountThatIsBeingScannedEnds() throws {
            let many = "python3 -c 'import os\nfor n in range(60000): os.mkdir(str(n))'"
            try withMount(in: "/dev/shm", prepare: many) { mount in
                try expectEnd(of: mount, after: "true") { kill($0, SIGTERM) }
                // Otherwise nothing was ended in the middle of it.
                try mount.mount()
                #expect(try !mount.quire("status", "--json", mount.path).output.contains("\"state\" : \"done\""))
            }
        }

        @Test func whatIsOpenIsReadAfterTheMountHasGone() throws {
            try withMount(prepare: "echo text >doc") { mount in
                try expectEnd(of: mount, after: "true") { daemon in
                    let file = open(mount.path + "/doc", O_RDONLY)
                    kill(daemon, SIGTERM)
                    eventually { !mount.isMounted }
                    var text: UInt8 = 0
                    #expect(read(file, &text, 1) == 1)
                    close(file)
                }
            }
        }

        @Test(arguments: Account.allCases)
        func openFilesGetASecond(account: Account) throws {
            try withMount(account, prepare: "echo text >doc") { mount in
                let daemon = try #require(mount.daemon)
                let seconds = try mount.python("""
                    import os, signal, time
                    def ended():
                        try:
                            with open("/proc/\(daemon)/stat") as status: return status.read().rsplit(") ")[1][0] == "Z"
                        except (FileNotFoundError, ProcessLookupError): return True
                    def mounted():
                        with open("/proc/self/mounts") as table: return any(line.split()[1] == os.environ["M"] for line in table)
                    doc, other = open("doc", "a"), open("other", "w")
                    os.chdir("/")
                    begun = time.monotonic()
                    os.kill(\(daemon), signal.SIGTERM)
                    while mounted(): time.sleep(0.005)
                    doc.write("late"); doc.close()
                    while not ended() and time.monotonic() - begun < 100: time.sleep(0.005)
                    print(time.monotonic() - begun)
                    """)
                let took = try #require(Double(seconds))
                #expect(took > 0.9)
                #expect(try mount.shell("cat \"$S/doc\"", in: "/") == "text\nlate")
            }
        }

        /// Three ways to end a mount, one after the other, while a process reads in it all the time.
        @Test(arguments: Account.allCases)
        func mountingAndUnmountingAgainAndAgainLeavesNothing(account: Account) throws {
            try withMount(account, prepare: "mkdir d; for n in $(seq 20); do echo text >d/$n; done") { mount in
                let socket = try mount.shell("getfattr --only-values -n user.quire.socket .")
                try mount.shell("""
                    {
                        while [ -d "$T" ] && [ ! -e "$T/stop" ]; do
                            for file in "$M"/d/*; do
                                if content=$(cat "$file"); then [ "$content" = text ] || echo "differs: $content"; fi
                            done
                        done
                        touch "$T/ended"
                    } >"$T/reader" 2>&1 &
                    """, in: "/")
                for round in 1...30 {
                    let daemon = try #require(mount.daemon)
                    switch round % 3 {
                    case 0: kill(daemon, SIGTERM)
                    case 1: #expect(try mount.quire("unmount", "--lazy", mount.path).status == 0)
                    // The reader may have a file open at this moment.
                    default: try eventually { try mount.quire("unmount", mount.path).status != 2 }
                    }
                    eventually { !mount.isMounted }
                    try mount.mount()
                    #expect(try mount.shell("cat d/7") == "text")
                }
                try mount.shell("touch \"$T/stop\"", in: "/")
                try eventually { try mount.quire("unmount", mount.path).status != 2 }
                #expect(!mount.isMounted)
                #expect(try mount.shell("test ! -e '\(socket)'; ls -A \"$M\"", in: "/") == "")
                let expected = ["No such file or directory", "Transport endpoint is not connected", "Software caused connection abort", "Operation canceled"]
                let met = try mount.attempt("while [ ! -e \"$T/ended\" ]; do sleep 0.05; done; sed 's/.*: //' \"$T/reader\" | sort -u", in: "/").output.split(separator: "\n")
                #expect(met.filter { !expected.contains(String($0)) } == [], "what the reader met")
            }
        }

        /// Forks workers, each of which goes through a round of calls again and again: by absolute paths, or in the working
        /// directory. Then ends the daemon, and prints what went wrong, if anything.
        private static let program = """
            import errno, fcntl, os, signal, sys, time
            M, T, daemon = os.environ["M"], os.environ["T"], int(sys.argv[1])
            # ECANCELED: what the kernel answers when a request meets a ring whose thread has just left.
            GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ECANCELED}

            def rounds(log, prefix, content, told):
                n = 0
                while not os.path.exists(T + "/stop"):
                    n += 1
                    name = prefix + str(n)
                    fd = os.open(name + ".new", os.O_RDWR | os.O_CREAT, 0o644)
                    os.write(fd, content)
                    os.fsync(fd)
                    os.write(log, b"%d\\n" % n)  # from here on it must be in the store
                    assert os.pread(fd, 100, 0) == content, "read back"
                    os.close(fd)
                    os.rename(name + ".new", name)
                    with open(name, "rb") as file: assert file.read() == content, "read"
                    os.listdir(os.path.dirname(name) or ".")
                    if n % 3 == 0: os.unlink(prefix + str(n - 1)); os.write(log, b"-%d\\n" % (n - 1))
                    if n == 10: os.write(told, b"x")

            def holder(log, told):
                fd = os.open("held", os.O_RDWR | os.O_CREAT, 0o644)
                os.write(fd, b"kept")
                os.fsync(fd)
                fcntl.flock(fd, fcntl.LOCK_EX)
                os.write(told, b"x")
                while not os.path.exists(T + "/stop"): time.sleep(0.01)
                os.pwrite(fd, b"late", 4)

            def waiter(log, told):
                while not os.path.exists("held"): time.sleep(0.01)
                fd = os.open("held", os.O_RDWR)
                time.sleep(0.3)
                os.write(told, b"x")
                fcntl.flock(fd, fcntl.LOCK_EX)

            def start(name, body, *arguments):
                log = os.open(T + "/" + name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
                pid = os.fork()
                if pid: return pid
                try:
                    os.chdir(M + "/work")
                    body(log, *arguments)
                    os._exit(0)
                except OSError as error:
                    # An absolute path leads to the folder beneath then: beside the store to an empty one, and in place rename(2)
                    # may find one of its two folders in the mount and the other beneath.
                    beneath = {errno.ENOENT, errno.EXDEV}
                    fine = error.errno in GONE or error.errno in beneath and error.filename and error.filename[0] == "/"
                    print(name, "ended by", errno.errorcode[error.errno], "at", error.filename, file=sys.stderr)
                    os._exit(0 if fine else 1)
                except AssertionError as error:
                    print(name, "differs:", error, file=sys.stderr)
                    os._exit(1)

            ready, told = os.pipe()
            os.mkdir(M + "/work")
            workers = {start("a%d" % n, rounds, M + "/work/a%d-" % n, b"absolute %d" % n, told): "a%d" % n for n in range(3)}
            workers |= {start("r%d" % n, rounds, "r%d-" % n, b"relative %d" % n, told): "r%d" % n for n in range(3)}
            workers[start("holder", holder, told)] = "holder"
            workers[start("waiter", waiter, told)] = "waiter"
            count = 0
            while count < len(workers): count += len(os.read(ready, 100))

            begun = time.monotonic()
            os.kill(daemon, signal.SIGTERM)
            def mounted():
                with open("/proc/self/mounts") as table: return any(line.split()[1] == M for line in table)
            while mounted(): time.sleep(0.005)
            # The file held open has it serve those who are inside for a second yet.
            def ended():
                try:
                    with open("/proc/%d/stat" % daemon) as status: return status.read().rsplit(") ")[1][0] == "Z"
                except (FileNotFoundError, ProcessLookupError): return True
            while not ended(): time.sleep(0.005)
            took = time.monotonic() - begun
            if took < 0.9: print("the daemon ended after", took)
            open(T + "/stop", "w").close()
            while workers and time.monotonic() - begun < took + 60:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid:
                    if status: print(workers[pid], "ended with", status)
                    del workers[pid]
                else: time.sleep(0.005)
            for pid, name in workers.items():
                print(name, "hangs")
                os.kill(pid, signal.SIGKILL)

            def stored(name, content):
                for place in (name, name + ".new"):
                    try:
                        with open(os.environ["S"] + "/work/" + place, "rb") as file: return file.read() == content
                    except FileNotFoundError: pass
                return False
            for kind, content in (("a", b"absolute %d"), ("r", b"relative %d")):
                for n in range(3):
                    with open(T + "/%s%d" % (kind, n)) as log: numbers = [int(line) for line in log]
                    for number in numbers:
                        # The last round may have removed the file before it, and not have heard of it.
                        if number < 0 or -number in numbers or number == max(numbers) - 1: continue
                        if not stored("%s%d-%d" % (kind, n, number), content % n): print("lost", kind, n, number)
            with open(os.environ["S"] + "/work/held", "rb") as file:
                if file.read()[:4] != b"kept": print("lost what was held")
            """

        @Test(arguments: Account.allCases, [false, true])
        func endingUnderLoadHangsAndLosesNothing(account: Account, inPlace: Bool) throws {
            try withMount(account, inPlace: inPlace) { mount in
                let daemon = try #require(mount.daemon)
                let result = try mount.attempt(
                    "cat >\"$T/program\" <<'END'\n\(Self.program)\nEND\npython3 \"$T/program\" \(daemon)", in: "/", limit: .seconds(180))
                #expect(result.status == 0 && result.output == "", "\(result)")
                try mount.mount()
                #expect(try mount.shell("head -c 4 work/held") == "kept")
                eventually { Mount.hasEnded(daemon) }
            }
        }
    }
}
