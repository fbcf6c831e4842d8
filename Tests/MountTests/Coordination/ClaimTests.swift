import TestSupport
import Testing

extension MountTests {
    /// `quire coordinate`: claims, and opens of programs that know nothing of them.
    @Suite(.sharedMounts)
    struct ClaimTests {
        /// Starts a claim in the background that runs until the file $T/go is there, and waits until it is held.
        private static func held(_ words: String, _ command: String = "true") -> String {
            """
            rm -f "$T/go" "$T/held"
            quire coordinate \(words) -- sh -c 'touch "$T/held"; while [ ! -e "$T/go" ]; do sleep 0.02; done; \(command)' &
            holder=$!
            eventually [ -e "$T/held" ]

            """
        }

        @Test(arguments: SaveMount.accounts)
        func aClaimKeepsOthersOut(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc; echo old >other") { (mount: Mount) throws in
                try mount.shell(Self.held("--write doc") + """
                    expect_status 75 quire coordinate --write doc --write other --timeout 0.2 -- true 2>"$T/errors"
                    grep 'doc is held by quire sh (pid ' "$T/errors"
                    quire coordinate --write other --timeout 0 -- true
                    quire coordinate --read doc --option immediately --timeout 0 -- cat doc
                    touch "$T/go"; wait $holder
                    quire coordinate --write doc --write other --timeout 0 -- true
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whoOpensForWritingWaitsForTheEndOfTheClaim(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell(Self.held("--write doc", "echo claimed >>doc") + """
                    (echo more >>doc; touch "$T/written") & writer=$!
                    (echo created >|doc.new; mv doc.new moved)
                    sleep 0.5; [ ! -e "$T/written" ]
                    # Nobody waits who reads, or changes names and attributes.
                    [ "$(cat doc)" = old ]; chmod 640 doc; ln doc link; rm link; [ ! -e "$T/written" ]
                    touch "$T/go"; expect_ended $holder $writer
                    [ "$(cat doc)" = "$(printf 'old\\nclaimed\\nmore')" ]
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aFolderIsClaimedWithAllThatIsInIt(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir -p folder/deep; echo old >folder/deep/doc; echo old >folder/other") { (mount: Mount) throws in
                try mount.shell("""
                    status=0; quire coordinate --write folder -- sh -c '
                        echo new >folder/deep/doc; echo new >folder/new; rm folder/other; touch "$T/held"
                        while [ ! -e "$T/go" ]; do sleep 0.02; done; exit 3' &
                    holder=$!; eventually [ -e "$T/held" ]
                    [ "$(cat folder/deep/doc folder/other)" = "$(printf 'old\\nold')" ]; [ ! -e folder/new ]
                    expect_status 75 quire coordinate --write folder/deep/doc --timeout 0.2 -- true
                    (echo more >>folder/deep/doc; touch "$T/written") & writer=$!
                    sleep 0.5; [ ! -e "$T/written" ]
                    touch "$T/go"; expect_status 3 wait $holder; wait $writer
                    [ "$(cat folder/deep/doc folder/other)" = "$(printf 'old\\nmore\\nold')" ]; [ ! -e folder/new ]
                    """)
            }
        }

        /// truncate(2) opens nothing, and cannot wait.
        @Test(arguments: SaveMount.accounts)
        func truncatingByNameIsRefusedMeanwhile(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell(Self.held("--write doc") + """
                    cut() { python3 -c 'import os; os.truncate("doc", 1)'; }
                    expect_status 1 cut 2>"$T/errors"; grep 'Device or resource busy' "$T/errors"; [ "$(cat doc)" = old ]
                    touch "$T/go"; wait $holder; cut; [ "$(cat doc)" = o ]
                    """)
            }
        }

