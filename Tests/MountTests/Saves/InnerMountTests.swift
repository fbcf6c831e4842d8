import TestSupport
import Testing

extension MountTests {
    /// File systems that are mounted inside a mount stay there, whatever is saved beside them: in the daemon's mount namespace and in
    /// others, which nobody there sees.
    @Suite(.sharedMounts)
    struct InnerMountTests {
        /// `stays` looks at every name, as an app that comes next does, and then at the two file systems: at once, and after the clock
        /// of saves has beaten.
        private static let prepare = """
            mkdir -p d/here d/elsewhere; echo old >doc; echo old >a; echo old >b
            """
        private static let functions = """
            mount -t tmpfs inner d/here; touch d/here/file
            mkfifo "$T/asked" "$T/answered"
            unshare -m --propagation private bash -c '
                mount -t tmpfs inner d/elsewhere; touch d/elsewhere/file; echo mounted >"$T/answered"
                while read -r _ <"$T/asked"; do
                    stat d/elsewhere >/dev/null; [ -e d/elsewhere/file ] && echo there >"$T/answered" || echo gone >"$T/answered"
                done' &
            keeper=$!
            trap 'kill $keeper 2>/dev/null || true; umount -l d/here' EXIT
            read -r got <"$T/answered"; expect_equal "$got" mounted
            look() {
                find . -maxdepth 3 -not -path './.*' >/dev/null; stat d/here d/elsewhere >/dev/null
                [ -e d/here/file ]; echo look >"$T/asked"; read -r got <"$T/answered"; expect_equal "$got" there
            }
            stays() { look; sleep 0.3; look; }

            """

        private func run(_ kind: SaveMount, _ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try withSharedMount(kind, prepare: Self.prepare) { (mount: Mount) throws in
                // Only root mounts.
                try mount.shell("export T; " + Self.functions + script, as: 0, sourceLocation: sourceLocation)
            }
        }

        /// Root's mounts: a user's mount is closed to root.
        private static let kinds: [SaveMount] = [.root, .rootWithoutPassthrough]

        @Test(arguments: kinds)
        func savesAfterAListingLeaveWhatIsMounted(kind: SaveMount) throws {
            try run(kind, """
                for n in 1 2 3 4 5; do ls -l >/dev/null; echo $n >doc; done; stays
                python3 - <<'END'
                import os
                folder = os.open(".", os.O_RDONLY); os.listdir(folder)
                for n in range(5): open("doc", "w").write("x" * n + "y")
                END
                stays
                """)
        }

        @Test(arguments: kinds)
        func savesByRenameLeaveWhatIsMounted(kind: SaveMount) throws {
            try run(kind, """
                for n in 1 2 3 4 5; do echo $n >doc; mv doc other; mv other doc; done; stays
                exec 4>doc; echo begun >&4
                for n in 1 2 3 4 5; do ls -l >/dev/null; echo $n >new; mv new doc; echo $n >new; mv doc doc~; mv new doc; done
                exec 4>&-; stays
                """)
        }

        @Test(arguments: kinds)
        func savesOnAnOpenFileLeaveWhatIsMounted(kind: SaveMount) throws {
            try run(kind, """
                exec 4<>doc
                for n in 1 2 3; do ls -l >/dev/null; echo $n >doc; : >/proc/self/fd/4; echo x >/proc/self/fd/4; stat doc >/dev/null; done
                exec 4>&-; stays
                python3 - <<'END'
                import os
                name = os.open("doc", os.O_PATH)
                for n in range(3): open("doc", "w").write("x" * n + "y"); os.fstat(name)
                END
                stays
                """)
        }

        @Test(arguments: kinds)
        func claimsLeaveWhatIsMounted(kind: SaveMount) throws {
            try run(kind, """
                quire coordinate --write . -- bash -c 'echo new >a; echo new >new; mv a c; rm b; mv new b; ln -s b link'; stays
                [ "$(cat b c | tr '\\n' ' ')" = 'new new ' ]
                expect_status 3 quire coordinate --write . -- bash -c 'echo lost >c; mv b a; exit 3'; stays
                """)
        }

        /// The kernel takes a document's entry to the new name, which is there for the claim alone: it asks for it at the next use.
        @Test(arguments: SaveMount.accounts)
        func aNameThatAClaimHasGivenADocumentIsNobodyElsesAtOnce(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir d; for n in $(seq 40); do echo $n >d/$n; done") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    inside = \"""
                    import os, sys
                    errors = 0
                    for n in range(1, 41):
                        os.stat("d/%d" % n); print(n, flush=True); sys.stdin.readline()
                        os.rename("d/%d" % n, "d/new%d" % n)
                        print(n, flush=True); sys.stdin.readline()
                        if os.path.exists("d/%d" % n) or open("d/new%d" % n).read() != "%d\\\\n" % n: errors += 1
                    print("errors %d" % errors, flush=True)
                    \"""
                    claim = subprocess.Popen(
                        ["quire", "coordinate", "--write", "d", "--", "python3", "-c", inside],
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                    seen = 0
                    for n in range(1, 41):
                        claim.stdout.readline()
                        os.stat("d/%d" % n); claim.stdin.write("go\\n"); claim.stdin.flush(); claim.stdout.readline()
                        if os.path.exists("d/new%d" % n) or not os.path.exists("d/%d" % n): seen += 1
                        claim.stdin.write("go\\n"); claim.stdin.flush()
                    print("seen %d," % seen, claim.stdout.readline().strip(), claim.wait())
                    """) == "seen 0, errors 0 0")
            }
        }
    }
}
