import TestSupport
import Testing

/// What the shell tests rest on: a script ends where something is wrong, and says where and what.
struct ShellPreludeTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func run(_ script: String) throws -> ProgramResult {
        try runProgram(
            "bash", ["-c", ". \"$PRELUDE\"; " + script],
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C", "PRELUDE": Products.folder + "/programs/prelude.sh", "F": folder.path(".")])
    }

    @Test(arguments: [
        ("true\nfalse\necho on", "line 2: status 1: false"),
        ("true\n[ 1 = 2 ]\necho on", "line 2: status 1: [ 1 = 2 ]"),
        ("false | true; echo on", "line 1: status 1: true"),
        ("x=$(false; echo y); echo on", "line 1: status 1: false\nline 1: status 1: x=$(false; echo y)"),
        ("(cd /;\nfalse) 2>/dev/null; echo on", "line 2: status 1: false\nline 2: status 1: ( cd /; false ) 2> /dev/null"),
        ("\nexpect_status 3 sh -c 'exit 4'; echo on", "line 2: expected status 3, got 4: sh -c 'exit 4'"),
        ("f() { return 5; }\nexpect_status 6 f; echo on", "line 2: expected status 6, got 5: f"),
        // A function, too, ends at its first failing command.
        ("f() {\nfalse\ntrue; }\nexpect_status 0 f; echo on", "line 4: expected status 0, got 1: f"),
        ("expect_fails true; echo on", "line 1: expected to fail, succeeded: true"),
        ("expect_equal a 'b c'; echo on", "line 1: expected 'b c', got a"),
        ("f() {\nexpect_equal a b\n}\nf; echo on", "line 4, 2: expected b, got a"),
        // Where `set -e` passes over a failure.
        ("expect_equal a b && true; echo on", "line 1: expected b, got a"),
        ("! expect_equal a b; echo on", "line 1: expected b, got a"),
        ("if ! expect_fails true; then :; fi; echo on", "line 1: expected to fail, succeeded: true"),
        ("expect_equal a b 2>/dev/null || true; echo on", "line 1: expected b, got a"),
        // Sixteen minutes later.
        ("eventually 'SECONDS=1000; false'; echo on",
            "line 1: not within three minutes: SECONDS=1000; false\n++ eval 'SECONDS=1000; false'\n+++ SECONDS=1000\n+++ false"),
    ])
    func whatFailsEndsTheScriptAndSaysWhereAndWhat(script: String, errors: String) throws {
        let ended = try run(script)
        #expect(ended.status == 1)
        #expect(ended.output == "")
        #expect(ended.errors == errors + "\n")
    }

    @Test func aProcessThatFailedIsNamed() throws {
        let ended = try run("true & one=$!\nfalse & other=$!\necho $other\nexpect_ended $one $other; echo on")
        #expect(ended.status == 1)
        #expect(ended.errors == "line 4: process \(ended.output.dropLast()) ended with 1\n")
    }

    @Test(arguments: [
        "expect_status 4 sh -c 'exit 4'", "expect_status 0 true", "expect_fails false", "f() { return 5; }; expect_status 5 f",
        "expect_equal 'a b' 'a b'", "true & expect_ended $!", "[ 1 = 1 ]", "if false; then :; fi", "false || true",
        "(sleep 0.1; touch $F/made) & eventually [ -e $F/made ]; wait",
        "watching $F/heard $F; touch $F/new; eventually grep -q new $F/heard; kill $watcher",
    ])
    func whatHoldsLetsItGoOn(script: String) throws {
        let ended = try run(script + "; echo on")
        #expect(ended.status == 0)
        #expect(ended.output == "on\n")
        #expect(ended.errors == "")
    }
}

/// `Tests/assertions`: assertions that cannot fail are found, wherever they stand.
struct AssertionsTests {
    private func checked(_ script: String) throws -> ProgramResult {
        let folder = try TemporaryFolder()
        let program = Package.repository(of: #filePath) + "/Tests/assertions"
        let text = "func test() {\n    run(#\"\"\"\n" + script.split(separator: "\n").map { "        \($0)\n" }.joined() + "        \"\"\"#)\n}\n"
        return try runProgram(program, [folder.makeFile("Sample.swift", text)])
    }

    @Test(arguments: [
        ("true\n! grep -q x f", 2, "! grep -q x f", "set -e passes over what follows !"),
        ("[ -e f ] && cat f\ntrue", 1, "[ -e f ] && cat f", "set -e passes over what is left of &&"),
        ("[ -e f ] || true; true", 1, "[ -e f ] || true", "cannot fail"),
        ("! [ -e f ] || exit 1; true", 1, "! [ -e f ] || exit 1", "says nothing when it fails"),
        ("while true; do\n[ -e f ] && break; done", 2, "[ -e f ] && break", "the loop may end without it"),
        ("true & one=$!; true & wait $one $!", 1, "wait $one $!", "wait answers for its last operand alone"),
        ("f() { local a=$(cat f); }\nf", 1, "local a=$(cat f)", "the status of what is substituted is lost"),
        ("sh -c '[ -e f ]; echo on'\ntrue", 1, "[ -e f ]", "only the last command of a shell without -e counts"),
        ("quire coordinate --write f -- sh -ec '! [ -e f ]; echo on'\ntrue", 1, "! [ -e f ]", "set -e passes over what follows !"),
        ("(cd d\ngrep -q x f && true\ntrue)", 2, "grep -q x f && true", "set -e passes over what is left of &&"),
    ])
    func whatCannotFailIsRefused(script: String, line: Int, code: String, reason: String) throws {
        let ended = try checked(script)
        #expect(ended.status == 1)
        // The script begins on the file's third line.
        #expect(ended.output.contains("Sample.swift:\(line + 2): \(code)"), "\(ended)")
        #expect(ended.output.contains("\n    \(reason)"), "\(ended)")
    }

    @Test(arguments: [
        "true; [ -e f ]; grep -q x f", "expect_fails grep -q x f; true", "if [ -e f ]; then cat f; fi\ntrue",
        "eventually [ -e f ]; expect_ended $one $!", "sh -ec '[ -e f ]; echo on'; true", "f() { local a; a=$(cat f); }\nf",
    ])
    func whatCanFailIsLet(script: String) throws {
        let ended = try checked(script)
        #expect(ended.status == 0, "\(ended)")
    }
}

private enum Package {
    /// The package's folder, four levels above this file.
    static func repository(of file: String) -> String { file.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 } }
}
