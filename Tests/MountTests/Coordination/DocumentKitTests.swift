import TestSupport
import Testing

extension MountTests {
    /// Programs that use DocumentKit, beside each other and beside programs that do not.
    @Suite(.sharedMounts(["presenter-timeout=600"]))
    struct DocumentKitTests {
        /// Defines `begin NAME ARGUMENTS…`, which runs the program in the background with what it prints in $T/NAME, and
        /// `saw NAME LINE`, which waits for a line of it.
        private static let functions = """
            begin() {
                local name=$1; shift; : >"$T/$name"
                CoordinatedProgram "$@" >"$T/$name" 2>"$T/$name.errors" & last=$!
            }
            saw() {
                local end=$((SECONDS + 60))
                until grep -q -- "$2" "$T/$1"; do
                    if [ $SECONDS -gt $end ]; then echo "$1 did not say '$2' but:"; cat "$T/$1" "$T/$1.errors"; exit 1; fi
                    sleep 0.02
                done
            }
            rm -f "$T"/go "$T"/stop
            trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

            """

        private func run(
            _ kind: SaveMount, prepare: String = "echo old >doc; echo old >other", _ script: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            try withSharedMount(kind, prepare: prepare) { (mount: Mount) throws in
                try mount.shell(Self.functions + script, sourceLocation: sourceLocation)
            }
        }

