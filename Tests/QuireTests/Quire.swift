import TestSupport

/// Runs the built command, beside the test program, to its end.
func runQuire(_ arguments: String..., environment: [String: String] = [:]) throws -> ProgramResult {
    try runQuire(arguments, environment: environment)
}

func runQuire(_ arguments: [String], environment: [String: String] = [:]) throws -> ProgramResult {
    try runProgram(builtProduct("quire"), arguments, environment: environment)
}

/// A folder of a test's own, removed at the end.
func withFolder(_ body: (TemporaryFolder) throws -> Void) throws {
    let folder = try TemporaryFolder()
    try withExtendedLifetime(folder) { try body(folder) }
}
