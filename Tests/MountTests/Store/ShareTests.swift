import TestSupport
import Testing

extension MountTests {
    /// What one user may have the daemon keep leaves the others theirs.
    struct ShareTests {
        private static let opening = """
            import errno, os, resource
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            def fill(path, flags):
                opened = []
                try:
                    while len(opened) < 9000: opened.append(os.open(path, flags))
                except OSError as error: return len(opened), errno.errorcode[error.errno]
                return len(opened), None

            """

        /// With a limit of descriptors for the daemon.
        private func withFewDescriptors(_ limit: Int = 8_192, _ body: (Mount) throws -> Void) throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            try mount.shell("echo text >doc; mkdir folder", in: mount.store)
            try mount.shell("ulimit -n \(limit); quire mount \"$S\" \"$M\" -o allow_other", in: "/")
            try mount.noteDaemon()
            try body(mount)
        }

        @Test(arguments: [("doc", "os.O_RDONLY", 1_024), ("folder", "os.O_DIRECTORY", 256), (".tags", "os.O_DIRECTORY", 256)])
        func openFilesOfOneUserLeaveTheOthersTheirs(path: String, flags: String, share: Int) throws {
            try withFewDescriptors { mount in
                // Bob and root, while Alice has all she can get.
                let found = try mount.python(Self.opening + """
                    reading, writing = os.pipe()
                    hold, done = os.pipe()
                    alice = os.fork()
                    if alice == 0:
                        os.close(done); os.setgid(\(Account.alice)); os.setuid(\(Account.alice))
                        found = fill("\(path)", \(flags))
                        os.write(writing, str((found[0] <= \(share), found[1])).encode())
                        os.read(hold, 1)
                        os._exit(0)
                    print(os.read(reading, 100).decode(), flush=True)
                    for user in [\(Account.bob), 0]:
                        child = os.fork()
                        if child == 0:
                            if user: os.setgid(user); os.setuid(user)
                            print(open("doc").read().strip(), len(os.listdir("folder")), len([n for n in os.listdir(".") if n[0] != "."]), flush=True)
                            os._exit(0)
                        os.waitpid(child, 0)
                    os.close(done)
                    os.waitpid(alice, 0)
                    """)
                #expect(found == "(True, 'EMFILE')\ntext 0 2\ntext 0 2")
                // All were given back.
                try eventually { try mount.python(Self.opening + "print(os.close(os.open('\(path)', \(flags))))", as: Account.alice) == "None" }
            }
        }

