import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Changes made in the store by others than the mount: as root by fanotify, as an ordinary user by inotify.
    struct OutsideChangeTests {
        private static let program = Products.text(of: "outside-changes.py")

        @Test(arguments: Account.allCases)
        func changesBesideTheMountShow(account: Account) throws {
            try withMount(account, prepare: "mkdir d") { mount in
                try mount.scanned()
                #expect(try mount.python(Self.program) == "")
            }
        }

        @Test func changesShowWithoutPassthroughToo() throws {
            try withMount(.root, ["passthrough=off"], prepare: "mkdir d") { mount in
                try mount.scanned()
                #expect(try mount.python(Self.program) == "")
            }
        }

        /// Who stood in the store before it was covered still writes beneath the mount.
        @Test(arguments: Account.allCases)
        func changesBeneathTheMountShow(account: Account) throws {
            let mount = try Mount(account, inPlace: true)
            defer { mount.end() }
            let options = account.options.map { "-o \($0)" }.joined(separator: " ")
            let program = Self.program.replacing("S, M = os.environ[\"S\"], os.environ[\"M\"]", with: "S, M = \".\", os.environ[\"M\"]")
            let missing = try mount.shell("""
                cd "$S"; mkdir d; quire mount "$S" \(options) >&2; sleep 0.5
                python3 - <<'END'
                \(program)
                END
                """, in: "/")
            #expect(missing == "")
            try mount.noteDaemon()
        }

        @Test func aWriterBesideTheMountIsReadWhileItWrites() throws {
            try withMount { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, time
                    S, M = os.environ["S"], os.environ["M"]
                    writer = open(S + "/log", "w", buffering=1)
                    reader = open(M + "/log")
                    for n in range(50):
                        print("line", n, file=writer)
                        written = time.monotonic()
                        while True:
                            line = reader.readline()
                            if line or time.monotonic() > written + 180: break
                            time.sleep(0.001)
                        if line != "line %d\\n" % n: print(n, line)
                    """) == "")
            }
        }

        /// The kernel moves the entry that it has when a program renames what was put there outside a moment ago.
        @Test(arguments: SaveMount.accounts)
        func whatIsMovedRightAfterAnOutsideRenameIsShown(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >first; echo old >doc") { (mount: Mount) throws in
                let daemon = try #require(mount.daemon)
                try mount.shell("""
                    cat first doc >"$T/read"; echo new >"$S/first"
                    eventually 'pgrep -P \(daemon) -x quire-replay >"$T/helpers"'
                    helpers=$(cat "$T/helpers"); trap 'kill -CONT $helpers || true' EXIT; kill -STOP $helpers
                    for number in $(seq 10); do
                        echo "text $number" >"$S/new"; stat doc >"$T/status"
                        python3 -c 'import os, sys; os.rename(sys.argv[1] + "/new", sys.argv[1] + "/doc"); os.rename("doc", "moved")' "$S"
                        sleep 0.3; mv moved doc
                    done
                    kill -CONT $helpers || true
                    eventually '[ "$(stat -c "%i %s" doc)" = "$(stat -c "%i %s" "$S/doc")" ]'
                    """)
            }
        }

        @Test func documentsTaggedBesideTheMountAreInTheirFolders() throws {
            try withMount(prepare: "echo a >a; echo b >b") { mount in
                try mount.scanned()
                try mount.shell("setfattr -n user.xdg.tags -v tag a; mkdir d; echo c >d/c; setfattr -n user.xdg.tags -v tag d/c")
                try mount.expectNames(["a", "c"], in: ".tags/tag")
                try mount.shell("setfattr -n user.xdg.tags -v tag b; mv a z", in: mount.store)
                try mount.expectNames(["b", "c", "z"], in: ".tags/tag")
                try mount.shell("rm -r d; setfattr -x user.xdg.tags b", in: mount.store)
                try mount.expectNames(["z"], in: ".tags/tag")
            }
        }
    }
}
