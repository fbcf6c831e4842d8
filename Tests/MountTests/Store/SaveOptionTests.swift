import TestSupport
import Testing

extension MountTests {
    /// The mount options that say which saves are transactions, and for how long.
    struct SaveOptionTests {
        private static let store = "for name in doc server.log big.iso.part run.pid own.trace; do echo old >$name; done"
        /// Has a saver of each document killed when it has written half.
        private static let killed = """
            for name in doc server.log big.iso.part run.pid own.trace; do
                python3 -c 'import os; f = open("'$name'", "w"); f.write("half"); f.flush(); os.kill(os.getpid(), 9)' || true
                echo $(cat $name)
            done
            """

        @Test(arguments: [
            ("", "old half half half old"), ("live=*.trace", "old half half half half"), ("live=none", "old old old old old"),
            ("live=none:do?:*.part", "half old half old old"),
        ])
        func liveDocumentsAreWrittenInPlace(options: String, expected: String) throws {
            try withMount(.root, [options], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(Self.killed) == expected.split(separator: " ").joined(separator: "\n"))
            }
        }

        @Test func aRedirectionThatPausesIsAStreamAfterTheTimeGiven() throws {
            // Until the test goes on.
            let writer = "bash -c '. \"$PRELUDE\"; echo one; eventually [ -e \"$T/go\" ]; echo two' >doc & "
            let end = "; cat doc; touch \"$T/go\"; wait $!; cat doc"
            try withMount(.root, ["redirected-pause=0.2"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer + "eventually '[ \"$(cat doc)\" = one ]'" + end) == "one\none\ntwo")
            }
            try withMount(.root, ["redirected-pause=inf"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer + "sleep 0.7" + end) == "old\none\ntwo")
            }
        }

        @Test func aRedirectionThatGoesOnIsAStreamAfterTheTimeGiven() throws {
            let writer = "(i=0; while [ ! -e \"$T/go\" ]; do echo $((i += 1)); sleep 0.1; done) >doc & "
            let end = "; head -n 1 doc; touch \"$T/go\"; wait $!"
            try withMount(.root, ["redirected-open=0.3"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer + "eventually '[ \"$(head -n 1 doc)\" = 1 ]'" + end) == "1")
            }
            try withMount(.root, ["redirected-open=600,redirected-pause=600"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer + "sleep 0.8" + end) == "old")
            }
        }

        @Test func anySaveThatPausesIsAStreamAfterTheTimeGiven() throws {
            let writer = """
                python3 -c 'import os, time; f = open("doc", "w"); f.write("new"); f.flush()
                while not os.path.exists(os.environ["T"] + "/go"): time.sleep(0.02)' & saver=$!

                """
            let end = "; cat doc; touch \"$T/go\"; wait $saver"
            try withMount(.root, ["save-pause=0.3"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer + "eventually '[ \"$(cat doc)\" = new ]'" + end) == "new")
            }
            try withMount(.root, ["redirected-pause=0.1,redirected-open=0.1,save-pause=600"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer + "sleep 1" + end) == "old")
            }
        }
    }
}
