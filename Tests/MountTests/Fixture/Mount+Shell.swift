import SystemPackage
import TestSupport
import Testing

extension Mount {
    /// Runs a bash script that ends at the first failing command, with the assertions of Tests/Programs/prelude.sh. Its errors are those of its
    /// commands alone.
    ///
    /// - Parameters:
    ///   - place: the working directory; the mount by default. $M is the mount point, $S the store, $T a folder outside of both.
    ///   - user: runs it as another than the one who mounted.
    func attempt(
        _ script: String, in place: String? = nil, as user: UInt32? = nil, limit: Duration = .seconds(120)
    ) throws -> ProgramResult {
        try run("trap - ERR; " + script, in: place, as: user, limit: limit)
    }

    /// The script begins on the first line, so that what is said of a line is of the script's.
    private func run(_ script: String, in place: String?, as user: UInt32?, limit: Duration) throws -> ProgramResult {
        let words = ["-c", ". \"$PRELUDE\"; cd \"$0\"; " + script, place ?? path]
        return LastProgram.ended(
            script, try runProgram("bash", words, environment: environment, limit: limit, user: user ?? account.uid))
    }

    /// Runs a script that must succeed; the issue names the line that failed. What it printed, without the last newline.
    @discardableResult
    func shell(
        _ script: String, in place: String? = nil, as user: UInt32? = nil, limit: Duration = .seconds(120),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try run(script, in: place, as: user, limit: limit)
        if result.status != 0 {
            let ending = result.timedOut ? "did not end in \(limit)" : "ended with \(result.status)"
            Issue.record("script \(ending): \(result.errors)\(result.output.suffix(2000))", sourceLocation: sourceLocation)
        }
        return result.output.hasSuffix("\n") ? String(result.output.dropLast()) : result.output
    }

    /// Runs a script that must fail, with this text among its errors.
    func refuses(
        _ script: String, _ message: String, as user: UInt32? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let result = try attempt(script, as: user)
        #expect(result.status != 0, "succeeded: \(script)", sourceLocation: sourceLocation)
        #expect(!result.timedOut, sourceLocation: sourceLocation)
        #expect(result.errors.contains(message), sourceLocation: sourceLocation)
    }

    /// Runs a Python program that must succeed. What it printed, without the last newline.
    @discardableResult
    func python(
        _ program: String, in place: String? = nil, as user: UInt32? = nil, limit: Duration = .seconds(120),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        try shell(
            "python3 - <<'END_OF_PROGRAM'\n" + program + "\nEND_OF_PROGRAM", in: place, as: user, limit: limit,
            sourceLocation: sourceLocation)
    }

    /// The names in a virtual folder, in the order of readdir.
    func names(in folder: String, as user: UInt32? = nil) throws -> [String] {
        try attempt("ls -U \(folder)", as: user).output.split(separator: "\n").map(String.init)
    }

    /// The value of the attribute that holds a document's tags; empty if it has none. A path in the mount, or an absolute one.
    func tags(of document: String) throws -> String {
        try attempt("getfattr --only-values -n user.xdg.tags '\(document)' 2>/dev/null || true").output
    }

    /// Waits until the names in a virtual folder are exactly these, in this order.
    func expectNames(
        _ expected: [String], in folder: String, as user: UInt32? = nil, within limit: Duration = .seconds(180),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let end = ContinuousClock.now + limit
        var found = try names(in: folder, as: user)
        while found != expected, ContinuousClock.now < end { found = try names(in: folder, as: user) }
        #expect(found == expected, sourceLocation: sourceLocation)
    }

    /// Waits until the daemon has read the whole store once.
    func scanned(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try eventually(within: .seconds(180), sourceLocation: sourceLocation) {
            try quire("status", "--json", path).output.contains("\"state\" : \"done\"")
        }
    }
}
