import ArgumentParser

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check whether this machine can mount, and say what to do if not.",
        discussion: """
            Changes nothing. Run it as the user who is to mount. With --json: an array of objects with name, result \
            (ok, advice, missing), finding and remedy.

            Examples:
              quire doctor
              quire doctor ~/Documents

            Exit codes: 0 everything essential is there; 1 something essential is missing; 64 the command line is wrong.
            """)

    @Argument(help: "A folder that is to be mounted; the working directory if left out.")
    var folder: PathArgument?

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let checks = SystemChecks.all(folder: folder?.bytes ?? Array(".".utf8))
        if json {
            Output.json(checks)
        } else {
            for check in checks {
                Output.line("\(check.result.mark) \(check.name): \(check.finding)")
                if let remedy = check.remedy { Output.line("          \(remedy)") }
            }
        }
        if checks.contains(where: { $0.result == .missing }) { throw ExitCode.failure }
    }
}
