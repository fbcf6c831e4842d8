import TestSupport
import Testing

extension MountTests {
    /// Searches whose results stay current: `quire search --live` and `MetadataQuery`.
    struct LiveSearchTests {
        private static let documents = "mkdir letters closed; echo one >letters/note1; echo two >note2; echo three >other; chmod 755 letters"

        /// Defines `begin NAME COMMAND…`, which runs a command in the background with what it prints in $T/NAME, and `saw NAME LINE`, which
        /// waits for a line of it and forgets what was before.
        private static let functions = """
            begin() { local name=$1; shift; : >"$T/$name"; "$@" >"$T/$name" 2>"$T/$name.errors" & last=$!; }
            saw() {
                local end=$((SECONDS + 120))
                until grep -qxF -- "$2" "$T/$1"; do
                    if [ $SECONDS -gt $end ]; then echo "$1 did not say '$2' but:"; cat "$T/$1" "$T/$1.errors"; exit 1; fi
                    sleep 0.01
                done
            }
            trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

            """

        private func run(_ account: Account, _ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try withMount(account, prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.functions + script, sourceLocation: sourceLocation)
            }
        }

        @Test(arguments: Account.allCases)
        func theCommandPrintsWhatChanges(account: Account) throws {
            try run(account, """
                begin live quire search --live --sort name note; saw live "found $M/note2"
                [ "$(cat "$T/live")" = "found $M/letters/note1
                found $M/note2" ]
                echo new >note3; saw live "found $M/note3"; : >"$T/live"
                echo longer >note3; saw live "changed $M/note3"
                mv note3 letters/note4; saw live "changed $M/letters/note4"
                mv letters/note4 letters/elsewhere; saw live "gone $M/letters/note4"
                mv other note5; saw live "found $M/note5"
                echo save >save; mv save note5; saw live "changed $M/note5"
                rm -r letters; saw live "gone $M/letters/note1"
                setfattr -n user.xdg.tags -v t note2
                begin json quire search --live --json tag:t; saw json '{"event":"complete","at":1}'
                jq -r '[.event, .at, .path] | @tsv' "$T/json" >"$T/read"; grep -qx "found	0	$M/note2" "$T/read"
                setfattr -x user.xdg.tags note2; until [ "$(tail -n1 "$T/json" | jq -r .event)" = gone ]; do sleep 0.01; done
                quire favorite add note2; begin marked quire search --live is:favorite; saw marked "found $M/note2"
                rm .favorites/note2; saw marked "gone $M/note2"
                echo beneath >"$S/note6"; saw live "found $M/note6"
                """)
        }

        /// What was written has its place in the results when close(2) returns: a search that is begun then has it, and a watched one is told.
        @Test func aHundredChangesAreToldInTheirOrder() throws {
            try run(.root, """
                begin live quire search --live note; saw live "found $M/note2"
                for n in {1..100}; do echo $n >"note-$n"; [ "$(quire search --limit 1000 note | wc -l)" = $((n + 2)) ]; done
                saw live "found $M/note-100"
                [ "$(grep -c "^found $M/note-" "$T/live")" = 100 ]
                for n in {1..100}; do rm "note-$n"; done; saw live "gone $M/note-100"; saw live "gone $M/note-50"
                [ "$(grep -c "^gone $M/note-" "$T/live")" = 100 ]
                """)
        }

        @Test(arguments: Account.allCases)
        func programsAreToldTheDifferences(account: Account) throws {
            try run(account, """
                begin query CoordinatedProgram query "$M" text=note stop="$T/stop"
                saw query "update 1: note1,note2; removed ; inserted note1,note2; moved ; changed "
                mv note2 anote; saw query "update 2: anote,note1; removed ; inserted ; moved 1-0; changed anote"
                echo x >note7; saw query "update 3: anote,note1,note7; removed ; inserted note7; moved ; changed "
                rm anote; saw query "update 4: note1,note7; removed anote; inserted ; moved ; changed "
                CoordinatedProgram query "$M/letters" text=note mode=once >"$T/once"; [ "$(cat "$T/once")" = note1 ]
                expect_fails CoordinatedProgram query "$M" text='size>x' mode=once >"$T/wrong"; grep -q 'refused: .*x is not a size' "$T/wrong"
                expect_fails CoordinatedProgram query /proc text=a mode=once >"$T/wrong"; grep -q 'refused: /proc: is in no Quire mount' "$T/wrong"
                touch "$T/stop"; wait
                """)
        }

        /// When its daemon was killed, the mount is there again in a moment, and the query goes on.
        @Test func aQueryGoesOnWithTheNextDaemon() throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            mount.restarts = true
            try mount.shell("cd \"$S\"\n" + Self.documents, in: mount.store)
            try mount.mount()
            try mount.scanned()
            try mount.shell(Self.functions + """
                begin query CoordinatedProgram query "$M" text=note stop="$T/stop"
                saw query "update 1: note1,note2; removed ; inserted note1,note2; moved ; changed "
                kill -9 $(quire status "$M" --json | jq .pid)
                cd /; until echo new >"$M/note8"; do sleep 0.05; done 2>/dev/null
                until grep -q 'update .*: note1,note2,note8; removed ; inserted note8; moved ; changed ' "$T/query"; do sleep 0.02; done
                touch "$T/stop"; wait
                """)
        }

        /// A user is told of documents that the user may read, and when that changes.
        @Test func usersAreToldOfWhatTheyMayRead() throws {
            try withMount(prepare: Self.documents + "; echo secret >closed/note3; chmod 700 closed; chmod 755 .; chmod 644 note2 letters/note1") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.functions + """
                    begin live setpriv --reuid=\(Account.alice) --regid=\(Account.alice) --clear-groups -- quire search --live --in "$M" note
                    saw live "found $M/note2"
                    chmod 755 closed; saw live "found $M/closed/note3"
                    echo more >>closed/note3; saw live "changed $M/closed/note3"
                    chmod 600 note2; saw live "gone $M/note2"; : >"$T/live"
                    chmod 700 closed; saw live "gone $M/closed/note3"
                    echo more >>closed/note3; mv closed/note3 closed/note4; echo end >letters/note9; chmod 644 letters/note9; saw live "found $M/letters/note9"
                    [ "$(cat "$T/live")" = "gone $M/closed/note3
                    found $M/letters/note9" ]
                    """)
            }
        }

        /// Searches of one user, as many as the user may watch, leave others theirs; and whoever stops reading costs nothing.
        @Test func watchedSearchesAreBounded() throws {
            try withMount(prepare: Self.documents + "; chmod 755 .; chmod 644 note2") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.functions + """
                    for n in {1..10}; do
                        begin live$n setpriv --reuid=\(Account.alice) --regid=\(Account.alice) --clear-groups -- quire search --live --limit 20000 --in "$M" note
                        saw live$n "found $M/note2"
                    done
                    expect_status 2 setpriv --reuid=\(Account.alice) --regid=\(Account.alice) --clear-groups -- \
                        quire search --live --limit 20000 --in "$M" note 2>"$T/refused"
                    grep -q liveResults "$T/refused"
                    kill -STOP %1
                    begin bob setpriv --reuid=\(Account.bob) --regid=\(Account.bob) --clear-groups -- quire search --live --limit 20000 --in "$M" note
                    saw bob "found $M/note2"
                    echo new >note3; chmod 644 note3; saw bob "found $M/note3"; saw live10 "found $M/note3"
                    kill -CONT %1; saw live1 "found $M/note3"
                    """)
            }
        }
    }
}
