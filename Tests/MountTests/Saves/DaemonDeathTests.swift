import Glibc
import SystemPackage
import TestSupport
import Testing

extension MountTests {
    /// What a daemon leaves behind that dies of anything but its own end: no program waits for ever, the mount is there again, and what
    /// was saved, and nearly all that was being saved, is there too.
    struct DaemonDeathTests {
        private func withRestarting(
            _ account: Account, inPlace: Bool = false, prepare: String = "echo old >doc", _ body: (Mount) throws -> Void
        ) throws {
            let mount = try Mount(account, inPlace: inPlace)
            mount.restarts = true
            defer { mount.end() }
            try mount.shell("cd \"$S\"\n" + prepare, in: mount.store)
            try mount.mount()
            try body(mount)
        }

        private func deaths(_ mount: Mount) throws -> String {
            let count = #"import json, sys; print(len(json.load(sys.stdin)["deaths"]))"#
            return try mount.shell("quire status --json \"$M\" | python3 -c '\(count)'", in: "/")
        }

        /// How many mounts the kernel has at the mount point.
        private func mountsThere(_ mount: Mount) throws -> Int {
            try readFile("/proc/self/mounts").split(separator: "\n").count { $0.contains(" \(mount.path) ") }
        }

        @Test(arguments: Account.allCases, [false, true])
        func theMountComesBack(account: Account, inPlace: Bool) throws {
            try withRestarting(account, inPlace: inPlace) { mount in
                for (count, signal) in [SIGKILL, SIGSEGV].enumerated() {
                    let daemon = try #require(mount.daemon)
                    kill(daemon, signal)
                    try mount.comesBack(after: daemon)
                    #expect(try mount.shell("cat doc; echo new >doc; cat doc; echo old >doc") == "old\nnew")
                    #expect(try deaths(mount) == "\(count + 1)")
                }
                #expect(try mount.quire("status", mount.path).output.contains("signal 11"))
                #expect(try mountsThere(mount) == 1)
                #expect(try mount.shell("grep -c 'the daemon of this mount died' $QUIRE_STATE_HOME/*/log") == "2")
                try mount.unmount()
                #expect(!mount.isMounted)
            }
        }

