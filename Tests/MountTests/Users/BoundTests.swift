import TestSupport
import Testing

extension MountTests {
    /// Each of these is taken to its bound by one user, who is refused what is said in the table, and another user has room.
    struct BoundTests {
        private static let script = UserScript.text + #"""
            def share(uid, name):
                shares = json.loads(out(uid, "quire status --json ."))["shares"]
                return [share for share in shares if share["resource"] == name][0]

            """#

        private func users(_ options: [String] = [], prepare: String = "", _ program: String) throws {
            try withMount(.root, Account.root.options + options, prepare: "chmod 755 .\n" + prepare) { mount in
                try mount.python(Self.script + program, limit: .seconds(300))
            }
        }

        @Test func listingsThatAreNotReadAreBounded() throws {
            try users(prepare: "mkdir many; (cd many && seq 3000 | xargs touch)", #"""
                alice = User(ALICE, """if 1:
                    for n in range(3000): os.mkdir(".tags/t%d" % n)
                    kept = []
                    try:
                        for n in range(300): kept.append(os.open(".tags", os.O_DIRECTORY))
                    except OSError as error: say(error.strerror)
                    # As many as there is room for, each of 128 bytes an entry; a folder of the store is read in more steps.
                    say(len(kept) == (64 << 20) // (3000 * 128), len(os.listdir("many")))
                    hear()
                    while kept: os.close(kept.pop())
                    """)
                assert alice.said() == "Cannot allocate memory"
                assert alice.said() == "True 3000"
                assert out(BOB, "mkdir .tags/own; ls .tags") == "own\n"
                alice.end()
                eventually(lambda: share(ALICE, "listingBytes")["used"] == 0)
                assert out(ALICE, "ls .tags | wc -l") == "3000\n"
                """#)
        }

        @Test func opensThatWaitForAClaimAreBounded() throws {
            try users(["coordination-timeout=300"], prepare: "echo old >doc; echo old >other; chmod 666 doc other", #"""
                claimer = User(ALICE, """if 1:
                    service = Service()
                    say(service.call("Coordination.Claim", intents=[{"path": M + "/" + name, "access": "writing"} for name in ["doc", "other"]])["claim"])
                    hear()
                    """)
                claimer.said()
                bob = User(BOB, """if 1:
                    threading.stack_size(65536)
                    # print(3) may write lines of several threads as one.
                    def tell(text): os.write(1, text.encode() + b"\\n")
                    def write():
                        try: os.close(os.open("doc", os.O_WRONLY)); tell("opened")
                        except OSError as error: tell(error.strerror)
                    threads = [threading.Thread(target=write) for _ in range(502)]
                    for thread in threads: thread.start()
                    for thread in threads: thread.join()
                    """)
                assert [bob.said(), bob.said()] == ["Device or resource busy"] * 2
                assert share(BOB, "waitingOpens")["used"] == 500, share(BOB, "waitingOpens")
                # Another's waits, and is let through.
                other = subprocess.Popen(become(61003) + ["dd", "if=/dev/null", "of=other", "conv=notrunc", "status=none"], cwd=M)
                eventually(lambda: share(61003, "waitingOpens")["used"] == 1)
                claimer.end()
                assert [bob.said() for _ in range(500)] == ["opened"] * 500
                assert other.wait(60) == 0
                bob.end()
                """#)
        }

        /// With 600 documents in `slow`, of a type that a program renders which never ends.
        private func withSlowDocuments(_ program: String) throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            try mount.shell(#"""
                chmod 755 .; echo text >note.txt; mkdir slow; (cd slow && for n in $(seq 600); do echo $n >$n.blend; done)
                mkdir -p "$T/share/thumbnailers"
                printf '[Thumbnailer Entry]\nExec=sh -c "exec sleep 1000" %%i %%o\nMimeType=application/x-blender;\n' >"$T/share/thumbnailers/slow.thumbnailer"
                """#, in: mount.store)
            try mount.shell("XDG_DATA_DIRS=$T/share:/usr/local/share:/usr/share quire mount \"$S\" \"$M\" -o allow_other", in: "/")
            try mount.noteDaemon()
            try mount.python(Self.script + #"""
                # Each thread looks again when it is answered, until the program is killed.
                looking = """if 1:
                    threading.stack_size(65536)
                    def look(n):
                        while True:
                            try: %s
                            except OSError: pass
                            time.sleep(0.2)
                    for n in range(1, %d + 1): threading.Thread(target=look, args=(n,), daemon=True).start()
                    hear()
                    """
                def answer(uid, call):
                    # The errno's name, or what the call found, as a user.
                    return out(uid, "python3 -c '\nimport errno, os\ntry: print(%s)\nexcept OSError as error: print(errno.errorcode[error.errno])'" % call.replace("'", '"')).strip()
                # As somebody who is shown all that can be drawn.
                def isServed(uid):
                    eventually(lambda: answer(uid, "open('.thumbnails/large/note.txt.png', 'rb').read(4)") == r"b'\x89PNG'")
                    eventually(lambda: answer(uid, "sorted(os.listdir('.previews/note.txt'))") == "['facts.txt', 'page-1.png', 'text.txt']")

