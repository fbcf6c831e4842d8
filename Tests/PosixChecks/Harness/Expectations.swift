import SystemCalls

/// What was not as it should be.
struct Mismatch: Error {
    let text: String

    init(expected: String, got: String, _ what: String = "", line: Int) {
        text = "expected \(what.isEmpty ? "" : what + " ")\(expected), got \(got) (line \(line))"
    }
    init(text: String) { self.text = text }
}

/// The file system does not offer what the check is about.
struct Skipped: Error { let reason: String }

/// The call in `body` fails with exactly this errno.
func expect<Result>(_ errno: Errno, line: Int = #line, _ body: () throws -> Result) throws {
    do {
        _ = try body()
    } catch let error as Errno {
        if error == errno { return }
        throw Mismatch(expected: errno.symbol, got: error.symbol, "\(lastFailure):", line: line)
    }
    throw Mismatch(expected: errno.symbol, got: "success", line: line)
}

/// The call in `body` fails with one of these: POSIX leaves the choice to the file system.
func expect<Result>(oneOf errnos: [Errno], line: Int = #line, _ body: () throws -> Result) throws {
    do {
        _ = try body()
    } catch let error as Errno {
        if errnos.contains(error) { return }
        throw Mismatch(
            expected: errnos.map(\.symbol).joined(separator: " or "), got: error.symbol, "\(lastFailure):", line: line)
    }
    throw Mismatch(expected: errnos.map(\.symbol).joined(separator: " or "), got: "success", line: line)
}

func expectEqual<Value: Equatable>(_ got: Value, _ expected: Value, _ what: String = "", line: Int = #line) throws {
    if got != expected { throw Mismatch(expected: "\(expected)", got: "\(got)", what, line: line) }
}
/// Bytes shown as text.
func expectText(_ got: [UInt8], _ expected: String, _ what: String = "", line: Int = #line) throws {
    try expectEqual(String(decoding: got, as: UTF8.self), expected, what, line: line)
}
/// Permission bits, shown in octal.
func expectMode(_ got: UInt32, _ expected: UInt32, _ what: String = "mode", line: Int = #line) throws {
    if got != expected {
        throw Mismatch(expected: String(expected, radix: 8), got: String(got, radix: 8), what, line: line)
    }
}
func expectTrue(_ condition: Bool, _ what: String, line: Int = #line) throws {
    if !condition { throw Mismatch(expected: what, got: "the contrary", line: line) }
}
/// Nothing has this name, not even a dangling link.
func expectGone(_ path: String, line: Int = #line) throws {
    try expect(.noSuchFileOrDirectory, line: line) { try lstat(path) }
}
func expectContent(_ path: String, _ expected: String, line: Int = #line) throws {
    try expectText(try content(path), expected, "content of \(path)", line: line)
}

/// Skips the check unless `body` works; an errno among `unsupported` says that the file system does not offer it.
@discardableResult
func orSkip<Result>(
    _ reason: String, _ unsupported: [Errno] = [.notSupportedOnSocket, .noFunction, .inappropriateIOCTLForDevice],
    _ body: () throws -> Result
) throws -> Result {
    do {
        return try body()
    } catch let error as Errno where unsupported.contains(error) {
        throw Skipped(reason: "\(reason): \(error.symbol)")
    }
}

/// Records what the file system answers where more than one answer is right. Printed as a `value` line: two runs on two file
/// systems are compared by their lines.
func value(_ name: String, _ text: String) { report(.value, "\(name): \(text)") }
/// Records the errno, or what `body` gives.
func probe<Result>(_ name: String, _ body: () throws -> Result) {
    do {
        let result = try body()
        value(name, result is Void ? "works" : "\(result)")
    } catch let error as Errno {
        value(name, error.symbol)
    } catch {
        value(name, "\(error)")
    }
}

/// Waits until `condition` holds, at most ten seconds.
func eventually(line: Int = #line, _ condition: () throws -> Bool) throws {
    for _ in 0..<1000 {
        if try condition() { return }
        sleep(milliseconds: 10)
    }
    throw Mismatch(expected: "the condition within 10 s", got: "none", line: line)
}
