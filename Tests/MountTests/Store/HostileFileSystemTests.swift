import TestSupport
import Testing

extension MountTests {
    /// A file system inside the store, as any user may mount one in a folder of theirs, that answers what it likes.
    struct HostileFileSystemTests {
        /// Everything that can be asked of it, in random order, through the mount: whatever it answers, the daemon lives, and all else
        /// in the store is as it was. The seed of a round is in the issue.
        @Test(arguments: Account.allCases)
        func noAnswerOfAFileSystemInsideEndsTheDaemon(account: Account) throws {
            for _ in 0..<(isLongRun ? 60 : 1) {
                let seed = UInt32.random(in: 1 ... .max)
                try withMount(account, prepare: "mkdir inner; echo whole > document") { mount in
                    // Mounted when the daemon runs, so that its scan and its watcher meet it too.
                    try mount.shell(
                        "HostileDisk \(seed) \"$S/inner\" -o \(account == .root ? "allow_other" : "rw") </dev/null >/dev/null 2>&1 &\n"
                            + "for _ in $(seq 500); do if mountpoint -q \"$S/inner\"; then exit; fi; sleep 0.01; done; exit 1")
                    defer { _ = try? mount.attempt("umount -l \"$S/inner\" || fusermount3 -u -z \"$S/inner\"", in: "/") }
                    try mount.shell("mkdir .tags/t; setfattr -n user.xdg.tags -v t document")
                    try mount.python("(seed, seconds) = (\(seed), \(isLongRun ? 30 : 4))\n" + Self.walk, in: "/")
                    let daemon = try #require(mount.daemon)
                    #expect(!Mount.hasEnded(daemon), "seed \(seed)")
                    #expect(try mount.shell("cat document; readlink .tags/t/document") == "whole\n../../document", "seed \(seed)")
                    #expect(try mount.quire("status", mount.path).status == 0, "seed \(seed)")
                }
            }
        }

        /// A file system that answers nothing but that its root is a folder: 40 processes of Alice's wait for it. Bob works on, the mount
        /// point can be had back, and when the file system is gone the daemon ends.
        @Test func aFileSystemThatNeverAnswersHoldsUpItsUsersAlone() throws {
            try withMount(prepare: "mkdir inner bob; chown 61002:61002 bob") { mount in
                let found = try mount.python(Self.innerDisk + Self.stalled, in: "/", limit: .seconds(300))
                #expect(found == "stalled\nworked\n0\nFalse")
                let daemon = try #require(mount.daemon)
                try eventually(within: .seconds(180)) { Mount.hasEnded(daemon) }
            }
        }

        /// One that answers nothing more once something was removed, of which others are to be told.
        @Test func aFileSystemThatFallsSilentHoldsUpNobodysEvents() throws {
            try withMount(prepare: "mkdir inner") { mount in
                let found = try mount.python(Self.innerDisk + Self.silent, in: "/", limit: .seconds(300))
                #expect(found == "silent\ntold")
                let daemon = try #require(mount.daemon)
                try mount.shell("quire unmount --lazy \"$M\"", in: "/")
                try eventually(within: .seconds(180)) { Mount.hasEnded(daemon) }
            }
        }

        /// One that answers until a document on it is written and closed, or is opened again, or a folder is made there: requests that look
        /// for documents everywhere do not wait for it, nor do those that need all names to stand still.
        @Test(arguments: ["written", "opened", "claimed", "made"])
        func aFileSystemThatFallsSilentHoldsUpNothingThatUsersShare(when: String) throws {
            try withMount(prepare: "mkdir inner; echo x >document; setfattr -n user.xdg.tags -v t document") { mount in
                try mount.shell("eventually() { until \"$@\"; do sleep 0.1; done; }; eventually test -e .tags/t/document")
                let found = try mount.python("when = '\(when)'\n" + Self.innerDisk + Self.silentShared, in: "/", limit: .seconds(300))
                #expect(found == "silent\nworked")
                let daemon = try #require(mount.daemon)
                try mount.shell("quire unmount --lazy \"$M\"", in: "/")
                try eventually(within: .seconds(180)) { Mount.hasEnded(daemon) }
            }
        }

