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
            let writer = "sh -c 'echo one; sleep 1.5; echo two' >doc & sleep 0.7; cat doc; wait; cat doc"
            try withMount(.root, ["redirected-pause=0.2"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer) == "one\none\ntwo")
            }
            try withMount(.root, ["redirected-pause=inf"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer) == "old\none\ntwo")
            }
        }

        @Test func aRedirectionThatGoesOnIsAStreamAfterTheTimeGiven() throws {
            let writer = "(for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i; sleep 0.1; done) >doc & sleep 0.8; head -n 1 doc; wait"
            try withMount(.root, ["redirected-open=0.3"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer) == "1")
            }
            try withMount(prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer) == "old")
            }
        }

        @Test func anySaveThatPausesIsAStreamAfterTheTimeGiven() throws {
            let writer = """
                python3 -c 'import time; f = open("doc", "w"); f.write("new"); f.flush(); time.sleep(1.5)' & sleep 1; cat doc; wait
                """
            try withMount(.root, ["save-pause=0.3"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer) == "new")
            }
            try withMount(.root, ["redirected-pause=0.1,redirected-open=0.1"], prepare: Self.store) { (mount: Mount) throws in
                #expect(try mount.shell(writer) == "old")
            }
        }
    }
}