        @Test func anOpenWaitsNoLongerThanTheMountSays() throws {
            try withMount(.root, Account.root.options + ["coordination-timeout=0.5"], prepare: "echo old >doc") { mount in
                try mount.shell(Self.held("--write doc") + """
                    for open in 'echo new >doc' 'echo new >>doc' 'exec 3<>doc'; do
                        started=$(date +%s%N)
                        LC_ALL=C expect_status 1 bash -c "$open" 2>"$T/errors"
                        grep 'Device or resource busy' "$T/errors"
                        took=$(( ($(date +%s%N) - started) / 1000000 )); [ $took -ge 450 ]
                    done
                    touch "$T/go"; wait $holder; echo new >doc
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whoIsKilledWaitsNoLonger(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell(Self.held("--write doc") + """
                    for signal in KILL TERM INT; do
                        # The shell has a program in the background ignore SIGINT.
                        python3 -c 'import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL)
                    open(os.environ["T"] + "/ready", "w"); open("doc", "w")' & opener=$!
                        eventually [ -e "$T/ready" ]; rm "$T/ready"
                        sleep 0.3; kill -$signal $opener
                        expect_status $((128 + $(kill -l $signal))) wait $opener
                    done
                    # A signal that is handled ends no open.
                    python3 -c '
                    import os, signal
                    signal.signal(signal.SIGALRM, lambda *_: None)
                    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
                    os.close(os.open("doc", os.O_WRONLY)); signal.setitimer(signal.ITIMER_REAL, 0)' & opener=$!
                    sleep 0.5; touch "$T/go"; expect_ended $holder $opener
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aClaimWaitsForWhoWroteBefore(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc; echo old >saved") { (mount: Mount) throws in
                try mount.shell("""
                    for mode in r+ w; do
                        python3 -c '
                    import os, sys, time
                    f = open("doc", sys.argv[1]); open(os.environ["T"] + "/open", "w")
                    while not os.path.exists(os.environ["T"] + "/go"): time.sleep(0.01)
                    f.write("new\\n")' $mode & writer=$!
                        eventually [ -e "$T/open" ]
                        expect_status 75 quire coordinate --write doc --timeout 0.2 -- true 2>"$T/errors"
                        grep "doc is held by python3 (pid $writer)" "$T/errors"
                        { sleep 0.3; touch "$T/go"; } & go=$!
                        [ "$(quire coordinate --read doc -- cat doc)" = new ]
                        wait $writer $go; rm "$T/open" "$T/go"
                    done
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aClaimEndsWithItsHolder(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell(Self.held("--write doc") + """
                    kill -9 $holder; wait $holder || true
                    quire coordinate --write doc --timeout 60 -- sh -c 'echo new >doc'
                    # What it had started ends by this.
                    touch "$T/go"; [ "$(cat doc)" = new ]; sleep 0.2
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func noCommandGoesOnWithoutItsClaim(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell("""
                    quire coordinate --write doc -- python3 -c '
                    import os, time
                    with open(os.environ["T"] + "/pid", "w") as file: file.write("%d\\n" % os.getpid())
                    time.sleep(60)' & holder=$!
                    eventually [ -s "$T/pid" ]; command=$(cat "$T/pid")
                    kill -0 $command; kill -9 $holder; wait $holder || true
                    eventually '! kill -0 $command 2>/dev/null'
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aFolderIsClaimedWithWhatIsInIt(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir -p pack/in; echo old >pack/in/doc; echo old >beside") { (mount: Mount) throws in
                try mount.shell(Self.held("--write pack --option moving", "mv pack moved") + """
                    expect_status 75 quire coordinate --write pack/in/doc --timeout 0.2 -- true 2>/dev/null
                    (echo more >>pack/in/doc) & writer=$!
                    echo more >>beside; sleep 0.3; touch "$T/go"; expect_ended $holder $writer
                    [ "$(cat moved/in/doc)" = "$(printf 'old\\nmore')" ]
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func sixtyFourProcessesTakeTurns(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo 0 >count") { (mount: Mount) throws in
                try mount.shell("""
                    for n in $(seq 64); do
                        quire coordinate --write count --timeout 60 -- sh -c 'n=$(cat count); echo $((n + 1)) >count' &
                    done
                    wait
                    [ "$(cat count)" = 64 ]
                    """)
            }
        }

        @Test func theStatusOfTheCommandIsPassedOn() throws {
            try withSharedMount(.root, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell("""
                    expect_status 7 quire coordinate --read doc -- sh -c 'exit 7'
                    expect_status 143 quire coordinate --read doc -- sh -c 'kill -TERM $$'
                    expect_status 127 quire coordinate --read doc -- no-such-command 2>/dev/null
                    expect_status 126 quire coordinate --read doc -- /etc/passwd 2>/dev/null
                    [ "$(echo from here | quire coordinate --write doc -- cat)" = "from here" ]
                    for wrong in "--read doc" "-- true" "--read doc --option silently -- true" "--write doc --timeout -1 -- true"; do
                        expect_status 64 quire coordinate $wrong 2>/dev/null
                    done
                    expect_status 1 quire coordinate --read /etc/passwd -- true 2>"$T/errors"
                    grep 'is in no Quire mount' "$T/errors"
                    """)
            }
        }

        @Test func theDaemonsEndIsToldToWhoHoldsAClaim() throws {
            try withMount(prepare: "echo old >doc") { mount in
                let daemon = try #require(mount.daemon)
                try mount.shell("exec 2>\"$T/errors\"\n" + Self.held("--write doc") + """
                    kill -9 \(daemon)
                    touch "$T/go"; expect_status 1 wait $holder
                    grep 'its daemon closed the connection' "$T/errors"
                    cd /; quire mount "$S" "$M" -o allow_other; cd "$M"; quire coordinate --write doc -- true
                    """)
                try mount.noteDaemon()
            }
        }

        @Test func aUserClaimsOnlyWhatIsTheirs() throws {
            try withMount(prepare: "mkdir own; chmod 777 own; echo secret >private; chmod 600 private; echo public >doc") { mount in
                let user = try #require(Account.user.uid)
                try mount.shell("mkdir \"$T/theirs\"; chmod 777 \"$T/theirs\"")
                try mount.shell("""
                    cd "$M"; quire coordinate --read doc -- true; quire coordinate --write own/new -- sh -c 'echo new >own/new'
                    for claim in '--read private' '--write private' '--write doc' '--write new'; do
                        expect_status 1 quire coordinate $claim -- true 2>"$T/theirs/errors"
                        grep 'may not read or write' "$T/theirs/errors"
                    done
                    """, as: user)
            }
        }
    }
}
