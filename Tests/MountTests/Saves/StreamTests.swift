import TestSupport
import Testing

extension MountTests {
    /// Saves that go on and on are streams: others see them grow (rule 11), in place (rule 12). With short times instead of the
    /// minute that a mount gives by itself.
    struct StreamTests {
        private func withShortTimes(_ kind: SaveMount, prepare: String = "", _ body: (Mount) throws -> Void) throws {
            try withMount(
                kind.account, kind.options + ["redirected-pause=0.3,redirected-open=1"], prepare: prepare, body)
        }
        @Test(arguments: SaveMount.accounts)
        func aRedirectionThatPausesIsSeen(kind: SaveMount) throws {
            try withShortTimes(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    inode=$(stat -c %i doc); (/bin/echo begun; eventually [ -e "$T/go" ]; echo ended) >doc & cat doc
                    eventually '[ "$(cat doc)" = begun ]'
                    cat doc; touch "$T/go"; wait $!; cat doc
                    test $(stat -c %i doc) = $inode
                    """) == "old\nbegun\nbegun\nended")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aRedirectionThatNeverPausesIsSeenInTheEnd(kind: SaveMount) throws {
            try withShortTimes(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    (n=0; while [ ! -e "$T/go" ]; do echo tick $((n += 1)); sleep 0.1; done) >doc & writer=$!
                    eventually '[ "$(head -1 doc)" = "tick 1" ]'; kill -0 $writer; touch "$T/go"; wait $writer; head -1 doc
                    """) == "tick 1")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aSaveThatIsNotRedirectedMayPauseLonger(kind: SaveMount) throws {
            for (pause, found) in [("600", "old"), ("1", "new")] {
                let options = kind.options + ["redirected-pause=0.3,redirected-open=1,save-pause=\(pause)"]
                try withMount(kind.account, options, prepare: "echo old >doc") { (mount: Mount) throws in
                    #expect(try mount.python(Unrelated.python + """
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"new\\n"); time.sleep(1.2)
                        end = time.monotonic() + 180
                        while other("cat doc") != "\(found)" and time.monotonic() < end: time.sleep(0.05)
                        os.write(file, b"more\\n"); print(other("cat doc")); os.close(file); print(other("cat doc"))
                        """) == (found == "old" ? "old\nnew\nmore" : "new\nmore\nnew\nmore"))
                }
            }
        }

        @Test(arguments: SaveMount.allCases)
        func aStreamIsNeverEmptyAndOnlyGrows(kind: SaveMount) throws {
            try withShortTimes(kind, prepare: "echo 1 >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    (for n in $(seq 6); do /bin/echo $n; sleep 0.4; done) >doc & writer=$!; last=0
                    while kill -0 $writer 2>/dev/null; do
                        size=$(stat -c %s doc); lines=$(wc -l <doc)
                        test $size -ge $last -a $size -gt 0 -a $lines -gt 0 || echo "$size after $last"
                        last=$size; sleep 0.02
                    done; wait; cat doc | tr '\\n' ' '
                    """) == "1 2 3 4 5 6 ")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func streamsMayBeTurnedOff(kind: SaveMount) throws {
            let options = kind.options + ["redirected-pause=inf,redirected-open=inf,save-pause=inf"]
            try withMount(kind.account, options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("(/bin/echo new; eventually [ -e \"$T/go\" ]) >doc & sleep 1.2; cat doc; touch \"$T/go\"; wait $!; cat doc") == "old\nnew")
            }
        }

