import TestSupport
import Testing

extension MountTests {
    /// Peers that send what they like, to a real mount.
    @Suite(.sharedMounts)
    struct WireFuzzTests {
        private static let fuzzer = Products.text(of: "wire-fuzzer.py")

        @Test(arguments: SaveMount.accounts)
        func whatComesOverTheSocketHurtsNobody(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir folder; echo old >doc; echo old >folder/inner") { (mount: Mount) throws in
                let others = kind == .root ? "setpriv --reuid 61002 --regid 61002 --clear-groups" : ""
                let script = "cat >\"$T/fuzz.py\" <<'END_OF_PROGRAM'\n" + Self.fuzzer + "\nEND_OF_PROGRAM\n" + """
                    pid=$(quire status --json . | sed -n 's/.*"pid" : \\([0-9]*\\),*/\\1/p' | head -n 1)
                    memory() { sed -n 's/VmRSS:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$pid/status; }
                    chmod 755 "$T"; chmod 644 "$T/fuzz.py"
                    python3 "$T/fuzz.py" 1 100; first=$(memory)
                    python3 "$T/fuzz.py" $RANDOM 400 & \(others) python3 "$T/fuzz.py" $RANDOM 400; wait $!
                    nothing_held() { quire status --json . >"$T/status"; ! grep '"claim"\\|"id"\\|"path"' "$T/status"; }
                    eventually nothing_held
                    [ $(memory) -lt $((first + 40000)) ]
                    echo new >doc; cat doc; quire coordinate --write doc -- sh -c 'echo newer >doc'; cat doc
                    """
                #expect(try mount.shell(script) == "new\nnewer")
            }
        }
    }
}
