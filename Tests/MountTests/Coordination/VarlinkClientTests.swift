import TestSupport
import Testing

extension MountTests {
    /// The service, by the varlink package of PyPI: a client that nobody here wrote.
    @Suite(.sharedMounts)
    struct VarlinkClientTests {
        private static let prelude = """
            import os, subprocess, sys, threading, time
            sys.path.insert(0, os.environ["MODULES"])
            import varlink
            M = os.getcwd()
            client = varlink.Client("unix:" + os.getxattr(M, "user.quire.socket").decode())
            def refused(call, name):
                try: call()
                except varlink.VarlinkError as error:
                    assert error.error() == name, error
                    return error.parameters()
                raise AssertionError("not refused")

            """

        private func run(_ kind: SaveMount, _ program: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.python(Self.prelude + program, sourceLocation: sourceLocation)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func itFindsWhatTheServiceSaysOfItself(kind: SaveMount) throws {
            try run(kind, """
                with client.open("org.varlink.service") as service:
                    info = service.GetInfo()
                    assert info["product"] == "Quire", info
                    for name in info["interfaces"]:
                        # Parsed by the package's own grammar.
                        assert name in client.get_interfaces() and client.get_interface(name).get_description()
                assert "org.quire.Coordination" in info["interfaces"]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func itClaimsAndSaves(kind: SaveMount) throws {
            try run(kind, """
                item = lambda access: [{"path": M + "/doc", "access": access}]
                with client.open("org.quire.Coordination") as first, client.open("org.quire.Coordination") as second:
                    claim = first.Claim(intents=item("writing"), purpose="one")["claim"]
                    told = refused(
                        lambda: second.Claim(intents=item("writing"), purpose="two", timeout=0.2), "org.quire.Coordination.TimedOut")
                    assert "doc is held by python3" in told["message"], told
                    with open("doc", "w") as file: file.write("new")
                    assert open("doc").read() == "new" and os.listdir(".") .count("doc") == 1
                    first.Release(claim=claim)
                    granted = second.Claim(intents=item("reading"), purpose="two")
                    with open("doc", "w") as file: file.write("newer")
                    assert open(granted["snapshots"][0]).read() == "new"
                    second.Release(claim=granted["claim"])
                    refused(lambda: first.Release(claim=4711), "org.quire.Mount.NotFound")
                    refused(lambda: first.Claim(intents=[]), "org.varlink.service.InvalidParameter")
                    claim = first.Claim(intents=item("writing"))["claim"]
                    with open("doc", "w") as file: file.write("dropped")
                    first.Release(claim=claim, discard=True)
                    assert open("doc").read() == "newer"
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func itHearsOfChanges(kind: SaveMount) throws {
            try run(kind, """
                with client.open("org.quire.Events") as events:
                    replies = events.Watch(_more=True)
                    def change():
                        for n in range(50):
                            time.sleep(0.1); open("doc", "w").close()
                    threading.Thread(target=change, daemon=True).start()
                    for reply in replies:
                        if reply["events"]: break
                    event = reply["events"][0]
                    assert event["path"] == M + "/doc" and event["kind"] == "changed" and event["pid"] == os.getpid(), event
                os._exit(0)
                """)
        }
    }
}