                """# + program, limit: .seconds(300))
        }

        @Test func lookupsThatWaitForPicturesAreBounded() throws {
            try withSlowDocuments(#"""
                bob = User(BOB, looking % ("os.stat('.thumbnails/large/slow/%d.blend.png' % n)", 560))
                full = share(BOB, "waitingLooks")["limit"]
                assert full == 500
                eventually(lambda: share(BOB, "waitingLooks")["used"] == full)
                eventually(lambda: answer(BOB, "os.listdir('.previews/slow/600.blend')") == "EBUSY")
                # Each would wait for ten seconds.
                for n in range(40): assert answer(BOB, "os.stat('.thumbnails/large/slow/599.blend.png')") == "ENOENT"
                eventually(lambda: share(BOB, "waitingLooks")["used"] == full)
                isServed(ALICE)
                # What has ended waits no longer, though its pictures are still to be drawn.
                bob.process.kill(); bob.process.wait()
                eventually(lambda: share(BOB, "waitingLooks")["used"] == 0)
                isServed(BOB)
                """#)
        }

        @Test func previewsThatWaitToBeMadeAreBounded() throws {
            try withSlowDocuments(#"""
                bob = User(BOB, looking % ("os.listdir('.previews/slow/%d.blend' % n)", 80))
                full = share(BOB, "waitingPreviews")["limit"]
                assert full == 64
                eventually(lambda: share(BOB, "waitingPreviews")["used"] == full)
                # Each would wait for 45 seconds.
                for n in range(20): assert answer(BOB, "os.listdir('.previews/slow/600.blend')") == "EAGAIN"
                assert answer(BOB, "os.stat('.previews/slow/600.blend/page-1.png')") == "EAGAIN"
                assert share(BOB, "waitingPreviews")["used"] == full
                isServed(ALICE)
                bob.process.kill(); bob.process.wait()
                # All but those that are being made, which end by their time.
                eventually(lambda: share(BOB, "waitingPreviews")["used"] == 0)
                isServed(BOB)
                """#)
        }

        @Test func claimsThatWaitAreBounded() throws {
            try users(prepare: "echo old >doc; chmod 666 doc", #"""
                claiming = """if 1:
                    services = [Service() for _ in range(%d)]
                    for service in services:
                        service.send("Coordination.Claim", intents=[{"path": M + "/doc", "access": "writing"}], timeout=300)
                    hear()
                    """
                first = User(ALICE, claiming % 1)
                eventually(lambda: share(ALICE, "claims")["used"] == 1 and share(ALICE, "waitingClaims")["used"] == 0)
                bob = User(BOB, claiming % 500)
                eventually(lambda: share(BOB, "waitingClaims")["used"] == 500)
                more = User(BOB, """if 1:
                    try: Service().call("Coordination.Claim", intents=[{"path": M + "/doc", "access": "writing"}], timeout=300)
                    except RuntimeError as error: say(error.args[0]["error"], "waitingClaims" in str(error))
                    """)
                assert more.said() == "org.quire.Mount.Failed True"
                more.end()
                other = User(ALICE, claiming % 1)
                eventually(lambda: share(ALICE, "waitingClaims")["used"] == 1)
                bob.end()
                eventually(lambda: share(BOB, "waitingClaims")["used"] == 0 and share(BOB, "claims")["used"] == 0)
                other.end(); first.end()
                """#)
        }

        /// 250 paths of nearly 4,000 bytes in each claim.
        @Test func bytesOfClaimedPathsAreBounded() throws {
            try users(prepare: "echo x >doc", #"""
                program = """if 1:
                    folder = M + ("/" + "n" * 250) * 15
                    services, refusal = [], None
                    while refusal is None and len(services) < 50:
                        services.append(Service())
                        items = [{"path": "%s/%d" % (folder, n), "access": "reading", "options": ["metadataOnly"]} for n in range(250)]
                        try: services[-1].call("Coordination.Claim", intents=items)
                        except RuntimeError as error: refusal = error.args[0]["error"], "claimedBytes" in str(error)
                    say(len(services), refusal)
                    hear()
                    """
                # No other than root may claim what is not there, below what is not there.
                root = User(0, program)
                count, refusal = root.said().split(" ", 1)
                assert refusal == "('org.quire.Mount.Failed', True)" and 30 < int(count) < 40, (count, refusal)
                used = share(0, "claimedBytes")
                assert used["limit"] - 1_000_000 < used["used"] <= used["limit"], used
                bob = User(BOB, """if 1:
                    say(Service().call("Coordination.Claim", intents=[{"path": M + "/doc", "access": "reading"}])["snapshots"]); hear()
                    """)
                assert bob.said().startswith("["), bob
                bob.end(); root.end()
                eventually(lambda: share(0, "claimedBytes")["used"] == 0)
                """#)
        }

        @Test func presentedItemsAreBounded() throws {
            try users(prepare: "echo x >doc", #"""
                program = """if 1:
                    attending, service = Service(), Service()
                    attending.send("Presenters.Attend", more=True)
                    session, made, refusal = attending.receive()["session"], 0, None
                    try:
                        while made < %d:
                            service.call("Presenters.Present", session=session, path=M + "/doc"); made += 1
                    except RuntimeError as error: refusal = error.args[0]["error"]
                    say(made, refusal); hear()
                    """
                bob = User(BOB, program % 20_010)
                assert bob.said() == "20000 org.quire.Mount.Failed"
                alice = User(ALICE, program % 10)
                assert alice.said() == "10 None"
                alice.end(); bob.end()
                eventually(lambda: share(BOB, "presenters")["used"] == 0)
                """#)
        }

        /// A user's 16 programs that present a folder and read nothing of what they are told.
        @Test func eventsThatPresentersDoNotTakeAreBounded() throws {
            try users(prepare: "mkdir -m 777 folder; for n in $(seq 0 49); do echo x >folder/$n; done", #"""
                bob = User(BOB, """if 1:
                    clients = []
                    for n in range(16):
                        attending, calls = Service(), Service()
                        attending.send("Presenters.Attend", more=True)
                        session = attending.receive()["session"]
                        calls.call("Presenters.Present", session=session, path=M + "/folder", contents=True)
                        clients.append((attending, calls))
                    say("attends"); hear()
                    for attending, calls in clients:
                        while not attending.receive()["overflow"]: pass
                    say("missed"); hear()
                    """)
                bob.said()
                # A presenter is not told of what its own process does.
                writer = User(0, """if 1:
                    while hear():
                        for n in range(250):
                            with open("folder/%d" % (n % 50), "w") as file: file.write("x")
                        say("wrote")
                    """)
                reader = Presenter("folder", contents=True)
                most, full = 0, share(BOB, "waitingMessages")["limit"]
                assert full == 50_000
                for n in range(250, 4_501, 250):
                    writer.tell()
                    writer.said()
                    # The one that reads is told of each.
                    eventually(lambda: len(reader.events) >= n)
                    most = max(most, share(BOB, "waitingMessages")["used"])
                assert 40_000 < most <= full, most
                writer.end()
                bob.tell()
                assert bob.said() == "missed"
                bob.end()
                eventually(lambda: share(BOB, "waitingMessages")["used"] == 0)
                """#)
        }

        /// A program that presents an item many times, and takes none of the questions that claims on it ask.
        @Test func questionsThatAPresenterDoesNotTakeAreBounded() throws {
            try users(prepare: "echo x >doc; chmod 666 doc", #"""
                bob = User(BOB, """if 1:
                    attending, calls = Service(), Service()
                    attending.send("Presenters.Attend", more=True)
                    session = attending.receive()["session"]
                    for n in range(256): calls.call("Presenters.Present", session=session, path=M + "/doc")
                    say("presents"); hear()
                    """)
                assert bob.said() == "presents"
                asker = User(BOB, """if 1:
                    service = Service()
                    for n in range(100):
                        try: service.call("Coordination.Claim", intents=[{"path": M + "/doc", "access": "writing"}], timeout=0)
                        except RuntimeError as error: pass
                    say("asked"); hear()
                    """)
                assert asker.said() == "asked"
                # 512 for each claim, of which the last ones are not put.
                used = share(BOB, "waitingMessages")["used"]
                assert 3_000 < used <= 4_096, used
                asker.end(); bob.end()
                eventually(lambda: share(BOB, "waitingMessages")["used"] == 0)
                """#)
        }

        @Test func listsThatAreKeptAreBounded() throws {
            let prepare = #"""
                python3 -c 'import os
                tags = ",".join("t%d" % n for n in range(10)).encode()
                for n in range(20_000):
                    with open("d%d" % n, "w") as file: os.setxattr(file.fileno(), "user.xdg.tags", tags)'
                """#
            try users(prepare: prepare, #"""
                def count(uid, tag): return int(out(uid, "ls -U .tags/t%d | wc -l" % tag))
                eventually(lambda: count(BOB, 0) == 20_000, limit=240)
                most, full = 0, share(ALICE, "keptNames")["limit"]
                assert full == 150_000
                # A list that is not looked at goes after ten seconds: on a busy machine it may take more than one time through all.
                def isFull():
                    global most
                    for tag in range(10):
                        assert count(ALICE, tag) == 20_000
                        most = max(most, share(ALICE, "keptNames")["used"])
                    return most > full - 20_000
                eventually(isFull, limit=240)
                assert most <= full, most
                eventually(lambda: count(BOB, 0) == 20_000 and share(ALICE, "keptNames")["used"] == 0)
                """#)
        }

        @Test func locksThatAreWaitedForAreBounded() throws {
            try users(prepare: "echo x >doc; echo x >other; chmod 666 doc other", #"""
                holder = User(ALICE, """if 1:
                    import fcntl
                    file = open("doc", "r+"); fcntl.flock(file, fcntl.LOCK_EX); say("locked"); hear()
                    """)
                holder.said()
                bob = User(BOB, """if 1:
                    import fcntl
                    threading.stack_size(65536)
                    # print(3) may write lines of several threads as one.
                    def tell(text): os.write(1, text.encode() + b"\\n")
                    files = [os.open("doc", os.O_RDWR) for _ in range(1002)]
                    def lock(fd):
                        try: fcntl.flock(fd, fcntl.LOCK_SH); tell("locked")
                        except OSError as error: tell(error.strerror)
                    threads = [threading.Thread(target=lock, args=(fd,)) for fd in files]
                    for thread in threads: thread.start()
                    for thread in threads: thread.join()
                    try: fcntl.flock(files[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except OSError as error: say(error.strerror)
                    """)
                assert [bob.said(), bob.said()] == ["No locks available"] * 2
                assert share(BOB, "waitingLocks")["used"] == 1000, share(BOB, "waitingLocks")
                waiting = subprocess.Popen(become(ALICE) + ["flock", "doc", "true"], cwd=M)
                eventually(lambda: share(ALICE, "waitingLocks")["used"] == 1)
                out(ALICE, "flock other true")
                holder.end()
                assert [bob.said() for _ in range(1000)] == ["locked"] * 1000
                assert bob.said() == "Resource temporarily unavailable"
                bob.end()
                assert waiting.wait(60) == 0
                eventually(lambda: share(BOB, "waitingLocks")["used"] == 0)
                """#)
        }

        @Test func locksThatAreHeldAreBounded() throws {
            try users(prepare: "truncate -s 1M doc other; chmod 666 doc other", #"""
                bob = User(BOB, """if 1:
                    import fcntl, errno
                    file, made = open("doc", "r+"), 0
                    try:
                        while made < 20_000: fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * made); made += 1
                    except OSError as error: say(made, error.strerror)
                    # One lock would become two.
                    fcntl.lockf(file, fcntl.LOCK_UN, 1, 0)
                    fcntl.lockf(file, fcntl.LOCK_EX, 100, 100_000)
                    try: fcntl.lockf(file, fcntl.LOCK_UN, 1, 100_050)
                    except OSError as error: say(error.strerror)
                    hear()
                    """)
                assert bob.said() == "10000 No locks available"
                assert bob.said() == "No locks available"
                assert share(BOB, "heldLocks")["used"] == 10_000, share(BOB, "heldLocks")
                assert sh(BOB, "flock other true").returncode != 0
                out(ALICE, "flock other true")
                bob.end()
                eventually(lambda: share(BOB, "heldLocks")["used"] == 0)
                out(BOB, "flock other true")
                """#)
        }

        /// The most that one claim can change is published at once, and does not overflow a stack.
        @Test(arguments: [false, true])
        func namesChangedWithinAClaimAreBounded(inFolders: Bool) throws {
            let folders = isLongRun ? 12_000 : 3_000
            try users(prepare: "mkdir pack; chown \(Account.alice) pack", #"""
                place = "pack/f%d/doc" if \#(inFolders ? "True" : "False") else "pack/doc%d"
                program = os.environ["T"] + "/program"
                open(program, "w").write("""if 1:
                    import os
                    count, most = 0, \#(inFolders ? folders : 31_000)
                    try:
                        for n in range(most):
                            name = %r %% n
                            if "/f" in name: os.mkdir(os.path.dirname(name))
                            file = os.open(name, os.O_CREAT | os.O_WRONLY); os.write(file, b"x"); os.close(file)
                            count += 1
                    except OSError as error: print(error.strerror)
                    print(count)
                    """ % place)
                result = sh(ALICE, "quire coordinate --write pack -- python3 " + program, 600)
                assert result.returncode == 0, result
                lines = result.stdout.split()
                if "f%d" in place: assert int(lines[-1]) == \#(folders), lines
                else: assert result.stdout == "Disk quota exceeded\n30000\n", lines
                assert sum(len(files) for _, _, files in os.walk("pack")) == int(lines[-1]), lines
                eventually(lambda: share(ALICE, "stagedNames")["used"] == 0)
                """#)
        }

        @Test func openFilesBelowPreviewsAreBounded() throws {
            let prepare = "for i in 1 2 3 4 5 6; do head -c 60000000 /dev/zero >f$i; done; zip -q zeros.zip f*; rm f*; chmod 644 zeros.zip"
            try users(prepare: prepare, #"""
                alice = User(ALICE, """if 1:
                    kept = []
                    try:
                        for n in range(1, 7): kept.append(os.open(".previews/zeros.zip/contents/f%d" % n, os.O_RDONLY))
                    except OSError as error: say(error.strerror)
                    say(len(kept))
                    hear()
                    while kept: os.close(kept.pop())
                    """)
                assert alice.said() == "Cannot allocate memory"
                assert alice.said() == "4"
                assert out(BOB, "head -c 5 .previews/zeros.zip/contents/f1 | wc -c") == "5\n"
                alice.end()
                eventually(lambda: share(ALICE, "previewBytes")["used"] == 0)
                """#)
        }
    }
}
