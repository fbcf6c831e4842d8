import TestSupport
import Testing

extension MountTests {
    /// Nobody learns or holds by the service what is not theirs: one mount of root's, and two users of it.
    @Suite(.sharedMounts)
    struct OtherUsersTests {
        private func users(prepare: String, _ program: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try withSharedMount(.root, prepare: prepare) { (mount: Mount) throws in
                try mount.python(UserScript.text + program, sourceLocation: sourceLocation)
            }
        }

        // MARK: - Claims

        @Test func aClaimOnANameKeepsNobodyFromWhatTheyMadeThere() throws {
            try users(prepare: "mkdir -m 1777 tmp", #"""
                bob = User(BOB, """if 1:
                    service = Service()
                    service.call("Coordination.Claim", intents=[{"path": M + "/tmp/config", "access": "writing"},
                        {"path": M + "/tmp/project", "access": "writing", "options": ["contents"]}])
                    say("claimed"); hear()
                    """)
                assert bob.said() == "claimed"
                # What he might make there himself is his to claim.
                assert sh(ALICE, "umask 000; true >tmp/config; truncate -s 9 tmp/config").returncode != 0
                assert sh(ALICE, "chmod 600 tmp/config && echo mine >tmp/config").returncode == 0
                out(ALICE, "mkdir -m 700 tmp/project; echo one >tmp/project/doc; chmod 600 tmp/project/doc; echo two >tmp/project/doc")
                out(ALICE, "truncate -s 3 tmp/project/doc; quire coordinate --timeout 5 --write tmp/config -- sh -c 'echo claimed >tmp/config'")
                assert out(ALICE, "cat tmp/config tmp/project/doc") == "claimed\ntwo"
                with open(M + "/tmp/config", "r+") as file: file.write("root's")
                run = subprocess.run(["quire", "coordinate", "--timeout", "5", "--write", M + "/tmp/config", "--", "true"])
                assert run.returncode == 0, run
                bob.end()
                """#)
        }

        /// Since the kernel judged a change within a claim, the name may have become another file's, or the user may have lost rights.
        @Test func aClaimPublishesOnlyWhatItsUserMayChangeThen() throws {
            try users(prepare: "mkdir -m 1777 sticky; mkdir -m 777 open; chown 61001:61001 open", #"""
                def claim(path, commands):
                    process = subprocess.Popen(become(BOB) + ["quire", "coordinate", "--write", path, "--", "sh", "-ec", commands + "; echo done; read line"],
                        cwd=M, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    assert process.stdout.readline() == "done\n", process.communicate()
                    return process
                def fails(process):
                    errors = process.communicate("\n")[1]
                    assert process.returncode == 1 and "Permission denied" in errors, (process.returncode, errors)
                secret = lambda path: out(ALICE, "cat %s; stat -c '%%a %%u' %s" % (path, path)) == "secret\n600 61001\n"
                for turn in range(4):
                    for commands in "echo claimed >sticky/doc", "rm sticky/doc":
                        out(BOB, "echo bob >sticky/doc")
                        process = claim("sticky/doc", commands)
                        out(BOB, "rm -f sticky/doc"); out(ALICE, "umask 077; echo secret >sticky/doc")
                        fails(process)
                        assert secret("sticky/doc")
                        out(ALICE, "rm sticky/doc")
                    out(ALICE, "chmod 777 open"); out(BOB, "echo bob >open/doc; mkdir open/folder")
                    processes = [claim("open/new", "echo claimed >open/new"), claim("open/doc", "echo claimed >open/doc"), claim("open/folder", "rmdir open/folder")]
                    out(ALICE, "chmod 755 open; umask 077; echo secret >open/other; mv -f open/other open/doc")
                    fails(processes[0]); fails(processes[1]); processes[2].communicate("\n")
                    assert secret("open/doc") and out(ALICE, "ls open") == "doc\nfolder\n", out(ALICE, "ls open")
                    out(ALICE, "rm -r open/doc open/folder")
                # As before where nothing was taken away.
                out(ALICE, "chmod 777 open")
                process = claim("open/new", "echo claimed >open/new"); process.communicate("\n")
                assert process.returncode == 0 and out(BOB, "cat open/new") == "claimed\n"
                # Nor in a folder where only the document is to be written, though its owner saves it meanwhile by renaming.
                out(ALICE, "chmod 755 open; echo old >open/shared; chmod 666 open/shared")
                for meanwhile in "true", "echo hers >open/her; chmod 666 open/her; mv open/her open/shared":
                    process = claim("open/shared", "echo claimed >open/shared"); out(ALICE, meanwhile); errors = process.communicate("\n")[1]
                    assert process.returncode == 0 and out(BOB, "cat open/shared") == "claimed\n", errors
                """#)
        }

        /// Rights to the folders above may go while the claim waits for its turn.
        @Test func aSnapshotHoldsNothingOfAFolderThatWasClosedMeanwhile() throws {
            try users(prepare: "mkdir -m 1777 tmp; mkdir -m 777 closed; chown 61001:61001 closed", #"""
                import json
                out(ALICE, "chmod 755 closed; mkdir -m 755 closed/sub; echo public >closed/doc; echo public >closed/sub/doc")
                claims = lambda: len(json.loads(subprocess.check_output(["quire", "status", "--json", M]))["coordination"]["claims"])
                first = subprocess.Popen(become(BOB) + ["quire", "coordinate", "--write", "tmp/own", "--", "sh", "-c", "echo done; read line"],
                    cwd=M, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                assert first.stdout.readline() == "done\n"
                second = subprocess.Popen(become(BOB) + ["quire", "coordinate", "--timeout", "60", "--write", "tmp/own", "--read", "closed/doc", "--read", "closed/sub",
                    "--", "sh", "-c", "cat $QUIRE_SNAPSHOT_1 $QUIRE_SNAPSHOT_2/*"], cwd=M, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                for _ in range(3000):
                    if claims() == 2: break
                    time.sleep(0.01)
                assert claims() == 2
                out(ALICE, "chmod 700 closed; echo secret >closed/doc; echo secret >closed/sub/doc")
                first.communicate("\n")
                found = second.communicate()[0]
                assert "secret" not in found and "public" not in found and "Permission denied" in found, found
                """#)
        }

        @Test func whoeverOwnsTheFolderOrMayWriteKeepsOthersOut() throws {
            try users(prepare: "mkdir -m 777 bobs; chown 61002:61002 bobs; mkdir -m 1777 shared; touch shared/both; chmod 666 shared/both", #"""
                out(ALICE, "echo a >bobs/alices; chmod 600 bobs/alices")
                bob = User(BOB, """if 1:
                    service = Service()
                    service.call("Coordination.Claim", intents=[{"path": M + "/bobs", "access": "writing", "options": ["contents"]},
                        {"path": M + "/shared/both", "access": "writing"}])
                    say("claimed"); hear()
                    """)
                assert bob.said() == "claimed"
                for path in ["bobs/alices", "shared/both"]:
                    kept = sh(ALICE, "truncate -s 5 " + path)
                    assert kept.returncode != 0 and "busy" in kept.stderr, (path, kept)
                bob.end()
                for _ in range(500):
                    if sh(ALICE, "truncate -s 5 bobs/alices").returncode == 0: break
                    time.sleep(0.01)
                out(ALICE, "truncate -s 5 bobs/alices shared/both")
                """#)
        }

        /// The process that made a connection is gone, and its number is another user's process by now.
        @Test func aProcessOfTheSameNumberDoesNotWorkForAClaim() throws {
            try users(prepare: "mkdir -m 777 shared; echo old >shared/doc; chmod 666 shared/doc", #"""
                bob = User(BOB, """if 1:
                    service = Service()
                    # Accepted, so that the daemon knows who it is.
                    service.call("Mount.ListTags")
                    say(os.getpid())
                    hear()
                    if os.fork() == 0:
                        hear()
                        claim = service.call("Coordination.Claim", intents=[{"path": M + "/shared/doc", "access": "writing"}])
                        say("claimed")
                        hear()
                        say("ended")
                        os._exit(0)
                    os._exit(0)
                    """)
                number = int(bob.said())
                bob.tell(); bob.process.wait(30)
                def take():
                    for _ in range(2000):
                        with open("/proc/sys/kernel/ns_last_pid", "w") as file: file.write(str(number - 1))
                        child = os.fork()
                        if child == 0:
                            if os.getpid() != number: os._exit(0)
                            os.read(reading, 1)
                            os.setgroups([]); os.setgid(ALICE); os.setuid(ALICE)
                            try:
                                os.truncate(M + "/shared/doc", 2)
                                os._exit(1)
                            except OSError as error: os._exit(2 if error.errno == errno.EBUSY else 3)
                        if child == number: return child
                        os.waitpid(child, 0)
                reading, writing = os.pipe()
                child = take()
                assert child, "the number was not given again"
                bob.tell(); assert bob.said() == "claimed"
                os.write(writing, b"!")
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                # Kept out as everybody is: what she writes is not staged for him.
                assert status == 2, status
                bob.tell(); bob.said()
                """#)
        }

        @Test func aUserHasAShareOfClaimsAndConnections() throws {
            try users(prepare: "mkdir -m 777 shared; echo a >shared/a; chmod 666 shared/a", #"""
                bob = User(BOB, """if 1:
                    services, claims, refused = [], 0, None
                    path = M + "/shared/a"
                    try:
                        while claims < 2000:
                            if claims % 100 == 0: services.append(Service())
                            services[-1].call("Coordination.Claim", intents=[{"path": path, "access": "reading", "options": ["metadataOnly"]}])
                            claims += 1
                    except RuntimeError as error: refused = error.args[0]
                    say(claims, refused["error"])
                    lots = []
                    items, refused = 0, None
                    for service in services: service.socket.close()
                    service = Service()
                    try:
                        while items < 200:
                            service.call("Coordination.Claim", intents=[{"path": path, "access": "reading", "options": ["metadataOnly"]}] * 1000)
                            items += 1
                    except RuntimeError as error: refused = error.args[0]
                    say(items < 200, refused["error"])
                    service.socket.close()
                    peers, refused = [], None
                    try:
                        while len(peers) < 3000:
                            peers.append(Service()); peers[-1].call("Mount.Recents")
                    except (RuntimeError, ConnectionError, EOFError) as error: refused = str(error)
                    say(len(peers) < 2000); hear()
                    """)
                assert bob.said() == "1000 org.quire.Mount.Failed"
                assert bob.said() == "True org.quire.Mount.Failed"
                assert bob.said() == "True"
                # Another user has a share of her own meanwhile, and documents are opened.
                out(ALICE, "quire coordinate --write shared/a -- sh -c 'echo b >shared/a'; quire recents; for n in $(seq 100); do cat shared/a; done")
                shown = subprocess.run(["quire", "status", M], capture_output=True, text=True).stdout
                assert "connections" in shown and "all users" in shown, shown
                bob.end()
                """#)
        }

        // MARK: - Presenters

        @Test func presentersAreAskedOnlyAboutWhatTheirUsersMayWrite() throws {
            try users(prepare: "mkdir -m 1777 shared; echo open >shared/open; chmod 666 shared/open", #"""
                out(ALICE, "mkdir -m 755 shared/diary shared/diary/inner; echo secret >shared/diary/inner/doc; chmod 700 shared/diary; echo read >shared/read")
                bob = User(BOB, """if 1:
                    presenter = Presenter("shared", answers=lambda question: None, contents=True, unsaved=True)
                    say("presents")
                    hear()
                    say(json.dumps([os.path.relpath(question["path"], M) for question in presenter.questions]))
                    """)
                assert bob.said() == "presents"
                assert out(ALICE, "cat shared/diary/inner/doc shared/read") == "secret\nread\n"
                out(ALICE, "quire coordinate --write shared/diary/inner/doc --read shared/read -- true")
                out(ALICE, "quire coordinate --write shared/new -- true")
                assert out(ALICE, "cat shared/open") == "open\n"
                out(ALICE, "quire coordinate --write shared/open -- true")
                bob.tell()
                # Names that are free he might make.
                assert json.loads(bob.said()) == ["shared/new", "shared/open", "shared/open"]
                bob.end()
                """#)
        }

        // MARK: - Events

        @Test func aPathThatIsTooLongWipesNobodysEvents() throws {
            try users(prepare: "mkdir -m 777 alices deep; echo a >alices/doc; chmod 666 alices/doc", #"""
                out(BOB, "cd deep; for n in $(seq 20); do mkdir $(printf 'd%.0s' $(seq 250)); cd d*; done; echo >f")
                watch = subprocess.Popen(["quire", "watch", "--json", M], stdout=subprocess.PIPE, text=True)
                # Until it listens.
                while not (os.write(beat := os.open(M + "/beat", os.O_CREAT | os.O_WRONLY), b"x"), os.close(beat),
                           __import__("select").select([watch.stdout], [], [], 0.1)[0])[2]: pass
                out(BOB, "cd deep; for n in $(seq 20); do cd d*; done; for n in $(seq 50); do echo >>f; echo $n >>%s/alices/doc; mv f g; mv g f; done" % M)
                out(ALICE, "touch alices/last")
                seen = []
                for line in watch.stdout:
                    event = json.loads(line)
                    assert "overflow" not in event, event
                    seen.append((event["kind"], os.path.relpath(event["path"], M)))
                    if seen[-1][1] == "alices/last": break
                watch.kill(); watch.wait()
                assert seen.count(("changed", "alices/doc")) == 50, (seen.count(("changed", "alices/doc")), seen)
                # The deepest folder that can be named is told of.
                assert any(path.startswith("deep/d") and kind == "changed" for kind, path in seen), seen
                """#)
        }

        @Test func whoSwapsFoldersIsToldOfNoNames() throws {
            try users(prepare: "mkdir -m 777 shared", #"""
                out(ALICE, "mkdir -m 700 shared/private")
                bob = User(BOB, """if 1:
                    import ctypes
                    libc = ctypes.CDLL(None)
                    os.mkdir(M + "/shared/own")
                    one, other = (M + "/shared/private").encode(), (M + "/shared/own").encode()
                    service, told, over = Service(), set(), False
                    service.send("Events.Watch", more=True)
                    def swap():
                        while not over:
                            libc.renameat2(-100, one, -100, other, 2)
                            time.sleep(0.0007)
                    swapping = threading.Thread(target=swap); swapping.start()
                    def listen():
                        try:
                            while True:
                                for event in service.receive()["events"]: told.add(os.path.basename(event["path"]))
                        except EOFError: pass
                    threading.Thread(target=listen, daemon=True).start()
                    say("swaps"); hear()
                    over = True; swapping.join(); time.sleep(1)
                    say(json.dumps(sorted(name for name in told if name.startswith("secret")))); hear()
                    """)
                assert bob.said() == "swaps"
                held = User(ALICE, """if 1:
                    # Wherever it is called by now.
                    for place in ["private", "own"] * 1000:
                        try: folder = os.open(M + "/shared/" + place, os.O_RDONLY)
                        except OSError: continue
                        if os.fstat(folder).st_uid == os.getuid(): break
                        os.close(folder)
                    for number in range(600):
                        os.close(os.open("secret%d" % number, os.O_CREAT | os.O_WRONLY, dir_fd=folder))
                        time.sleep(0.002)
                    """)
                held.end()
                bob.tell()
                assert json.loads(bob.said()) == [], "told of"
                bob.end()
                """#)
        }

        /// What is changed beside the mount is replayed on it by path, so that watches hear of it: not somebody else's watch.
        @Test func whoSwapsFoldersHearsNoNamesByAWatch() throws {
            try users(prepare: "mkdir -m 777 shared", #"""
                import ctypes
                libc, S = ctypes.CDLL(None, use_errno=True), os.environ["S"]
                # The names that an inotify descriptor has heard by now.
                reading = """def names(watch):
                    found = []
                    try:
                        while True:
                            events, place = os.read(watch, 65536), 0
                            while place < len(events):
                                length = int.from_bytes(events[place + 12:place + 16], "little")
                                found.append(events[place + 16:place + 16 + length].rstrip(bytes(1)).decode())
                                place += 16 + length
                    except BlockingIOError: return found
                """
                exec(reading)
                out(ALICE, "mkdir -m 700 shared/private")
                bob = User(BOB, reading + """if 1:
                    import ctypes
                    libc = ctypes.CDLL(None)
                    os.mkdir(M + "/shared/own")
                    watch = libc.inotify_init1(os.O_NONBLOCK)
                    one, other, over = (M + "/shared/private").encode(), (M + "/shared/own").encode(), False
                    assert libc.inotify_add_watch(watch, other, 0xfff) > 0
                    def swap():
                        while not over:
                            libc.renameat2(-100, one, -100, other, 2)
                            time.sleep(0.0007)
                    swapping = threading.Thread(target=swap); swapping.start()
                    say("swaps"); hear()
                    over = True; swapping.join()
                    say(json.dumps(sorted(name for name in names(watch) if name.startswith("secret")))); hear()
                    """)
                assert bob.said() == "swaps"
                watch = libc.inotify_init1(os.O_NONBLOCK)
                assert libc.inotify_add_watch(watch, (M + "/shared").encode(), 0x100) > 0
                User(ALICE, """if 1:
                    for place in ["private", "own"] * 1000:
                        try: folder = os.open(os.environ["S"] + "/shared/" + place, os.O_RDONLY)
                        except OSError: continue
                        if os.fstat(folder).st_uid == os.getuid(): break
                        os.close(folder)
                    for number in range(600):
                        os.close(os.open("secret%d" % number, os.O_CREAT | os.O_WRONLY, dir_fd=folder))
                        if number % 3 == 0: os.unlink("secret%d" % number, dir_fd=folder)
                        time.sleep(0.002)
                    """).end()
                # What comes last is told last.
                with open(S + "/shared/mark", "w"): pass
                end = time.monotonic() + 180
                while "mark" not in names(watch):
                    assert time.monotonic() < end, "nothing is replayed"
                    time.sleep(0.02)
                bob.tell()
                assert json.loads(bob.said()) == [], "told of"
                bob.end()
                """#)
        }

        // MARK: - What is shown

        @Test func whatOthersChoseMovesNoCursor() throws {
            try users(prepare: "mkdir -m 777 shared", #"""
                purpose = "\x1b]0;title\x07\x1b[2J\nclaims none\u202e\u0085"
                name = "doc\x1b[31m\n\u2066x"
                bob = User(BOB, """if 1:
                    open(M + "/shared/" + %r, "w").write("x")
                    service = Service()
                    service.call("Coordination.Claim", purpose=%r, intents=[{"path": M + "/shared/" + %r, "access": "writing"}])
                    say("claimed"); hear()
                    """ % (name, purpose, name))
                assert bob.said() == "claimed"
                shown = subprocess.run(["quire", "status", M], capture_output=True, text=True).stdout
                assert not any(c in shown for c in "\x1b\x07\u202e\u2066\u0085"), shown
                assert "\\x1B]0;title\\x07\\x1B[2J\\x0Aclaims none\\u{202E}\\u{85}" in shown and "doc\\x1B[31m\\x0A\\u{2066}x" in shown, shown
                exact = json.loads(subprocess.run(["quire", "status", "--json", M], capture_output=True, text=True).stdout)
                claim = exact["coordination"]["claims"][0]
                assert claim["purpose"] == purpose and claim["paths"] == [M + "/shared/" + name], claim
                refused = subprocess.run(["quire", "coordinate", "--timeout", "0.2", "--write", M + "/shared/" + name, "--", "true"], capture_output=True, text=True)
                assert refused.returncode == 75 and "\x1b" not in refused.stderr and len(refused.stderr.splitlines()) == 1, refused
                bob.end()
                """#)
        }

        @Test func whatOthersLostMovesNoCursorEither() throws {
            try users(prepare: "mkdir -m 777 shared", #"""
                name = "doc\x1b[31m\n\u2066x"
                program = """import ctypes, os
                path = %r
                open(path, "w").write("old")
                ctypes.CDLL(None).prctl(15, b"\x1b[2Jsaver\x07", 0, 0, 0)
                file = open(path, "wb", buffering=0); file.write(b"half"); os.kill(os.getpid(), 9)
                """ % (M + "/shared/" + name)
                assert subprocess.run(become(BOB) + ["python3", "-c", program]).returncode == -9
                shown, name = "", "doc\\x1B[31m\\x0A\\u{2066}x"
                listed = subprocess.run(["quire", "recover", "list"], cwd=M, capture_output=True, text=True).stdout
                number = [line.split()[0] for line in listed.splitlines() if name in line][0]
                for command in (["list"], ["restore", number], ["restore", number, "--to", M + "/shared/doc\x1b[32m"], ["drop", number], ["show", number]):
                    ended = subprocess.run(["quire", "recover"] + command, cwd=M, capture_output=True, text=True)
                    assert not any(c in ended.stdout + ended.stderr for c in "\x1b\x07\u2066"), (command, ended)
                    assert ended.returncode == (1 if command[0] == "show" else 0), (command, ended)
                    if command[0] == "list": assert name in ended.stdout and "by \\x1B[2Jsaver\\x07" in ended.stdout, ended
                    if command == ["restore", number]: assert name in ended.stdout, ended
                """#)
        }

        // MARK: - Tags

        @Test func whoSwapsNamesTagsNoDocumentOfAnothersUser() throws {
            try users(prepare: "mkdir -m 777 shared", #"""
                out(ALICE, "echo a >shared/alices; chmod 644 shared/alices")
                bob = User(BOB, """if 1:
                    import ctypes
                    libc = ctypes.CDLL(None)
                    open(M + "/shared/bobs", "w").write("b")
                    os.makedirs(M + "/.tags/t", exist_ok=True)
                    one, other, over = (M + "/shared/alices").encode(), (M + "/shared/bobs").encode(), False
                    def swap():
                        while not over: libc.renameat2(-100, one, -100, other, 2)
                    swapping = threading.Thread(target=swap); swapping.start()
                    for _ in range(1500):
                        for name in ["alices", "bobs"]:
                            try: os.symlink("../../shared/" + name, M + "/.tags/t/" + name)
                            except OSError: pass
                    over = True; swapping.join()
                    """)
                bob.end()
                for name in ["alices", "bobs"]:
                    path = M + "/shared/" + name
                    if os.stat(path).st_uid == ALICE: assert "user.xdg.tags" not in os.listxattr(path), "tagged"
                """#)
        }
    }
}
