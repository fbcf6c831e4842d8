import TestSupport
import Testing

extension MountTests {
    /// What stores that are gone have left in the state and runtime folders goes, and nothing else.
    struct StateSweepTests {
        /// `state NAME`: the state folder of the store $T/NAME, which `used NAME OPTION…` makes by a mount; `aged NAME DAYS`: nothing in
        /// it was changed for so long. `mounted` mounts the test's own store and waits for the sweep's end.
        private static let helpers = #"""
            state() { grep -laZ "/$1\$" "$QUIRE_STATE_HOME"/*/store | xargs -0 dirname; }
            used() {
                local name=$1; shift
                mkdir -p "$T/$name"; echo text >"$T/$name/doc"
                quire mount "$T/$name" "$@"; quire unmount "$T/$name"
                eventually '[ -n "$(state '$name')" ]'
                # The daemon has ended.
                flock "$(state $name)/lock" true
            }
            aged() { find "$(state $1)" -exec touch -h -d "$2 days ago" {} +; }
            mounted() {
                QUIRE_LOG_LEVEL=debug quire mount "$S" "$M" -o restart=off
                eventually 'grep -q "what stores that are gone left was looked for" "$QUIRE_STATE_HOME"/*/log'
            }

            """#

        private func withStates(_ account: Account, _ body: (Mount) throws -> Void) throws {
            let mount = try Mount(account)
            defer { mount.end() }
            try body(mount)
        }

        @Test(arguments: Account.allCases)
        func stateOfStoresThatAreGoneIsRemoved(account: Account) throws {
            try withStates(account) { mount in
                try mount.shell(Self.helpers + #"""
                    used gone; used recent; used there; used busy; used away; used aways; used kept -o keep-days=400
                    for name in gone recent there busy away aways kept; do cp -r "$(state $name)/store" "$T/$name.note"; done
                    folder() { local f; for f in "$QUIRE_STATE_HOME"/*; do if cmp -s "$f/store" "$T/$1.note"; then echo "$f"; fi; done; }
                    # On a disk that is not here now.
                    for name in away aways; do sed -i '1s/^1 /0 /' "$(state $name)/store"; cp "$(state $name)/store" "$T/$name.note"; done
                    mkdir -p "$(state kept)/kept"; echo version >"$(state kept)/kept/1.about"
                    touch "$(state gone)/leftover"; mkdir -p "$(state gone)/deep/er"; echo precious >"$T/precious"; ln -s "$T/precious" "$T/there" "$(state gone)/deep/er"
                    aged gone 91; aged recent 89; aged there 400; aged busy 91; aged kept 399; aged away 364; aged aways 366
                    touch -d '399 days ago' "$(state kept)/kept/1.about"
                    for name in gone recent busy kept away aways; do rm -r "$T/$name"; done
                    # Another was interrupted, a name of somebody else's, and a store that is not the one noted.
                    mkdir -p "$QUIRE_STATE_HOME"/0123456789abcdef.gone/kept "$QUIRE_STATE_HOME"/notes "$QUIRE_STATE_HOME"/0123456789abcdee
                    touch "$QUIRE_STATE_HOME"/0123456789abcdee/lock
                    cp "$T/gone.note" "$QUIRE_STATE_HOME"/0123456789abcdee/store; find "$QUIRE_STATE_HOME"/0123456789abcdee -exec touch -d '400 days ago' {} +
                    exec 9<"$(folder busy)/lock"; flock 9
                    mounted
                    for name in gone aways; do expect_equal "$(folder $name | grep -v bcdee || true)" ""; done
                    for name in recent there busy kept away; do test -d "$(folder $name)"; done
                    expect_equal "$(cd "$QUIRE_STATE_HOME"; ls -d 0123* notes)" "0123456789abcdee"$'\n'"notes"
                    expect_equal "$(cat "$T/precious" "$T/there/doc")" precious$'\n'text
                    expect_equal "$(cat "$QUIRE_STATE_HOME"/*/log | grep -c 'store that is gone, and was not used for')" 2
                    grep -q "store=$T/gone .*store that is gone, and was not used for 91 days, was removed" "$QUIRE_STATE_HOME"/*/log
                    """#, in: "/", limit: .seconds(300))
                try mount.noteDaemon()
            }
        }

        @Test(arguments: Account.allCases)
        func socketsThatNobodyServesAreRemoved(account: Account) throws {
            try withStates(account) { mount in
                // An ordinary user's sockets are where its variable says, root's in /run/quire, whatever it says.
                try mount.shell(Self.helpers + #"""
                    run=/run/quire; [ $(id -u) = 0 ] || run=$XDG_RUNTIME_DIR/quire
                    mkdir -p $run
                    # Of a run that failed.
                    rm -f $run/00000000000000a?.* $run/other.socket
                    python3 - $run >"$T/ready" <<'END' & server=$!
                    import os, socket, sys, time
                    run, served = sys.argv[1], []
                    def make(name, hours, listen):
                        made = socket.socket(socket.AF_UNIX); made.bind(run + "/" + name)
                        if listen: made.listen(); served.append(made)
                        os.utime(run + "/" + name, (time.time() - hours * 3600,) * 2)
                    make("00000000000000a1.socket", 1, False); make("00000000000000a2.socket.77", 1, False)
                    make("00000000000000a3.socket", 1, True); make("00000000000000a4.socket", 0, False); make("other.socket", 1, False)
                    open(run + "/00000000000000a5.socket", "w").close(); os.utime(run + "/00000000000000a5.socket", (0, 0))
                    print("ready", flush=True); time.sleep(600)
                    END
                    eventually grep -q ready "$T/ready"
                    mounted
                    found=$(ls $run | grep -x -e '00000000000000a.*' -e other.socket | xargs)
                    kill $server; rm -f $run/00000000000000a?.* $run/other.socket
                    expect_equal "$found" "00000000000000a3.socket 00000000000000a4.socket 00000000000000a5.socket other.socket"
                    """#, in: "/")
                try mount.noteDaemon()
            }
        }
    }
}
