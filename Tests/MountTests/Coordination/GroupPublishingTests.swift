import TestSupport
import Testing

extension MountTests {
    /// What the holder of a claim saves, and what it starts, appears together when the claim ends, or not at all.
    @Suite(.sharedMounts)
    struct GroupPublishingTests {
        /// How programs save a document.
        static let savers = [
            "echo new $name >$name", "printf 'new ' >$name; echo $name >>$name", "echo new $name >.$name.tmp; mv .$name.tmp $name",
            "mv $name $name~; echo new $name >$name; rm $name~", "rm $name; echo new $name >$name",
            "sed -i s/old/new/ $name", "echo new $name >tmp; cp tmp $name; rm tmp", "truncate -s 0 $name; echo new $name >>$name",
            "ln $name $name~; echo new $name >tmp; mv tmp $name; rm $name~",
            "vim -es -c 's/old/new/' -c wq $name", "vim -es -c 'set nobackup nowritebackup' -c 's/old/new/' -c wq $name",
            "python3 -c 'import os; f = open(\"'$name'\", \"r+\"); f.write(\"new\"); f.flush(); os.fsync(f.fileno())'",
        ]

        private func run(_ kind: SaveMount, _ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try WithinClaim.run(kind, script, sourceLocation: sourceLocation)
        }

        @Test(arguments: SaveMount.accounts, savers)
        func savesAppearTogether(kind: SaveMount, saver: String) throws {
            try run(kind, """
                inside <<'END'
                for name in one two; do \(saver); done; echo new >new
                [ "$(cat one two new)" = "$(printf 'new one\nnew two\nnew')" ]; [ "$(ls | tr '\n' ' ')" = 'new one two ' ]
                outside <<'OUT'
                [ "$(cat one two)" = "$(printf 'old one\nold two')" ]; [ "$(ls | tr '\n' ' ')" = 'one two ' ]
                OUT
                END
                [ "$(cat one two new)" = "$(printf 'new one\nnew two\nnew')" ]
                [ "$(ls | tr '\n' ' ')" = 'new one two ' ]; [ "$(stat -c %h one two new | tr '\n' ' ')" = '1 1 1 ' ]
                [ "$(getfattr --only-values -n user.xdg.tags one)" = tag ]
                echo newer >one; [ "$(cat one)" = newer ]; rm one two new
                """)
        }

