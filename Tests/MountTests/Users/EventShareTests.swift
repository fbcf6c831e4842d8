import TestSupport
import Testing

extension MountTests {
    /// What one user changes, listens to and presents keeps no other user from being told of what happens.
    @Suite(.sharedMounts)
    struct EventShareTests {
        /// Alice watches a folder of hers, and presents it. She is told of each of the files that she makes there, or that she has missed
        /// something, while Bob runs `attack`, Python with `one` and `other`, files of his, and `loop(body)`.
        private func isToldBeside(_ attack: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try withSharedMount(.root, prepare: "mkdir -m 777 shared") { (mount: Mount) throws in
                try mount.python(UserScript.text + #"""
                    out(ALICE, "mkdir shared/alice")
                    bob = User(BOB, """if 1:
                        import ctypes
                        libc, loops = ctypes.CDLL(None), []
                        os.mkdir(M + "/shared/bob")
                        one, other = (M + "/shared/bob/" + name for name in ["one", "other"])
                        for path in [one, other]: open(path, "w").close()
                        def loop(body):
                            child = os.fork()
                            # It ends with its parent.
                            if child == 0: libc.prctl(1, 9)
                            while child == 0: body()
                            loops.append(child)
                        exec(r'''
                    \#(attack)
                    ''')
                        say("attacks"); hear()
                        for child in loops: os.kill(child, 9); os.waitpid(child, 0)
                        """)
                    assert bob.said() == "attacks"
                    alice = User(ALICE, """if 1:
                        watch, attends, calls, news = Service(), Service(), Service(), threading.Condition()
                        told, missed = {"watch": set(), "presenter": set()}, {"watch": 0, "presenter": 0}
                        attends.send("Presenters.Attend", more=True)
                        session = attends.receive()["session"]
                        calls.call("Presenters.Present", session=session, path=M + "/shared/alice", contents=True)
                        watch.send("Events.Watch", more=True, path=M + "/shared/alice")
                        def listen(who, service, key):
                            while True:
                                reply = service.receive()
                                with news:
                                    missed[who] += bool(reply.get("overflow"))
                                    for item in reply.get(key, []):
                                        told[who].add(os.path.basename(item.get("event", item)["path"]))
                                    news.notify()
                        threading.Thread(target=listen, args=("watch", watch, "events"), daemon=True).start()
                        threading.Thread(target=listen, args=("presenter", attends, "messages"), daemon=True).start()
                        # A presenter is not told of what its own process does.
                        def make(name): subprocess.run(["touch", M + "/shared/alice/" + name], check=True)
                        with news:
                            # The watch begins at some moment.
                            while not told["watch"]: make("first"); news.wait(0.1)
                        for number in range(40):
                            name, before = str(number), dict(missed)
                            make(name)
                            with news:
                                for who in told:
                                    seen = lambda: name in told[who] or missed[who] > before[who]
                                    assert news.wait_for(seen, 30), (who, name, missed)
                        """)
                    alice.end(); bob.end()
                    """#, sourceLocation: sourceLocation)
            }
        }

        @Test func whoPresentsMuchDelaysOwnPresentersAlone() throws {
            try isToldBeside("""
                services = []
                for _ in range(5):
                    attends, service = Service(), Service()
                    attends.send("Presenters.Attend", more=True)
                    session = attends.receive()["session"]
                    for _ in range(4000): service.call("Presenters.Present", session=session, path=M + "/shared", contents=True)
                    services.append(attends)
                loop(lambda: os.chmod(one, 0o600))
                """)
        }

        @Test func whoChangesMuchPushesOutOwnEventsAlone() throws {
            try withSharedMount(.root, prepare: "mkdir -m 777 shared") { (mount: Mount) throws in
                try mount.python(UserScript.text + #"""
                    def watch(**options):
                        service = Service()
                        service.send("Events.Watch", more=True, **options)
                        return service
                    out(ALICE, "mkdir shared/alice"); out(BOB, "mkdir shared/bob; touch shared/bob/doc")
                    live = watch()
                    over = threading.Event()
                    def touch():
                        while not over.is_set(): out(BOB, "touch shared/bob/doc"); time.sleep(0.05)
                    touching = threading.Thread(target=touch); touching.start()
                    seen = live.receive()["events"][-1]["seq"]
                    over.set(); touching.join()
                    out(ALICE, "touch shared/alice/doc")
                    User(BOB, """if 1:
                        for number in range(20_000): os.chmod("shared/bob/doc", 0o600 + number % 2)
                        """).end()
                    def first(path): return watch(path=M + path, since=seen).receive()
                    found = first("/shared/alice")
                    assert not found["overflow"] and {event["path"] for event in found["events"]} == {M + "/shared/alice/doc"}, found
                    assert first("/shared")["overflow"] and first("/shared/bob")["overflow"]
                    """#)
            }
        }
    }
}
