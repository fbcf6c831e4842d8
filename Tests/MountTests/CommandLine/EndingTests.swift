import Glibc
import TestSupport
import Testing

extension MountTests {
    /// How a mount ends, whoever is at work in it, and so that it can be made again at once. How soon the benchmarks measure.
    struct EndingTests {
        /// What goes on in the mount just before its daemon is told to end.
        static let activities = ["true", "for n in $(seq 50); do echo text >file$n; done", "cat doc >/dev/null"]

        private func expectEnd(of mount: Mount, after script: String, by end: (pid_t) throws -> Void) throws {
            if !mount.isMounted { try mount.mount() }
            try mount.shell(script)
            let daemon = try #require(mount.daemon)
            try end(daemon)
            eventually { Mount.hasEnded(daemon) }
            #expect(!mount.isMounted)
        }

        @Test(arguments: Account.allCases, activities)
        func aMountWithNothingOpenEnds(account: Account, activity: String) throws {
            try withMount(account, prepare: "echo text >doc") { mount in
                try expectEnd(of: mount, after: activity) { kill($0, SIGTERM) }
                try expectEnd(of: mount, after: activity) { _ in try mount.unmount() }
            }
        }

        @Test func aMountThatIsBeingScannedEnds() throws {
            let many = "python3 -c 'import os\nfor n in range(60000): os.mkdir(str(n))'"
            try withMount(in: "/dev/shm", prepare: many) { mount in
                try expectEnd(of: mount, after: "true") { kill($0, SIGTERM) }
                // Otherwise nothing was ended in the middle of it.
                try mount.mount()
                #expect(try !mount.quire("status", "--json", mount.path).output.contains("\"state\" : \"done\""))
            }
        }

        @Test func whatIsOpenIsReadAfterTheMountHasGone() throws {
            try withMount(prepare: "echo text >doc") { mount in
                try expectEnd(of: mount, after: "true") { daemon in
                    let file = open(mount.path + "/doc", O_RDONLY)
                    kill(daemon, SIGTERM)
                    eventually { !mount.isMounted }
                    var text: UInt8 = 0
                    #expect(read(file, &text, 1) == 1)
                    close(file)
                }
            }
        }

        @Test(arguments: Account.allCases)
        func openFilesGetASecond(account: Account) throws {
            try withMount(account, prepare: "echo text >doc") { mount in
                let daemon = try #require(mount.daemon)
                let seconds = try mount.python("""
                    import os, signal, time
                    from waiting import eventually, has_ended
                    def mounted():
                        with open("/proc/self/mounts") as table: return any(line.split()[1] == os.environ["M"] for line in table)
                    doc, other = open("doc", "a"), open("other", "w")
                    os.chdir("/")
                    begun = time.monotonic()
                    os.kill(\(daemon), signal.SIGTERM)
                    while mounted(): time.sleep(0.005)
                    doc.write("late"); doc.close()
                    eventually(lambda: has_ended(\(daemon)))
                    print(time.monotonic() - begun)
                    """)
                let took = try #require(Double(seconds))
                #expect(took > 0.9)
                #expect(try mount.shell("cat \"$S/doc\"", in: "/") == "text\nlate")
            }
        }

        /// Three ways to end a mount, one after the other, while a process reads in it all the time.
        @Test(arguments: Account.allCases)
        func mountingAndUnmountingAgainAndAgainLeavesNothing(account: Account) throws {
            try withMount(account, prepare: "mkdir d; for n in $(seq 20); do echo text >d/$n; done") { mount in
                let socket = try mount.shell("getfattr --only-values -n user.quire.socket .")
                try mount.shell("""
                    {
                        while [ -d "$T" ] && [ ! -e "$T/stop" ]; do
                            for file in "$M"/d/*; do
                                if content=$(cat "$file"); then [ "$content" = text ] || echo "differs: $content"; fi
                            done
                        done
                        touch "$T/ended"
                    } >"$T/reader" 2>&1 &
                    """, in: "/")
                for round in 1...30 {
                    let daemon = try #require(mount.daemon)
                    switch round % 3 {
                    case 0: kill(daemon, SIGTERM)
                    case 1: #expect(try mount.quire("unmount", "--lazy", mount.path).status == 0)
                    // The reader may have a file open at this moment.
                    default: try eventually { try mount.quire("unmount", mount.path).status != 2 }
                    }
                    eventually { !mount.isMounted }
                    try mount.mount()
                    #expect(try mount.shell("cat d/7") == "text")
                }
                try mount.shell("touch \"$T/stop\"", in: "/")
                try eventually { try mount.quire("unmount", mount.path).status != 2 }
                #expect(!mount.isMounted)
                #expect(try mount.shell("test ! -e '\(socket)'; ls -A \"$M\"", in: "/") == "")
                let expected = ["No such file or directory", "Transport endpoint is not connected", "Software caused connection abort", "Operation canceled"]
                let met = try mount.attempt("eventually [ -e \"$T/ended\" ]; sed 's/.*: //' \"$T/reader\" | sort -u", in: "/").output.split(separator: "\n")
                #expect(met.filter { !expected.contains(String($0)) } == [], "what the reader met")
            }
        }

        private static let program = Products.text(of: "end-under-load.py")

        @Test(arguments: Account.allCases, [false, true])
        func endingUnderLoadHangsAndLosesNothing(account: Account, inPlace: Bool) throws {
            try withMount(account, inPlace: inPlace) { mount in
                let daemon = try #require(mount.daemon)
                let result = try mount.attempt(
                    "cat >\"$T/program\" <<'END'\n\(Self.program)\nEND\npython3 \"$T/program\" \(daemon)", in: "/", limit: .seconds(180))
                #expect(result.status == 0 && result.output == "", "\(result)")
                try mount.mount()
                #expect(try mount.shell("head -c 4 work/held") == "kept")
                eventually { Mount.hasEnded(daemon) }
            }
        }
    }
}