        @Test(arguments: SaveMount.accounts, savers)
        func whatIsDiscardedIsAsBefore(kind: SaveMount, saver: String) throws {
            try run(kind, """
                status=0; inside <<'END' || status=$?
                for name in one two; do \(saver); done; echo new >new; exit 3
                END
                [ $status = 3 ]
                [ "$(cat one two)" = "$(printf 'old one\nold two')" ]; [ "$(ls | tr '\n' ' ')" = 'one two ' ]
                [ "$(getfattr --only-values -n user.xdg.tags one)" = tag ]; [ "$(stat -c %h one two | tr '\n' ' ')" = '1 1 ' ]
                echo newer >one; [ "$(cat one)" = newer ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aHolderThatIsKilledPublishesNothing(kind: SaveMount) throws {
            try run(kind, """
                inside <<'END' &
                echo new one >one; echo new two >two; echo new >new; echo $PPID $$ >"$T/saved.new"; mv "$T/saved.new" "$T/saved"
                exec sleep 60
                END
                eventually [ -e "$T/saved" ]; kill -9 $(cat "$T/saved")
                eventually 'quire coordinate --write one --timeout 0 -- true 2>/dev/null'
                [ "$(cat one two)" = "$(printf 'old one\nold two')" ]; [ "$(ls | tr '\n' ' ')" = 'one two ' ]
                # It is not lost.
                quire recover list . | grep -w two
                """)
        }

        /// The command, or what a shell had started last.
        @Test(arguments: SaveMount.accounts, ["exec 3>&-; kill -9 $$", "sh -c 'kill -15 $$'"])
        func whatAKilledCommandHadSavedIsKept(kind: SaveMount, end: String) throws {
            try run(kind, """
                status=0; inside <<'END' || status=$?
                echo new one >one; \(end)
                END
                [ $status -gt 128 ]; [ "$(cat one)" = 'old one' ]
                quire recover list . | grep -w one
                """)
        }

        /// A reader opens one document after the other, again and again, while both are saved within claims.
        @Test(arguments: SaveMount.accounts)
        func nobodySeesAPart(kind: SaveMount) throws {
            try run(kind, """
                echo 0 >one; echo 0 >two; rm -f "$T/over"
                python3 - <<'END' & reader=$!
                import os, sys
                seen = 0
                while not os.path.exists(os.environ["T"] + "/over"):
                    one, two = int(open("one").read()), int(open("two").read())
                    # Two was opened later: it may be newer, and never older.
                    if two < one: sys.exit(f"{one} {two}")
                    seen += 1
                sys.exit(0 if seen > 20 else "too few")
                END
                for n in $(seq 40); do inside <<<"echo $n >one; echo $n >two"; done
                touch "$T/over"; wait $reader; rm "$T/over"
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func removalsWaitForTheEndToo(kind: SaveMount) throws {
            try run(kind, """
                inside <<'END'
                rm one; echo new >new; [ "$(ls | tr '\n' ' ')" = 'new two ' ]; expect_status 1 cat one 2>/dev/null
                outside <<<'[ "$(ls | tr "\\n" " ")" = "one two " ]; cat one'
                END
                [ "$(ls | tr '\n' ' ')" = 'new two ' ]
                # What is claimed for being moved or deleted goes at once.
                quire coordinate --write two --option deleting -- bash -ec 'rm two; outside <<<"[ ! -e two ]"'; [ ! -e two ]
                """)
        }

        /// A change beneath the mount is replayed on it, by a process that has no part in the claim.
        @Test(arguments: SaveMount.accounts)
        func changesMadeOutsideDoNotShowOthersVersions(kind: SaveMount) throws {
            try run(kind, """
                inside <<'END'
                rm one; echo new two >two
                for round in 1 2 3 4 5; do
                    for name in one two; do echo old $name >"$S/$name"; done; sleep 0.1
                    expect_status 1 cat one 2>/dev/null; [ "$(cat two)" = 'new two' ]
                    outside <<<'[ "$(cat one two)" = "$(printf "old one\\nold two")" ]'
                done
                END
                [ "$(cat two)" = 'new two' ]; [ ! -e one ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aKilledSaverWithinAClaimLeavesTheSaveBefore(kind: SaveMount) throws {
            try run(kind, """
                inside <<'END'
                echo new one >one; (exec 3>one; echo half >&3; kill -9 $BASHPID) || true; [ "$(cat one)" = 'new one' ]
                (exec 3>two; echo half >&3; kill -9 $BASHPID) || true; [ "$(cat two)" = 'old two' ]
                END
                [ "$(cat one two)" = "$(printf 'new one\nold two')" ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aClaimWithinAClaimIsPublishedWithIt(kind: SaveMount) throws {
            try run(kind, """
                inside <<'END'
                echo new one >one; quire coordinate --write two --timeout 1 -- bash -c 'echo new two >two'
                [ "$(cat two)" = 'new two' ]; outside <<<'[ "$(cat two)" = "old two" ]'
                [ "$(quire coordinate --read one -- sh -c 'cat "$QUIRE_SNAPSHOT"')" = 'new one' ]
                END
                [ "$(cat one two)" = "$(printf 'new one\nnew two')" ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func theyAreToldOfOnce(kind: SaveMount) throws {
            try run(kind, """
                quire watch . >"$T/events" & watcher=$!
                told() { eventually "touch .$1; sleep 0.05; grep -q '\\.$1' '$T/events'"; }
                once() { if [ $(grep -c "$1" "$T/events") != 1 ]; then cat "$T/events" >&2; exit 1; fi; }
                told begun; export -f told
                inside <<'END'
                echo new >one; echo newer >one; echo new >new; told saved; expect_status 1 grep -w 'one\\|new' "$T/events"
                END
                told published; kill $watcher
                once 'changed.*one'; once 'appeared.*new'
                expect_status 1 grep quire-save "$T/events"; rm .begun .saved .published
                """)
        }
    }

    /// The daemon is killed while a claim is published.
    struct KilledGroupTests {
        static let rounds = isLongRun ? 100 : 8

        @Test(arguments: SaveMount.accounts)
        func allOrNothingAfterTheDaemonWasKilled(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "for n in 1 2 3 4 5; do echo 0 >doc$n; done") { (mount: Mount) throws in
                var random = SystemRandomNumberGenerator()
                for round in 1...Self.rounds {
                    let daemon = try #require(mount.daemon)
                    try mount.shell("""
                        (sleep 0.0\(Int.random(in: 10...99, using: &random)); kill -9 \(daemon)) &
                        while quire coordinate --write doc1 --write doc2 --write doc3 --write doc4 --write doc5 -- sh -c '
                            for n in 1 2 3 4 5; do echo \(round).$$ >doc$n; done' 2>/dev/null; do :; done; wait
                        """, in: mount.path)
                    eventually { Mount.hasEnded(daemon) }
                    try mount.mount(kind.options)
                    #expect(try mount.shell("cat doc1 doc2 doc3 doc4 doc5 | sort -u | wc -l; ls | wc -l") == "1\n5")
                    try expectNothingHidden(mount)
                }
            }
        }
    }
}
