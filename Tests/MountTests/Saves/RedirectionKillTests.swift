import TestSupport
import Testing

extension MountTests {
    /// What killing does to saves by redirection and in pipelines (rule 10): what ^C, a closed terminal or a full reader ends keeps
    /// what was written, as on a plain folder; what kills or crashes discards it.
    @Suite(.sharedMounts)
    struct RedirectionKillTests {
        /// Prints a line every 20 ms, without a buffer.
        static let lines = "perl -e '$| = 1; for (1 .. 500) { print \"line $_\\n\"; select undef, undef, undef, 0.02 }'"
        /// The same into the document, which it opens itself.
        static let ownFile =
            "perl -e 'open F, \">\", \"doc\"; select F; $| = 1; for (1 .. 500) { print \"line $_\\n\"; select undef, undef, undef, 0.02 }'"
        static let keepsWhatWasRedirected = ["TERM", "INT", "HUP", "PIPE"]
        static let discards = ["KILL", "SEGV", "ABRT", "BUS", "ILL", "QUIT", "USR1", "ALRM"]

        /// `written(process)`: how far a process has written the document, whose entry the kernel may have dropped.
        private static let written = """
            from waiting import eventually
            def written(process):
                folder = "/proc/%d/" % process
                try:
                    for number in os.listdir(folder + "fd"):
                        if os.readlink(folder + "fd/" + number).removesuffix(" (deleted)").endswith("/doc"):
                            return int(open(folder + "fdinfo/" + number).readline().split()[1])
                except OSError: pass
                return 0
            """

        /// Starts each command, kills it when it has written something, and prints the document's first line.
        private func program(_ commands: [(command: String, signal: String)]) -> String {
            let pairs = commands.map { "(\(String(reflecting: $0.command)), \"\($0.signal)\")" }.joined(separator: ", ")
            return """
            import os, resource, signal, subprocess, time
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            \(Self.written)
            for command, name in [\(pairs)]:
                open("doc", "w").write("old\\n")
                process = subprocess.Popen(["bash", "-c", command])
                eventually(lambda: written(process.pid) > 0)
                os.kill(process.pid, getattr(signal, "SIG" + name)); process.wait()
                content = open("doc").read()
                lines = content.splitlines()
                whole = content == "old\\n" or lines == ["line %d" % (n + 1) for n in range(len(lines))]
                print(name, lines[0] if lines else "empty", "" if whole else repr(content))
            """
        }

        @Test(arguments: SaveMount.accounts)
        func aRedirectedProgramThatIsInterruptedKeepsWhatItWrote(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                let commands = Self.keepsWhatWasRedirected.map { (command: "exec \(Self.lines) >doc", signal: $0) }
                let expected = Self.keepsWhatWasRedirected.map { "\($0) line 1 " }.joined(separator: "\n")
                #expect(try mount.python(program(commands)) == expected)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aRedirectedProgramThatIsKilledOrCrashesDoesNot(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                let commands = Self.discards.map { (command: "exec \(Self.lines) >doc", signal: $0) }
                #expect(try mount.python(program(commands)) == Self.discards.map { "\($0) old " }.joined(separator: "\n"))
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aProgramThatOpenedTheDocumentItselfKeepsTheOldVersion(kind: SaveMount) throws {
            let signals = ["TERM", "INT", "HUP"] + Self.discards
            try withSharedMount(kind) { (mount: Mount) throws in
                let commands = (signals + ["PIPE"]).map { (command: "exec " + Self.ownFile, signal: $0) }
                let expected = signals.map { "\($0) old " } + ["PIPE line 1 "]
                #expect(try mount.python(program(commands)) == expected.joined(separator: "\n"))
            }
        }

        @Test(arguments: SaveMount.accounts)
        func vmstatKeepsItsLinesWhenItIsInterrupted(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                for signal in ["TERM", "INT"] {
                    #expect(try mount.python("""
                        import os, signal, subprocess, time
                        \(Self.written)
                        with open("doc", "w") as file: file.write("old\\n")
                        process = subprocess.Popen(["bash", "-c", "vmstat 1 >doc; true"], start_new_session=True)
                        # Two lines of headings and a line of figures.
                        children = lambda: open("/proc/%d/task/%d/children" % (process.pid, process.pid)).read().split()
                        eventually(lambda: any(written(int(child)) > 200 for child in children()))
                        os.killpg(process.pid, signal.SIG\(signal)); process.wait()
                        # vmstat is the shell's child, and may end after it.
                        for attempt in range(3000):
                            lines = open("doc").read().splitlines()
                            if lines != ["old"]: break
                            time.sleep(0.02)
                        print(lines[0].split()[0], len(lines) >= 3)
                        """) == "procs True", "\(signal)")
                }
            }
        }

        @Test(arguments: SaveMount.accounts)
        func teeKeepsWhatItWroteWhenItsReaderHasEnough(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    set +o pipefail; python3 -u -c 'while True: print("new" * 1000)' 2>/dev/null | tee doc | head -1 | wc -c
                    head -c 3 doc
                    """) == "3001\nnew")
            }
        }

        /// The last process of a redirection decides: the others went on without the dead one.
        @Test(arguments: SaveMount.accounts)
        func aShellGoesOnAfterOneOfItsProgramsWasKilled(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell("""
                    { bash -c 'echo begun; kill -9 $$' || true; echo after; } >doc
                    """)
                #expect(try mount.shell("cat doc") == "begun\nafter")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aKilledShellDiscardsWhatItsProgramsWrote(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell("bash -c '{ /bin/echo begun; kill -9 $$; } >doc' || true")
                #expect(try mount.shell("cat doc") == "old")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aFailingProgramIsNotAKilledOne(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    sh -c 'echo partial; exit 3' >doc || echo $?; cat doc; sh -c 'exit 1' >doc || cat doc | wc -c
                    """) == "3\npartial\n0")
            }
        }

        /// A program that was started with the descriptor may end after the one that was killed.
        @Test(arguments: SaveMount.accounts)
        func aProgramThatInheritedTheDescriptorAndWroteIsPartOfTheSave(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, signal, subprocess
                    saver = os.fork()
                    if saver == 0:
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"first\\n")
                        subprocess.run(["bash", "-c", "echo second; kill -9 $$"], stdout=file)
                        os.write(file, b"third\\n"); os._exit(0)
                    os.waitpid(saver, 0); print(open("doc").read(), end="")
                    """) == "first\nsecond\nthird")
            }
        }
    }
}
