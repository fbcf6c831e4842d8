import TestSupport
import Testing

extension MountTests {
    /// Each of these is taken to its bound by one user, who is refused what is said in the table, and another user has room.
    struct BoundTests {
        private static let script = UserScript.text + #"""
            def share(uid, name):
                shares = json.loads(out(uid, "quire status --json ."))["shares"]
                return [share for share in shares if share["resource"] == name][0]
            def eventually(test):
                end = time.monotonic() + 60
                while not test():
                    assert time.monotonic() < end, "not within a minute"
                    time.sleep(0.05)

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
    }
}