        @Test func threeDeathsWithinAMinuteAreTooMany() throws {
            try withRestarting(.root) { mount in
                for _ in 1...2 {
                    let daemon = try #require(mount.daemon)
                    kill(daemon, SIGKILL)
                    try mount.comesBack(after: daemon)
                }
                kill(try #require(mount.daemon), SIGKILL)
                try eventually { try mount.shell("cat $QUIRE_STATE_HOME/*/log", in: "/").contains("it is not mounted again") }
                #expect(try mount.quire("status").output.contains("dead: "))
                #expect(try mount.attempt("ls \"$M\"", in: "/").errors.contains("Transport endpoint is not connected"))
                try mount.mount()
                #expect(try mount.shell("cat doc") == "old")
            }
        }

        /// The process that sees the daemon die is replaced when it ends itself, and ends with the mount.
        @Test(arguments: Account.allCases)
        func whoSeesItDieIsReplaced(account: Account) throws {
            try withRestarting(account) { mount in
                let daemon = try #require(mount.daemon)
                let first = try mount.shell("pgrep -P \(daemon) -x quire-guard")
                try mount.shell("kill -9 \(first)")
                try eventually { try !mount.attempt("pgrep -P \(daemon) -x quire-guard | grep -vx \(first)").output.isEmpty }
                kill(daemon, SIGKILL)
                try mount.comesBack(after: daemon)
                let next = try #require(mount.daemon)
                let second = try mount.shell("eventually pgrep -P \(next) -x quire-guard")
                try mount.unmount()
                eventually { pid_t(second).map(Mount.hasEnded) ?? false }
            }
        }

        /// Killed just after the process was started that is to see it die.
        @Test(arguments: Account.allCases)
        func aDaemonThatDiesWhileThatOneStartsIsSeenToo(account: Account) throws {
            try withRestarting(account) { mount in
                let daemon = try #require(mount.daemon)
                try mount.python("""
                    import os, signal, time
                    daemon = \(daemon)
                    def guards():
                        found = []
                        for name in filter(str.isdigit, os.listdir("/proc")):
                            try: words, parent = open(f"/proc/{name}/cmdline").read(), int(open(f"/proc/{name}/stat").read().rpartition(")")[2].split()[1])
                            except OSError: continue
                            if parent == daemon and "guard-for-daemon" in words: found.append(int(name))
                        return found
                    first = guards()
                    for process in first: os.kill(process, signal.SIGKILL)
                    while not (new := set(guards()) - set(first)): pass
                    os.kill(daemon, signal.SIGKILL)
                    """)
                try mount.comesBack(after: daemon)
            }
        }

        /// A child of the daemon that has yet to exec(3) has the store's lock, too, for longer than the daemon lives.
        @Test(arguments: Account.allCases)
        func aLockThatOutlivesItsDaemonIsWaitedFor(account: Account) throws {
            try withRestarting(account) { mount in
                let daemon = try #require(mount.daemon)
                let lock = try mount.shell("ls \"$QUIRE_STATE_HOME\"/*/lock")
                try mount.python("""
                    import fcntl, os, signal, subprocess, time
                    guard = int(subprocess.check_output(["pgrep", "-P", "\(daemon)", "-x", "quire-guard"]))
                    os.kill(guard, signal.SIGSTOP)
                    os.kill(\(daemon), signal.SIGKILL)
                    lock = open("\(lock)")
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    os.kill(guard, signal.SIGCONT)
                    # As long as a guard takes that does not wait to fail three times.
                    time.sleep(1)
                    """)
                try mount.comesBack(after: daemon)
                #expect(try deaths(mount) == "1")
            }
        }

        /// Killed before it has told the process that started it that it serves: that one sees the death, too, and one of the two mounts again.
        @Test(arguments: Account.allCases)
        func aDaemonThatDiesBeforeItServesIsReplacedOnce(account: Account) throws {
            try withRestarting(account) { mount in
                let daemon = try #require(mount.daemon)
                let second = try mount.python("""
                    import os, signal, time
                    from waiting import eventually, has_ended
                    end = time.monotonic() + 20
                    def child(process, word):
                        while time.monotonic() < end:
                            try:
                                for task in os.listdir(f"/proc/{process}/task"):
                                    for found in open(f"/proc/{process}/task/{task}/children").read().split():
                                        if word in open(f"/proc/{found}/cmdline").read(): return int(found)
                            except OSError: pass
                    first = child(\(daemon), "guard-for-daemon")
                    os.kill(\(daemon), signal.SIGKILL)
                    second = child(first, "--ready-fd")
                    # The daemon waits for this process before it tells that it serves.
                    guard = child(second, "guard-for-daemon")
                    os.kill(guard, signal.SIGSTOP)
                    os.kill(second, signal.SIGKILL)
                    os.kill(guard, signal.SIGCONT)
                    eventually(lambda: has_ended(first) and has_ended(guard))
                    print(second)
                    """)
                try mount.comesBack(after: try #require(pid_t(second)))
                #expect(try deaths(mount) == "2")
                #expect(try mount.shell("cat doc") == "old")
                #expect(try mountsThere(mount) == 1)
            }
        }

        /// In the foreground a service manager does that: what sees the daemon die ends the dead mount's connection, and nothing else.
        @Test(arguments: Account.allCases)
        func aDaemonInTheForegroundIsNotStartedAgain(account: Account) throws {
            let mount = try Mount(account)
            defer { mount.end() }
            try mount.shell("echo old >doc", in: mount.store)
            try mount.shell("""
                quire mount --foreground "$S" "$M" \(account == .root ? "-o allow_other" : "") >"$T/log" 2>&1 & daemon=$!
                eventually grep -q serving "$T/log"
                expect_equal "$(cat "$M/doc")" old
                guard=$(pgrep -P $daemon -x quire-guard)
                kill -9 $daemon
                expect_status 137 wait $daemon
                # It was to mount again, if anything was.
                ended() { [ ! -e /proc/$guard ] || grep -q ') Z' /proc/$guard/stat; }
                eventually ended
                grep -q "the daemon of this mount died" "$T/log"
                expect_status 1 grep -q "mounted" "$T/log"
                expect_fails ls "$M"
                grep -q "dead: " <(quire status)
                # And that can be mounted over.
                quire mount "$S" "$M" -o restart=off
                expect_equal "$(cat "$M/doc")" old
                """, in: "/")
            try mount.noteDaemon()
        }

        /// The process that sees a daemon die writes to the log there is then, also where the one that it was started with is `log.old`.
        @Test func aDeathIsInTheLogThereIs() throws {
            try withRestarting(.root) { mount in
                let daemon = try #require(mount.daemon)
                try mount.shell("""
                    log=$(echo "$QUIRE_STATE_HOME"/*/log)
                    # Full: the next line begins another one.
                    head -c 1100000 /dev/zero | tr '\\0' '\\n' >>"$log"
                    expect_status 137 python3 -c 'import os, signal; f = open("doc", "w"); f.write("half"); f.flush(); os.kill(os.getpid(), signal.SIGKILL)'
                    eventually grep -q "a save was not published" "$log"
                    test -e "$log.old"
                    """)
                kill(daemon, SIGKILL)
                try mount.comesBack(after: daemon)
                try mount.shell("""
                    log=$(echo "$QUIRE_STATE_HOME"/*/log)
                    grep -q "the daemon of this mount died" "$log"; eventually grep -q "mounted again" "$log"
                    expect_status 1 grep -q -a "daemon of this mount died" "$log.old"
                    """, in: "/")
            }
        }

        @Test func whatWasUnmountedStaysSo() throws {
            try withRestarting(.root) { mount in
                let daemon = try #require(mount.daemon)
                try mount.shell("exec 3<doc; cd /; umount -l \"$M\"; kill -9 \(daemon); sleep 1; exec 3<&-", in: mount.path)
                eventually { Mount.hasEnded(daemon) }
                #expect(!mount.isMounted)
            }
        }

        /// What a program had written for a tenth of a second when the daemon was killed can be had back; the document is as it was.
        @Test(arguments: Account.allCases)
        func savesUnderWayAreInRecover(account: Account) throws {
            try withRestarting(account, prepare: "echo old >doc; mkdir d; echo old >d/moved") { mount in
                let daemon = try #require(mount.daemon)
                try mount.shell(Unrelated.shell + """
                    exec 3>doc 4>d/moved; echo half >&3; echo other >&4
                    eventually '[ "$(find "$S" -name ".quire-save-*" | wc -l)" = 2 ]'
                    # The hidden names are in nobody's way.
                    other 'mv d/moved . && rmdir d'
                    cd /; kill -9 \(daemon)
                    """)
                try mount.comesBack(after: daemon)
                #expect(try mount.shell("cat doc moved; ls") == "old\nold\ndoc\nmoved")
                try eventually {
                    try mount.shell("quire recover list | grep -c -e /doc -e /moved || true") == "2"
                }
                #expect(try mount.shell("for n in 1 2; do quire recover show $n; done | sort") == "half\nother")
                try expectNothingHidden(mount)
            }
        }

        private static let kinds: [SaveMount] = [.user, .root, .rootWithoutPassthrough]

        /// How often a test has the daemon killed: QUIRE_DEATH_ROUNDS times on users' mounts, where a notice of changed names waits for
        /// apps most often, an eighth of that on root's.
        private static func rounds(_ kind: SaveMount) -> Int {
            let rounds = getenv("QUIRE_DEATH_ROUNDS").flatMap { Int(String(cString: $0)) }
            return rounds.map { kind.account == .user ? $0 : max($0 / 8, 1) } ?? 4
        }

        private enum Victims: String {
            case daemon, both
            /// The daemon, whose guard mounts again.
            case restarted
        }

        /// Savers, readers and claims at work when the daemon is killed: each of them ends, and what was closed is there.
        private func killing(_ victims: Victims, _ kind: SaveMount, rounds: Int) throws {
            let mount = try Mount(kind.account)
            mount.restarts = victims == .restarted
            defer { mount.end() }
            let prepare = "for n in 0 1 2 3 4 5 6 7; do echo >d$n; done; echo 0 >g1; echo 0 >g2"
            try mount.shell("cd \"$S\"\n" + prepare, in: mount.store)
            try mount.mount(kind.options)
            let options = (kind.options + (mount.restarts ? [] : ["restart=off"])).joined(separator: ",")
            let result = try mount.attempt(
                "cat >\"$T/program\" <<'END'\n\(Self.program)\nEND\npython3 \"$T/program\" \(rounds) \(victims) '\(options)'", in: "/",
                limit: .seconds(300 + rounds * 4))
            #expect(result.status == 0 && result.output == "", "\(result)")
            // Who hangs is let go: the connection ends, though the mount is in use.
            if result.status != 0 { umount2(mount.path, Int32(truncatingIfNeeded: MNT_FORCE)) }
            try mount.noteDaemon()
        }

        @Test(arguments: kinds)
        func nobodyHangsAndNothingIsLost(kind: SaveMount) throws { try killing(.daemon, kind, rounds: Self.rounds(kind)) }

        /// As of `pkill -9 quire`, a service manager that kills all of a service, or want of memory.
        @Test(arguments: kinds)
        func nobodyHangsWhenTheGuardIsKilledToo(kind: SaveMount) throws { try killing(.both, kind, rounds: Self.rounds(kind)) }

        @Test(arguments: kinds)
        func theMountComesBackUnderLoad(kind: SaveMount) throws {
            try killing(.restarted, kind, rounds: max(Self.rounds(kind) / 8, 3))
        }

        private static let program = Products.text(of: "kill-daemon.py")
    }
}