        /// Also what the reader of a pipe would not wait for: a server's first line is there once its save is a stream.
        @Test(arguments: SaveMount.accounts)
        func aScriptThatPollsForAServersLineSeesIt(kind: SaveMount) throws {
            try withShortTimes(kind, prepare: "echo old >out") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    (/bin/echo starting; sleep 0.2; echo ready; sleep 30) >out & server=$!
                    eventually grep -q ready out; cat out
                    pkill -P $server || true; kill $server 2>/dev/null || true; wait || true
                    """) == "starting\nready")
            }
        }

        /// Where the kernel tells of no network, tail looks once a second.
        @Test(arguments: SaveMount.accounts)
        func tailFollowsAServerThatIsStartedAgain(kind: SaveMount) throws {
            try withShortTimes(kind, prepare: "seq 100 >out") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    tail -s 0.05 -n +1 -f out >"$T/seen" 2>/dev/null & follower=$!; eventually grep -q 100 "$T/seen"
                    (/bin/echo server begins; eventually grep -q begins "$T/seen"; echo server speaks; eventually grep -q speaks "$T/seen") >out
                    kill $follower; grep server "$T/seen"
                    """) == "server begins\nserver speaks")
            }
        }

        /// logrotate's copytruncate: what a writer appends is seen once by who follows, before and after.
        @Test(arguments: SaveMount.accounts)
        func tailFollowsALogThatIsCopiedAndTruncated(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "touch app.log journal") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, subprocess
                    errors = os.environ["T"] + "/errors"
                    from waiting import eventually
                    for name in ("app.log", "journal"):
                        writer = open(name, "a", buffering=1)
                        seen = open(os.environ["T"] + "/seen", "w")
                        tail = subprocess.Popen(["tail", "-s", "0.05", "-n", "+1", "-f", name], stdout=seen, stderr=open(errors, "w"))
                        for n in range(200):
                            writer.write("%05d\\n" % n)
                            if n % 100 == 99:
                                eventually(lambda: open(seen.name).read().count("\\n") == n + 1)
                                subprocess.run(["cp", name, name + ".%d" % n], check=True)
                                if n % 200 == 99: os.truncate(name, 0)
                                else: subprocess.run(["truncate", "-s", "0", name], check=True)
                                eventually(lambda: open(errors).read().count("truncated") == n // 100 + 1)
                        tail.kill(); tail.wait()
                        print(open(os.environ["T"] + "/seen").read().split() == ["%05d" % n for n in range(200)],
                            sum(len(open(name + ".%d" % n).read().split()) for n in (99, 199)), os.stat(name).st_size)
                    """) == "True 200 0\nTrue 200 0")
            }
        }

        @Test func logrotateTruncatesUnderAWriter() throws {
            try withMount(prepare: "mkdir logs; echo first >logs/app.log; echo first >logs/app.txt") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    printf '%s/logs/app.* {\\n  copytruncate\\n  rotate 3\\n  su root root\\n}\\n' "$M" >"$T/rotate.conf"
                    chmod 644 "$T/rotate.conf"
                    exec 3>>logs/app.log 4>>logs/app.txt; /usr/sbin/logrotate -f -s "$T/state" "$T/rotate.conf"; echo second >&3
                    echo second >&4
                    cat logs/app.log logs/app.log.1 logs/app.txt logs/app.txt.1
                    """) == "second\nfirst\nsecond\nfirst")
            }
        }

        /// A slow writer that is no redirection: who looks again and again meets whole documents only.
        @Test(arguments: SaveMount.accounts)
        func aViewerUnderAWriterThatPausesMeetsNoBrokenFile(kind: SaveMount) throws {
            let pause = isLongRun ? 2 : 0.2
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, time
                    def document(n): return b"begin %d\\n" % n + b"page\\n" * 3 + b"end\\n"
                    open("doc", "wb").write(document(0))
                    writer = os.fork()
                    if writer == 0:
                        for n in range(1, 4):
                            file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"begin %d\\n" % n)
                            for page in range(3): time.sleep(\(pause)); os.write(file, b"page\\n")
                            os.write(file, b"end\\n"); os.close(file)
                        os._exit(0)
                    seen = set()
                    while os.waitpid(writer, os.WNOHANG)[0] == 0:
                        content = open("doc", "rb").read(); seen.add(content); time.sleep(0.01)
                    seen.add(open("doc", "rb").read()); print(seen == {document(n) for n in range(4)})
                    """) == "True")
            }
        }

        /// A daemon that is killed while a stream's content goes in place: the mount completes it.
        @Test(arguments: SaveMount.accounts)
        func aStreamSurvivesItsDaemon(kind: SaveMount) throws {
            try withShortTimes(kind, prepare: "head -c 3000000 /dev/zero | tr '\\0' o >doc") { (mount: Mount) throws in
                for delay in isLongRun ? [0.9, 0.98, 1.0, 1.005, 1.01, 1.015, 1.02, 1.03, 1.05, 1.1] : [1.0, 1.01, 1.02] {
                    try mount.shell("""
                        (python3 -c '
                        import os, signal, time
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"n" * 3000000)
                        time.sleep(\(delay)); os.kill(\(try #require(mount.daemon)), signal.SIGKILL)
                        ') 2>/dev/null || true
                        """)
                    try mount.mount(kind.options + ["redirected-pause=0.3,redirected-open=1,save-pause=1"])
                    let found = try mount.shell("tr -s on <doc; wc -c <doc")
                    #expect(found == "o3000000" || found == "n3000000", "after \(delay) s")
                }
                try expectNothingHidden(mount)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func documentsOfLivePatternsAreSeenWhileTheyAreWritten(kind: SaveMount) throws {
            let prepare = "for n in a.log a.trace a.txt; do echo old >$n; done"
            try withMount(kind.account, kind.options + ["live=*.trace"], prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>a.log 4>a.trace 5>a.txt; for n in 3 4 5; do echo new >&$n; done; other 'cat a.log a.trace a.txt'
                    """) == "new\nnew\nold")
            }
        }
    }
}
