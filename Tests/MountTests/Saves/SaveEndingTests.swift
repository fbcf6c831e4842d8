import TestSupport
import Testing

extension MountTests {
    /// Saves whose end is hard to see: who still has the document, and whether its saver was killed.
    @Suite(.sharedMounts)
    struct SaveEndingTests {
        enum Form: String, CaseIterable, Sendable {
            /// A shell is killed while a program that it has started runs.
            case shell
            /// The same, and the program goes on to write.
            case writingShell = "writing-shell"
            /// A thread with a table of descriptors of its own forks, and the child ends.
            case table
            /// A file that is registered with an io_uring, its descriptor closed.
            case registered
            /// A file that an io_uring has opened and that never had a descriptor.
            case direct
            /// A mapping, the descriptor closed.
            case mapped
            /// A saver that an ordinary user's daemon may not look at.
            case nondumpable

            var rounds: Int { (self == .shell || self == .writingShell ? 10 : 20) * (isLongRun ? 8 : 1) }
        }

        /// Before these tests 20 of 20 were half, of the non-dumpable ones none.
        @Test(arguments: SaveMount.allCases, Form.allCases)
        func theDocumentIsAsItWasWhenTheSaverIsKilled(kind: SaveMount, form: Form) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell("SaveExerciser ended doc \(form.rounds) \(form.rawValue) killed", limit: .seconds(600))
                    == "old \(form.rounds) new 0 half 0 late 0 failed 0")
            }
        }

        /// Nobody sees half of it, and all of it is there when close(2) has returned, or the process with the mapping has ended.
        @Test(arguments: SaveMount.allCases, Form.allCases.filter { $0 != .shell && $0 != .writingShell })
        func theNewVersionIsThereWhenTheSaverHasEnded(kind: SaveMount, form: Form) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell("SaveExerciser ended doc \(form.rounds) \(form.rawValue) ends", limit: .seconds(600))
                    == "old 0 new \(form.rounds) half 0 late 0 failed 0")
            }
        }

        /// The output of a killed shell and its programs, and what these go on writing, can be had back when the last of them has ended.
        @Test(arguments: SaveMount.accounts)
        func whatTheProgramsOfAKilledShellWroteIsKept(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >script") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import json, os, subprocess, time
                    ends = os.pipe()
                    saver = subprocess.Popen(
                        ["bash", "-c", "exec dash -c 'echo half; sh -c \\"echo >&2; read line; echo more\\"; echo rest' >script"],
                        stdin=ends[0], stderr=subprocess.PIPE)
                    saver.stderr.readline(); saver.kill(); saver.wait(); print(open("script").read(), end="")
                    os.write(ends[1], b"go\\n"); saver.stderr.read(); print(open("script").read(), end="")
                    for attempt in range(500):
                        kept = json.loads(subprocess.check_output(["quire", "recover", "list", "--json", "script"]))
                        if kept: break
                        time.sleep(0.02)
                    print(len(kept), subprocess.check_output(["quire", "recover", "show", str(kept[0]["id"])]))
                    subprocess.run(["quire", "recover", "drop", "--all"], check=True, stdout=subprocess.DEVNULL)
                    """) == "old\nold\n1 b'half\\nmore\\n'")
            }
        }

        /// Of two savers that overtake each other in a loop.
        @Test(arguments: SaveMount.accounts)
        func whatWasOvertakenIsKeptOnceAMinute(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                let printed = try mount.python(Unrelated.python + """
                    import json
                    first = int(time.time()) // 60
                    for n in range(40):
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"mine\\n")
                        other("echo other %d >doc" % n); os.close(file)
                    minutes = int(time.time()) // 60 - first + 1
                    # The last of them is kept by another thread, and has the one before go.
                    newest, end = None, time.time() + 60
                    while newest != b"other 39\\n" and time.time() < end:
                        kept = json.loads(subprocess.check_output(["quire", "recover", "list", "--json", "doc"]))
                        id = str(max(version["id"] for version in kept))
                        newest = subprocess.run(["quire", "recover", "show", id], stdout=subprocess.PIPE).stdout
                    print(1 <= len(kept) <= minutes or len(kept), newest)
                    subprocess.run(["quire", "recover", "drop", "--all"], check=True, stdout=subprocess.DEVNULL)
                    """)
                #expect(printed == "True b'other 39\\n'")
            }
        }
    }
}
