import SystemCalls

extension Table {
    func addProgramChecks() {
        family("programs") {
            check("a script runs") {
                try makeFile("script", "#!/bin/sh\necho \"hello $1\"\n", mode: 0o755)
                let result = try run("./script", ["world"])
                try expectEqual(result.output, "hello world\n", "output")
                try expectEqual(result.ending, .exited(0), "end")
            }
            check("a binary runs") {
                try copyProgram("/bin/echo", to: "program")
                let result = try run("./program", ["hello"])
                try expectEqual(result.output, "hello\n", "output")
            }
            check("a program that was just written runs, 20 times") {
                for round in 0..<20 {
                    try makeFile("script", "#!/bin/sh\necho \(round)\n", mode: 0o755)
                    try expectEqual(try run("./script").output, "\(round)\n", "output")
                    try unlink("script")
                }
            }
            check("a program that was replaced by rename runs anew") {
                try makeFile("script", "#!/bin/sh\necho old\n", mode: 0o755)
                try expectEqual(try run("./script").output, "old\n", "output")
                try makeFile("new", "#!/bin/sh\necho new\n", mode: 0o755)
                try rename("new", "script")
                try expectEqual(try run("./script").output, "new\n", "output")
            }
            check("a file without execute permission is EACCES") {
                try makeFile("script", "#!/bin/sh\n", mode: 0o644)
                try Child { _ in try expect(.permissionDenied) { try execute("./script", ["script"]) } }.finish()
            }
            check("a folder is EACCES") {
                try mkdir("d")
                try Child { _ in try expect(.permissionDenied) { try execute("./d", ["d"]) } }.finish()
            }
            check("what is no program is ENOEXEC") {
                try makeFile("text", "no program", mode: 0o755)
                try Child { _ in try expect(.execFormatError) { try execute("./text", ["text"]) } }.finish()
            }
            check("a script with a missing interpreter is ENOENT") {
                try makeFile("script", "#!/missing/interpreter\n", mode: 0o755)
                try Child { _ in try expect(.noSuchFileOrDirectory) { try execute("./script", ["script"]) } }.finish()
            }
            check("a program open for writing is ETXTBSY") {
                try copyProgram("/bin/true", to: "program")
                try withFile("program", O_WRONLY) { _ in
                    try Child { _ in try expect(.textFileBusy) { try execute("./program", ["program"]) } }.finish()
                }
                try expectEqual(try run("./program").ending, .exited(0), "end")
            }
            check("a program under way is unlinked and runs on") {
                try copyProgram("/bin/cat", to: "program")
                let cat = try RunningProgram("./program")
                try expectText(try cat.answer("one;"), "one;")
                try unlink("program")
                try expectText(try cat.answer("two;"), "two;")
                try expectEqual(try cat.end(), .exited(0), "end")
            }
            check("standard output redirected to a file is there when the program has ended") {
                for round in 0..<20 {
                    let result = try run("/bin/sh", ["-c", "echo line \(round) >> out; echo other > out2"])
                    try expectEqual(result.ending, .exited(0), "end")
                    try expectContent("out2", "other\n")
                }
                try expectContent("out", (0..<20).map { "line \($0)\n" }.joined())
            }
            check("a pipeline through files gives the same bytes") {
                try makePatternFile("f", 200_000)
                let result = try run("/bin/sh", ["-ec", "cat f > g; cat g | cat > h; cmp f h; cp h i; cmp f i"])
                try expectEqual(result.ending, .exited(0), "end")
                try expectTrue(try content("i") == pattern(200_000), "the same bytes")
            }
            check("cp -a, mv, ln and rm of a tree do what they say") {
                let script = """
                    set -e
                    mkdir -p a/b/c; echo x > a/b/c/f; ln -s c a/b/l; ln a/b/c/f a/hard
                    chmod 750 a/b; touch -d @12345 a/b/c/f
                    cp -a a z
                    test "$(cat z/b/l/f)" = x
                    test "$(stat -c %a z/b)" = 750
                    test "$(stat -c %Y z/b/c/f)" = 12345
                    test "$(stat -c %i z/hard)" = "$(stat -c %i z/b/c/f)"
                    mv z y; rm -r a
                    test "$(find y | wc -l)" = 6
                    rm -r y
                    """
                try expectEqual(try run("/bin/sh", ["-c", script]).ending, .exited(0), "end")
                try expectEqual(try names(in: "."), [])
            }
            rootCheck("a setuid program runs as its owner") {
                if Int32(truncatingIfNeeded: try statfs(".").flags) & ST_NOSUID != 0 { throw Skipped(reason: "nosuid") }
                try copyProgram("/usr/bin/id", to: "program")
                try chown("program", Int(Identity.bob.uid), Int(Identity.bob.gid))
                try chmod("program", 0o6755)
                try asUser(.alice) {
                    try expectEqual(try run("./program", ["-u"]).output, "\(Identity.bob.uid)\n", "effective user")
                    try expectEqual(try run("./program", ["-g"]).output, "\(Identity.bob.gid)\n", "effective group")
                }
            }
            rootCheck("execute permission is looked at for each class") {
                try makeFile("script", "#!/bin/sh\nexit 0\n", mode: 0o744, owner: .alice)
                try chmod("script", 0o755)
                try asUser(.alice) { try expectEqual(try run("./script").ending, .exited(0), "end") }
                try chmod("script", 0o744)
                try asUser(.bob) { try expect(.permissionDenied) { try execute("./script", ["script"]) } }
            }
        }
    }
}