        /// ENOSYS has the kernel never ask for such a thing again, in the whole mount.
        @Test func aFileSystemWithoutFunctionsTakesNoneFromOthers() throws {
            try withMount(prepare: "mkdir inner; echo old >document") { mount in
                let found = try mount.python(Unrelated.python + Self.innerDisk + Self.withoutFunctions, in: "/", limit: .seconds(120))
                #expect(found == "refused\nnew\nwhole")
            }
        }

        /// Mounts `inner` in the store, to be served by `device` (fuse(4), linux/fuse.h): `agreement` is what INIT is answered, and node 3
        /// is a file, all others are folders.
        private static let innerDisk = #"""
            import ctypes, os, signal, struct
            M, T, inner = os.environ["M"], os.environ["T"], os.environ["S"] + "/inner"
            libc = ctypes.CDLL(None, use_errno=True)
            device = os.open("/dev/fuse", os.O_RDWR)
            options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
            assert libc.mount(b"hostile", inner.encode(), b"fuse.hostile", 0, options) == 0, os.strerror(ctypes.get_errno())
            agreement = struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 12, 9, 4096, 1, 0, 0, 0, *[0] * 7)
            def attributes(node): return struct.pack("<6Q10I", node, 0, 0, 0, 0, 0, 0, 0, 0, 0o100666 if node == 3 else 0o40777, 2, 0, 0, 0, 4096, 0)
            def answer(unique, error, body): os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)

            """#

        private static let withoutFunctions = #"""
            def serve():
                while True:
                    request = os.read(device, 1 << 17)
                    _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
                    name = request[40:].split(b"\0")[0]
                    error, body = 0, b""
                    if opcode in (2, 42): continue  # FORGET
                    elif opcode == 26: body = agreement
                    elif os.path.exists(T + "/refuses") or opcode == 52: error = -errno.ENOSYS  # all, and STATX
                    elif opcode == 3: body = struct.pack("<QII", 0, 0, 0) + attributes(node)  # GETATTR
                    elif opcode == 1:  # LOOKUP
                        child = {b"d": 2, b"f": 3}.get(name)
                        if child: body = struct.pack("<QQQQII", child, 0, 0, 0, 0, 0) + attributes(child)
                        else: error = -errno.ENOENT
                    elif opcode in (14, 27): body = struct.pack("<QII", 1, 0, 0)  # OPEN, OPENDIR
                    elif opcode not in (18, 25, 28, 29): error = -errno.EIO  # RELEASE, FLUSH, READDIR, RELEASEDIR
                    answer(unique, error, body)
            server = os.fork()
            if server == 0: serve()
            os.close(device)
            try:
                place = M + "/inner"
                file, folder = os.open(place + "/f", os.O_RDWR), os.open(place + "/d", os.O_RDONLY)
                assert os.listdir(place) == []
                open(T + "/refuses", "w").close()
                calls = [
                    lambda: os.listdir(place), lambda: os.listdir(place + "/d"), lambda: os.listdir(folder), lambda: os.open(place + "/f", os.O_RDONLY),
                    lambda: os.open(place + "/f", os.O_WRONLY | os.O_TRUNC), lambda: os.open(place + "/new", os.O_WRONLY | os.O_CREAT),
                    lambda: os.open(place, os.O_RDWR | os.O_TMPFILE), lambda: os.access(place + "/f", os.W_OK), lambda: os.stat(place + "/f"),
                    lambda: os.fstat(file), lambda: os.getxattr(place + "/f", "user.x"), lambda: os.setxattr(place + "/f", "user.x", b"x"),
                    lambda: os.listxattr(place + "/f"), lambda: os.removexattr(place + "/f", "user.x"), lambda: os.mkdir(place + "/new"),
                    lambda: os.mkfifo(place + "/new"), lambda: os.symlink("x", place + "/new"), lambda: os.link(place + "/f", place + "/new"),
                    lambda: os.rename(place + "/f", place + "/d/f"), lambda: os.unlink(place + "/f"), lambda: os.rmdir(place + "/d"),
                    lambda: os.read(file, 10), lambda: os.write(file, b"x"), lambda: os.fsync(file), lambda: os.fsync(folder),
                    lambda: os.posix_fallocate(file, 0, 10), lambda: os.lseek(file, 0, os.SEEK_DATA), lambda: os.ftruncate(file, 3),
                    lambda: os.copy_file_range(file, file, 10, 0, 100), lambda: os.statvfs(place), lambda: os.utime(place + "/f"),
                    lambda: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB),
                    lambda: fcntl.ioctl(file, 0x80086601, b"x" * 8), lambda: os.close(file), lambda: os.close(folder),
                ]
                refused = 0
                for call in calls:
                    try: call()
                    except OSError: refused += 1
                print("refused" if refused > 20 else refused)
                # FLUSH publishes it, FSYNC and locks are asked for, and so is OPENDIR.
                file = os.open(M + "/document", os.O_WRONLY | os.O_TRUNC); os.write(file, b"new"); os.close(file)
                print(other(f"cat {M}/document"))
                os.mkdir(M + "/folder"); open(M + "/folder/inside", "w").close()
                assert os.listdir(M + "/folder") == ["inside"] and set(os.listdir(M)) >= {"document", "folder", "inner"}
                file = os.open(M + "/document", os.O_RDWR)
                os.fsync(file); fcntl.flock(file, fcntl.LOCK_EX)
                assert other(f"flock -n {M}/document echo taken || echo kept") == "kept"
                os.setxattr(M + "/document", "user.x", b"x"); assert os.getxattr(M + "/document", "user.x") == b"x"
                os.posix_fallocate(file, 0, 10); assert os.lseek(file, 0, os.SEEK_HOLE) > 0
                os.rename(M + "/document", M + "/other")
                print("whole")
            finally:
                os.kill(server, signal.SIGKILL); libc.umount2(inner.encode(), 2); os.waitpid(server, 0)
            """#

        private static let silent = #"""
            import errno, select, subprocess, time
            removed = os.pipe()
            def serve():
                while True:
                    request = os.read(device, 1 << 17)
                    _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
                    error, body = 0, b""
                    if opcode == 26: body = agreement
                    elif opcode == 1 and request[40:].split(b"\0")[0] == b"file":  # LOOKUP
                        body = struct.pack("<QQQQII", 3, 0, 0, 0, 0, 0) + attributes(3)
                    elif opcode == 1: error = -errno.ENOENT
                    elif opcode == 3: body = struct.pack("<QII", 0, 0, 0) + attributes(node)  # GETATTR
                    elif opcode in (2, 42): continue  # FORGET
                    elif opcode in (14, 27): body = struct.pack("<QII", 1, 0, 0)  # OPEN
                    elif opcode not in (10, 18, 25, 28, 29): error = -38
                    answer(unique, error, body)
                    if opcode == 10:  # UNLINK
                        os.write(removed[1], b"!")
                        while True: time.sleep(1)
            if (server := os.fork()) == 0:
                os.close(removed[0]); serve()
            os.close(device); os.close(removed[1])
            watch = subprocess.Popen(["quire", "watch", "--json", M], stdout=subprocess.PIPE)
            children, told = [], b""
            def expect(path):
                global told
                end = time.monotonic() + 180
                while path.encode() not in told:
                    ready, _, _ = select.select([watch.stdout], [], [], max(0, end - time.monotonic()))
                    assert ready, "not told of " + path
                    told += os.read(watch.stdout.fileno(), 1 << 16)
            try:
                # The watch begins at some moment.
                end = time.monotonic() + 180
                while not select.select([watch.stdout], [], [], 0.1)[0]:
                    open(M + "/before", "w").close(); assert time.monotonic() < end
                if (remover := os.fork()) == 0:
                    os.unlink(M + "/inner/file"); os._exit(0)
                children.append(remover)
                assert os.read(removed[0], 1) == b"!"
                print("silent")
                for number in range(5):
                    open(f"{M}/after {number}", "w").close(); expect(f"after {number}")
                print("told")
            finally:
                watch.kill(); watch.wait()
                # With its server it ends, and so does every wait for it.
                for child in children + [server]: os.kill(child, signal.SIGKILL)
                libc.umount2(inner.encode(), 2)
                for child in children + [server]: os.waitpid(child, 0)
            """#

        private static let silentShared = #"""
            import subprocess, time
            def serve():
                looked = 0
                while True:
                    request = os.read(device, 1 << 17)
                    _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
                    error, body = 0, b""
                    if opcode == 26: body = agreement
                    elif os.path.exists(T + "/silent"): continue
                    elif opcode == 1:  # LOOKUP
                        name = request[40:].split(b"\0")[0]
                        looked += name == b"file"
                        if name != b"file" or when == "opened" and looked == 2: error = -2
                        else: body = struct.pack("<QQQQII", 3, 0, 0, 0, 0, 0) + attributes(3)
                        if error and name == b"file": open(T + "/silent", "w").close()
                    elif opcode == 3: body = struct.pack("<QII", 0, 0, 0) + attributes(node)  # GETATTR
                    elif opcode in (2, 42): continue  # FORGET
                    elif opcode == 9: open(T + "/silent", "w").close(); continue  # MKDIR
                    elif opcode in (14, 27): body = struct.pack("<QII", 1, 0, 0)  # OPEN
                    elif opcode == 16: body = struct.pack("<II", struct.unpack_from("<I", request, 56)[0], 0)  # WRITE
                    elif opcode not in (4, 18, 20, 25, 28, 29): error = -38
                    answer(unique, error, body)
            if (server := os.fork()) == 0: serve()
            os.close(device)
            children = []
            def beside(body):
                if (child := os.fork()) == 0:
                    try: body()
                    finally: os._exit(0)
                children.append(child)
            try:
                if when == "written":
                    file = os.open(M + "/inner/file", os.O_WRONLY); os.write(file, b"x"); os.close(file)
                    open(T + "/silent", "w").close()
                elif when == "opened": beside(lambda: os.open(M + "/inner/file", os.O_RDONLY))
                elif when == "made": beside(lambda: os.mkdir(M + "/inner/new"))
                else:
                    open(T + "/silent", "w").close()
                    beside(lambda: subprocess.run(["quire", "coordinate", "--read", M + "/inner", "--write", M + "/inner/file", "--", "true"]))
                    beside(lambda: subprocess.run(["quire", "coordinate", "--read", M, "--", "true"]))
                end = time.monotonic() + 180
                while not os.path.exists(T + "/silent"): assert time.monotonic() < end; time.sleep(0.01)
                print("silent")
                def work():
                    os.chdir(M)
                    for number in range(20):
                        for text in ("one", "two"):
                            with open("document", "w") as file: file.write(text)
                        os.mkdir("d"); os.rename("document", "d/document"); os.rename("d/document", "document"); os.rmdir("d")
                        assert ".recents" in os.listdir(".") and "document" in os.listdir(".recents")
                        assert os.listdir(".tags/t") == ["document"]
                        time.sleep(0.1)
                    words = "quire status; quire tag add u document; quire coordinate --write document -- true; quire coordinate --read document -- true"
                    if when == "made": words += "; quire coordinate --timeout 100 --read . -- true"
                    assert subprocess.run(["sh", "-ec", words], stdout=subprocess.DEVNULL).returncode == 0
                    os._exit(7)
                if (worker := os.fork()) == 0:
                    try: work()
                    finally: os._exit(1)
                ended = 0
                while not ended and time.monotonic() < end:
                    ended, status = os.waitpid(worker, os.WNOHANG); time.sleep(0.05)
                if not ended: children.append(worker)
                print("worked" if ended and os.waitstatus_to_exitcode(status) == 7 else "held up")
            finally:
                for child in children + [server]: os.kill(child, signal.SIGKILL)
                libc.umount2(inner.encode(), 2)
                for child in children + [server]: os.waitpid(child, 0)
            """#

        private static let stalled = #"""
            import subprocess, time
            def started(user, body):
                if (child := os.fork()) == 0:
                    try:
                        os.setgroups([]); os.setgid(user); os.setuid(user)
                        body()
                    finally: os._exit(1)
                return child
            asked = os.pipe()
            def serve():
                while True:
                    error, body = 0, b""
                    _, opcode, unique = struct.unpack_from("<IIQ", os.read(device, 1 << 17))
                    if opcode == 26: body = agreement
                    elif opcode == 3: body = struct.pack("<QII", 0, 0, 0) + attributes(1)  # GETATTR
                    elif opcode == 52: error = -38  # STATX: not known
                    else:
                        os.write(asked[1], b"!")
                        continue
                    answer(unique, error, body)
            server = started(0, serve)
            os.close(device); os.close(asked[1])
            def look(number):
                while True:
                    try: os.stat(f"{M}/inner/{number}")
                    except OSError: time.sleep(0.01)
            waiting = [started(61001, lambda: look(number)) for number in range(40)]
            try:
                # A few threads' worth of looks have come through.
                for _ in range(4): assert os.read(asked[0], 1) == b"!"
                print("stalled")
                def work():
                    os.chdir(M + "/bob")
                    for number in range(200):
                        text = "version %d" % number
                        with open("doc", "w") as file: file.write(text)
                        with open("doc") as file: assert file.read() == text
                        os.mkdir("d"); os.rename("doc", "d/doc"); os.rename("d/doc", "doc"); os.rmdir("d")
                        assert os.listdir(".") == ["doc"]
                    os._exit(0)
                if os.waitpid(started(61002, work), 0)[1] == 0: print("worked")
                print(subprocess.run(["quire", "unmount", "--lazy", M]).returncode)
                print(os.path.ismount(M))
            finally:
                # With its server it ends, and so does every wait for it.
                for child in waiting + [server]: os.kill(child, signal.SIGKILL)
                libc.umount2(inner.encode(), 2)
                for child in waiting + [server]: os.waitpid(child, 0)
            """#

        /// Fails when the mount's root answers no more.
        private static let walk = #"""
            import ctypes, fcntl, os, random, struct, subprocess, sys, time
            libc = ctypes.CDLL(None, use_errno=True)
            M = os.environ["M"]
            random.seed(seed)
            AT = -100
            def statx(p, mask=0xfff):
                b = ctypes.create_string_buffer(256)
                libc.syscall(332, AT, os.fsencode(p), 0x100, mask, b)
            def quiet(f, *a, **k):
                try: return f(*a, **k)
                except (OSError, ValueError, UnicodeError): return None
            def listing(p):
                n = []
                try:
                    fd = os.open(p, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK)
                except OSError: return n
                b = ctypes.create_string_buffer(8192)
                for _ in range(4):
                    got = libc.syscall(217, fd, b, 8192)
                    if got <= 0: break
                    o = 0
                    while o < got:
                        l = struct.unpack_from("<H", b, o + 16)[0]
                        n.append(ctypes.string_at(ctypes.addressof(b) + o + 19)); o += l
                os.close(fd)
                return [x for x in n if x not in (b".", b"..")]
            def rw(p, flags):
                fd = os.open(p, flags | os.O_NONBLOCK)
                try:
                    for _ in range(3):
                        k = random.randrange(9)
                        if k == 0: quiet(os.pread, fd, random.choice([10, 70000]), random.choice([0, 5, 1 << 40, (1 << 63) - 10]))
                        elif k == 1: quiet(os.pwrite, fd, b"x" * random.choice([1, 5000]), random.choice([0, 77, 1 << 40]))
                        elif k == 2: quiet(os.ftruncate, fd, random.choice([0, 9, 1 << 40]))
                        elif k == 3: quiet(os.fsync, fd)
                        elif k == 4: quiet(os.lseek, fd, random.choice([0, 1 << 50]), random.choice([0, 2, 3, 4]))
                        elif k == 5: quiet(os.posix_fallocate, fd, 0, random.choice([10, 1 << 40]))
                        elif k == 6: quiet(fcntl.lockf, fd, random.choice([fcntl.LOCK_SH, fcntl.LOCK_EX]) | fcntl.LOCK_NB)
                        elif k == 7: quiet(os.fstat, fd)
                        else: quiet(os.copy_file_range, fd, fd, 100, 0, 1000)
                finally: os.close(fd)
            def step():
                # The roots are read now and then, for what is in them is made up each time.
                if not step.known or random.random() < .05:
                    step.known = [root + b"/" + n for root in step.roots for n in listing(root)] or list(step.roots)
                    random.shuffle(step.known); step.known = step.known[:80]
                p = random.choice(step.known)
                if random.random() < .3: p += b"/" + random.choice([b"f1", b"d2", b"g3", b"l0", b"p1"])
                q = random.choice(step.known)
                k = random.randrange(24)
                if k == 0: statx(p)
                elif k == 1: quiet(os.lstat, p)
                elif k == 2: quiet(listing, p)
                elif k == 3: quiet(rw, p, os.O_RDONLY)
                elif k == 4: quiet(rw, p, os.O_RDWR)
                elif k == 5: quiet(rw, p, os.O_WRONLY | os.O_TRUNC)
                elif k == 6: quiet(rw, p, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                elif k == 7: quiet(os.setxattr, p, "user.xdg.tags", random.choice([b"t", b"a,b", b"\xff", b""]))
                elif k == 8: quiet(os.getxattr, p, "user.xdg.tags"); quiet(os.listxattr, p)
                elif k == 9: quiet(os.rename, p, q)
                elif k == 10: quiet(os.link, p, q + b"x")
                elif k == 11: quiet(os.symlink, os.path.relpath(p, step.m + b"/.tags/t"), step.m + b"/.tags/t/%d" % random.randrange(9))
                elif k == 12: quiet(os.unlink, p)
                elif k == 13: quiet(os.mkdir, p + b"n")
                elif k == 14: quiet(os.utime, p, ns=(random.choice([0, -5, -10**9, 10**18]), random.choice([0, -5, 10**18])), follow_symlinks=False)
                elif k == 15: quiet(os.chmod, p, random.randrange(4096)); quiet(os.chown, p, 0, 0)
                elif k == 16: quiet(os.readlink, p)
                elif k == 17: quiet(os.truncate, p, random.choice([0, 5, 1 << 45]))
                elif k == 18: quiet(os.statvfs, p)
                elif k == 19:
                    for v in (b"/.tags/t", b"/.recents", b"/.tags", b"/.thumbnails/normal/inner", b"/.previews/inner", b"/.thumbnails/large"):
                        for n in listing(step.m + v)[:6]: statx(step.m + v + b"/" + n)
                elif k == 20:
                    rel = os.path.relpath(p, step.m)
                    for s in (b"normal", b"large"):
                        f = quiet(os.open, step.m + b"/.thumbnails/" + s + b"/" + rel, os.O_RDONLY | os.O_NONBLOCK)
                        if f is not None: quiet(os.read, f, 100); os.close(f)
                elif k == 21: listing(step.m + b"/.previews/" + os.path.relpath(p, step.m))
                elif k == 22: statx(step.m + b"/.tags/t"); statx(p)
                else: quiet(os.rmdir, p)
            # Claims, to read as to write: what is granted is the disk's to say, or that there is no snapshot of it. A file that has
            # become a pipe keeps its reader.
            def claim(*words):
                subprocess.run(["quire", "coordinate", "--timeout", "2", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
            within = 'cd "$0" || exit 0; ls -R . | head -50; cat f* | head -c 9000; echo a >f1; echo b >new; mv g1 g2; rm -rf d1 f2; mkdir -m 700 d1 d3; rmdir d2; exit $(($$ % 2))'
            look = 'ls -R "$QUIRE_SNAPSHOT" | head -50; find "$QUIRE_SNAPSHOT" -type f -print0 | head -z -n 9 | xargs -0 cat | head -c 9000'
            step.m = os.fsencode(M); step.roots = [step.m + b"/inner" + x for x in (b"", b"/d1", b"/d2")]; step.known = []
            end = time.monotonic() + seconds; n = 0
            while time.monotonic() < end or n < 160:
                if n % 150 == 75:
                    if n % 300 == 75: claim("--read", random.choice([step.m + b"/inner"] + step.known), "--read", M + "/document", "--", "timeout", "5", "sh", "-c", look)
                    else: claim("--write", M + "/inner", "--", "timeout", "5", "sh", "-c", within, M + "/inner")
                step(); n += 1
                if n % 50 == 0:
                    try: os.stat(M)
                    except OSError as e: sys.exit("gone after %d steps: %s" % (n, e))
            """#
    }
}