        /// Alice keeps by O_PATH, without a handle, what is removed, replaced or saved over: a descriptor of the daemon's each.
        @Test(arguments: [
            ("fd = os.open('f', os.O_CREAT); os.close(fd); kept.append(os.open('f', os.O_PATH)); os.unlink('f')", "Stale file handle"),
            ("os.mkdir('d'); kept.append(os.open('d', os.O_PATH)); os.rmdir('d')", "Stale file handle"),
            ("os.close(os.open('f', os.O_CREAT)); kept.append(os.open('f', os.O_PATH)); os.close(os.open('g', os.O_CREAT)); os.rename('g', 'f')", "Stale file handle"),
            ("fd = os.open('.', os.O_TMPFILE | os.O_RDWR); kept.append(os.open('/proc/self/fd/%d' % fd, os.O_PATH)); os.close(fd)", "Stale file handle"),
            // A version that was saved over stands for the document.
            ("kept.append(os.open('doc', os.O_PATH)); save()", "Stale file handle"),
        ])
        func removedFilesOfOneUserLeaveTheOthersTheirDescriptors(step: String, last: String) throws {
            let links = step.contains("save()") ? 1 : 0
            try withFewDescriptors(4_352) { mount in
                try mount.shell("chmod 755 .; mkdir alice bob; echo old >bob/doc; echo old >alice/doc; chown -R 61001:61001 alice; chown -R 61002:61002 bob")
                let found = try mount.python(UserScript.text + #"""
                    def status(): return json.loads(subprocess.check_output(["quire", "status", "--json", M]))
                    def descriptors(): return len(os.listdir("/proc/%d/fd" % status()["pid"]))
                    before = descriptors()
                    alice = User(ALICE, """if 1:
                        import resource
                        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
                        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
                        os.chdir("alice")
                        kept = []
                        # By a process of few descriptors: those of who saves are looked through with each close.
                        (asked, ask), (done, tell) = os.pipe(), os.pipe()
                        if os.fork() == 0:
                            os.close(ask)
                            while os.read(asked, 1):
                                with open("doc", "w") as file: file.write("saved")
                                os.write(tell, b"x")
                            os._exit(0)
                        os.close(asked); os.close(tell)
                        def save(): os.write(ask, b"x"); assert os.read(done, 1)
                        for n in range(4800): \#(step)
                        save()
                        say(len(kept)); hear()
                        # The first are as on any file system, and the last are not to be reached.
                        say(os.fstat(kept[0]).st_nlink)
                        try: os.stat("/proc/self/fd/%d" % kept[-1]); say("reached")
                        except OSError as error: say(error.strerror)
                        # What has a handle goes on.
                        file = open("own", "w+"); folder = os.open("own-folder", os.mkdir("own-folder") or os.O_DIRECTORY)
                        os.unlink("own"); os.rmdir("own-folder")
                        file.write("text"); file.flush(); file.seek(0)
                        say(file.read(), os.fstat(file.fileno()).st_size, os.listdir(folder)); file.truncate(1)
                        hear()
                        """)
                    print(alice.said())
                    print(descriptors() - before < 1000 or descriptors())
                    print(out(BOB, "cat alice/doc"))
                    counted = status()["counters"]
                    for n in range(30): out(BOB, "echo %d >bob/doc; cat bob/doc; mkdir bob/d; ls bob/d; rm -r bob/d; echo new >bob/new; rm bob/new" % n)
                    changed = {name: count - counted.get(name, 0) for name, count in status()["counters"].items()}
                    print(changed["transactional"], {name: n for name, n in changed.items() if name.startswith("live.") and n})
                    alice.tell()
                    for _ in range(3): print(alice.said())
                    alice.end()
                    """#, limit: .seconds(300))
                #expect(found == """
                    4800
                    True
                    saved
                    30 {'live.newFile': 30}
                    \(links)
                    \(last)
                    text 4 []
                    """)
                try eventually { try mount.shell("quire status --json . | grep -A1 removedFiles | grep -c '\"used\" : 0' || true", as: Account.alice) == "1" }
            }
        }

        /// A save keeps more open than its handle.
        @Test func savesUnderWayCountAsWhatTheyKeepOpen() throws {
            try withFewDescriptors { mount in
                try mount.shell("mkdir alice; for n in $(seq 1200); do echo x >alice/$n; done; chown -R 61001:61001 alice", in: mount.store)
                let found = try mount.python(UserScript.text + #"""
                    pid = json.loads(subprocess.check_output(["quire", "status", "--json", M]))["pid"]
                    before = len(os.listdir("/proc/%d/fd" % pid))
                    alice = User(ALICE, """if 1:
                        import resource
                        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
                        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
                        saves = []
                        try:
                            for n in range(1, 1201): saves.append(open("alice/%d" % n, "w"))
                        except OSError as error: say(len(saves) > 100, error.strerror)
                        hear()
                        saves.pop().close()
                        # The kernel answers close(2) before it sends RELEASE.
                        for attempt in range(1000):
                            try: open("alice/1200", "w").close(); break
                            except OSError: time.sleep(0.01)
                        else: raise AssertionError("no room after a close")
                        """)
                    print(alice.said())
                    print(len(os.listdir("/proc/%d/fd" % pid)) - before <= 1024 + 100)
                    alice.tell(); alice.end()
                    """#)
                #expect(found == "True Too many open files\nTrue")
            }
        }

        @Test func filesInSnapshotsOfOneUserLeaveTheOthersTheirs() throws {
            try withFewDescriptors { mount in
                try mount.shell("mkdir many some; (cd many && seq 1100 | xargs touch); (cd some && seq 500 | xargs touch)", in: mount.store)
                let found = try mount.python(UserScript.text + #"""
                    program = """if 1:
                        service = Service()
                        for path in ["many", "some", "many"]:
                            try: say(len(os.listdir(service.call("Coordination.Claim", intents=[{"path": M + "/" + path, "access": "reading"}])["snapshots"][0])))
                            except RuntimeError as error: say("there is room for" in str(error) and error.args[0]["error"])
                        shares = json.loads(subprocess.check_output(["quire", "status", "--json", M]))["shares"]
                        say([(share["used"], share["limit"]) for share in shares if share["resource"] == "snapshotFiles"])
                        hear()
                        """
                    users = [User(uid, program) for uid in [ALICE, BOB]]
                    for user in users: print([user.said() for _ in range(4)])
                    root = User(0, program)
                    print([root.said() for _ in range(4)])
                    for user in users: user.end()
                    root.end()
                    """#)
                let full = "org.quire.Coordination.NoSnapshot"
                #expect(found == Array(repeating: "['\(full)', '500', '\(full)', '[(502, 1024)]']", count: 3).joined(separator: "\n"))
            }
        }

        @Test func emptyTagsOfAUserAreBounded() throws {
            try withMount { mount in
                let found = try mount.python("""
                    import errno, os
                    made = 0
                    try:
                        for n in range(10_050): os.mkdir(".tags/t%d" % n); made += 1
                    except OSError as error: print(made, errno.errorcode[error.errno])
                    os.rmdir(".tags/t5"); os.mkdir(".tags/again")
                    """, as: Account.alice, limit: .seconds(300))
                #expect(found == "10000 EDQUOT")
                #expect(try mount.shell("ls .tags | wc -l; mkdir .tags/own; ls .tags", as: Account.bob) == "0\nown")
                // What the index counts is shown like all else.
                let shares = try mount.shell("quire status \"$M\" | grep '^ *shares'", as: Account.alice)
                #expect(shares.contains("keptTags 10000 of 10000"))
                #expect(try mount.shell("quire status \"$M\" | grep '^ *shares'", as: Account.bob).contains("keptTags 1 of 10000"))
            }
        }

        @Test func documentsAreCountedForTheirOwners() throws {
            try withMount(prepare: "mkdir f; for n in 1 2 3; do echo text >f/$n; setfattr -n user.xdg.tags -v t$n f/$n; done; chown \(Account.alice) f/*") { mount in
                try mount.scanned()
                let shares = try mount.shell("quire status \"$M\" | grep '^ *shares'", as: Account.alice)
                #expect(shares.contains("indexBytes ") && shares.contains("tags 3 of 10000"))
                #expect(!(try mount.shell("quire status \"$M\" | grep '^ *shares'", as: Account.bob)).contains("indexBytes "))
            }
        }
    }
}