        @Test(arguments: SaveMount.accounts, ["blocking", "async", "queue"])
        func processesExcludeEachOther(kind: SaveMount, mode: String) throws {
            try run(kind, """
                begin holder write doc mode=\(mode) hold="$T/go" text=claimed; holder=$last; saw holder 'granted doc'
                expect_fails CoordinatedProgram write doc mode=\(mode) timeout=0.3 >"$T/other"
                grep "^timedOut: .*/doc is held by Coordinated.* (pid $holder)" "$T/other"
                expect_status 75 quire coordinate --write doc --timeout 0.2 -- true 2>/dev/null
                begin waiter write doc mode=\(mode) text=second; waiter=$last; sleep 0.3; expect_status 1 grep granted "$T/waiter"
                CoordinatedProgram write other mode=\(mode) timeout=0 text=other
                touch "$T/go"; wait $holder; wait $waiter; grep done "$T/holder"; grep done "$T/waiter"
                [ "$(cat doc)" = second ]; [ "$(cat other)" = other ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func sixtyFourProcessesTakeTurns(kind: SaveMount) throws {
            try run(kind, """
                for n in $(seq 64); do CoordinatedProgram write doc text=$n >"$T/out.$n" 2>&1 & done; wait
                for n in $(seq 64); do grep -q done "$T/out.$n" || { cat "$T/out.$n"; exit 1; }; done
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aPresenterIsAskedToSaveBeforeOthersRead(kind: SaveMount) throws {
            try run(kind, """
                begin presenter present doc text=typed stop="$T/stop"; presenter=$last; saw presenter presenting
                # Its daemon is told of unsaved changes without a wait.
                eventually '[ "$(cat doc)" = typed ]'
                saw presenter 'relinquish reader'; saw presenter save; saw presenter reacquired
                echo old >doc; saw presenter changed
                begin again read doc; wait $last; grep 'content typed' "$T/again"
                touch "$T/stop"; wait $presenter
                echo old >doc; begin again read doc; wait $last; grep 'content old' "$T/again"
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aPresenterIsAskedWhatTheOptionsSay(kind: SaveMount) throws {
            try run(kind, """
                begin presenter present doc stop="$T/stop"; presenter=$last; saw presenter presenting
                CoordinatedProgram write doc option=forMerging text=merged
                saw presenter reacquired; [ "$(head -3 "$T/presenter" | tail -2 | tr '\\n' ' ')" = 'relinquish writer save ' ]
                saw presenter changed
                CoordinatedProgram write doc option=forDeleting; saw presenter accommodate
                [ ! -e doc ]; [ "$(grep -c accommodate "$T/presenter")" = 1 ]
                touch "$T/stop"; wait $presenter
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aPresenterFollowsItsDocument(kind: SaveMount) throws {
            try run(kind, prepare: "mkdir folder; echo old >doc; echo old >new", """
                begin presenter present doc stop="$T/stop"; presenter=$last; saw presenter presenting
                begin watcher present folder stop="$T/stop"; saw watcher presenting
                mv doc moved; saw presenter 'moved moved'
                echo new >moved; saw presenter changed
                CoordinatedProgram write moved option=forMoving move=folder/inside with=folder/inside
                saw presenter 'moved inside'; saw watcher 'appeared in inside'
                echo newer >folder/inside; saw watcher 'changed in inside'
                quire coordinate --write folder/inside -- true
                [ "$(grep -c 'relinquish writer' "$T/presenter")" = 2 ]
                mv folder pack; saw presenter 'moved inside'; saw watcher 'moved pack'
                rm pack/inside; saw presenter accommodate
                touch "$T/stop"; wait
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func manyPresentersShareTwoConnections(kind: SaveMount) throws {
            try run(kind, """
                begin presenter present doc count=2000 stop="$T/stop"; presenter=$last; saw presenter presenting
                # Not those that the tests were started with.
                ls -l /proc/$presenter/fd >"$T/open"; ls -l /proc/$$/fd >"$T/before"
                [ $(($(grep -c socket: "$T/open") - $(grep -c socket: "$T/before"))) -le 3 ] || { cat "$T/open"; exit 1; }
                grep '^Threads:' /proc/$presenter/status >"$T/threads"
                [ "$(tr -dc 0-9 <"$T/threads")" -lt 30 ] || { cat "$T/threads"; exit 1; }
                echo new >doc.1999; saw presenter changed
                touch "$T/stop"; wait $presenter
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func waitingIsCancelled(kind: SaveMount) throws {
            try run(kind, """
                begin holder write doc hold="$T/go"; holder=$last; saw holder granted
                for mode in blocking async queue; do
                    expect_fails CoordinatedProgram write doc mode=$mode cancel=0.3 >"$T/out"
                    grep '^cancelled' "$T/out"
                done
                # Nobody waits behind who has given up.
                touch "$T/go"; wait $holder; CoordinatedProgram write doc timeout=60 text=free; [ "$(cat doc)" = free ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func eventsComeInOrder(kind: SaveMount) throws {
            try run(kind, prepare: "mkdir folder; echo old >folder/doc", """
                begin events events folder stop="$T/stop"; saw events listening
                sh -c 'echo new >folder/doc'; mv folder/doc folder/moved; rm folder/moved; saw events 'deleted moved'
                # A user's mount may tell again of what came through it, by nobody.
                sed 1d "$T/events" | grep -v ' by nobody' >"$T/told"
                printf '%s\\n' 'changed doc by sh' 'moved doc -> moved by mv' 'deleted moved by rm' | diff - "$T/told"
                touch "$T/stop"; wait
                """)
        }

        @Test func theDaemonsEndIsAClearErrorAndNotForGood() throws {
            try withMount(prepare: "echo old >doc; echo old >shown") { mount in
                let daemon = try #require(mount.daemon)
                try mount.shell(Self.functions + """
                    begin presenter present "$M/shown" text=typed stop="$T/stop"; presenter=$last; saw presenter presenting
                    begin listener events "$M" stop="$T/stop"; listener=$last; saw listener listening
                    begin holder write "$M/doc" hold="$T/go" again="$T/again"; holder=$last; saw holder granted
                    cd /; kill -9 \(daemon); touch "$T/go"; saw holder '^disconnected: .*daemon'
                    # Not mounted: no access, and none outside of the mount's rules.
                    begin without write "$M/doc"; expect_fails wait $last; saw without '^disconnected'
                    quire mount "$S" "$M" -o allow_other; cd "$M"
                    touch "$T/again"; wait $holder; [ "$(grep -c granted "$T/holder")" = 2 ]; tail -1 "$T/holder" | grep done
                    # Presenters are registered anew, and told to look again.
                    saw presenter changed; saw listener missed
                    eventually '[ "$(cat shown)" = typed ]'
                    touch "$T/stop"; expect_ended $presenter $listener
                    """)
                try mount.noteDaemon()
            }
        }

        @Test func aUserAccessesOnlyWhatIsTheirs() throws {
            try withMount(prepare: "echo public >doc; echo secret >private; chmod 600 private") { mount in
                let user = try #require(Account.user.uid)
                try mount.shell("""
                    CoordinatedProgram read doc | grep 'content public'
                    expect_fails CoordinatedProgram write doc >/dev/null 2>&1
                    for words in 'write doc' 'read private' 'events private'; do
                        result=$(CoordinatedProgram $words 2>&1 || true); echo "$result" | grep '^permissionDenied: '
                    done
                    """, as: user)
            }
        }

        @Test func outsideOfMountsTheLogSaysOnceThatOnlyTheProcessIsCoordinated() throws {
            try withMount(prepare: "echo old >doc") { mount in
                try mount.shell(Self.functions + """
                    cd "$T"; echo old >one; echo old >two
                    CoordinatedProgram write one with=two text=new >"$T/out" 2>"$T/log"; [ "$(cat one)" = new ]; grep done "$T/out"
                    [ "$(grep -c 'is in no Quire mount' "$T/log")" = 1 ]
                    CoordinatedProgram write "$M/doc" text=new 2>"$T/log"; expect_status 1 grep 'is in no Quire mount' "$T/log"
                    """)
            }
        }
    }
}
