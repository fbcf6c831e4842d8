import SystemCalls

/// Runs the table inside a folder and prints TAP.
struct Runner {
    let checks: [Check]
    /// The open folder made for the run.
    let folder: Int32
    /// How long one check may take before it is killed, in seconds.
    let limit: Int

    /// Prints the plan and a line for each check. How many failed.
    func run() throws -> Int {
        line("1..\(checks.count)")
        var failures = 0
        for (index, check) in checks.enumerated() {
            let title = "\(index + 1) - \(check.title)"
            do {
                try run(check)
                line("ok \(title)")
            } catch let skipped as Skipped {
                line("ok \(title) # SKIP \(skipped.reason)")
            } catch let mismatch as Mismatch {
                failures += 1
                line("not ok \(title): \(mismatch.text)")
            }
        }
        line("# \(checks.count) checks, \(failures) failed")
        return failures
    }

    /// Runs one check in a process and an empty folder of its own, and removes the folder.
    private func run(_ check: Check) throws {
        try fchdir(folder)
        removeTree(Array("check".utf8))
        try makeFolder("check")
        let (reports, reportsWrite) = try pipe()
        defer { try? close(reports) }
        let process = Int32(try done(sc_fork(), name: "fork"))
        if process == 0 {
            try? close(reports)
            runAndExit(reportingTo: reportsWrite, as: nil) {
                try call(SYS_setpgid, 0, 0)
                try chdir("check")
                umask(0o022)
                try check.body()
            }
        }
        try close(reportsWrite)
        defer { removeTree(Array("check".utf8)) }

        let inTime = try finishes(process, within: limit * 1000)
        if !inTime {
            // The whole group: a check may have children that wait for each other.
            try? kill(-process, SIGKILL)
            try? kill(process, SIGKILL)
        }
        let ending = try wait(for: process)!
        try? kill(-process, SIGKILL)
        let messages = try drain(reports)
        for case (.value, let text) in messages { line("value \(check.family) \(text)") }
        for (kind, text) in messages {
            if kind == .skipped { throw Skipped(reason: text) }
            if kind == .mismatch { throw Mismatch(text: text) }
        }
        if !inTime { throw Mismatch(text: "expected an end, got none in \(limit) s") }
        if ending != .exited(0) { throw Mismatch(text: "expected a normal end, got \(ending)") }
    }

    private func finishes(_ process: Int32, within milliseconds: Int) throws -> Bool {
        let descriptor = Int32(try call(SYS_pidfd_open, process, 0, name: "pidfd_open"))
        defer { try? close(descriptor) }
        return try readable(descriptor, within: milliseconds)
    }
}

/// One line on standard output, written at once: what a killed run printed is complete.
func line(_ text: String) { _ = try? retrying { () throws(Errno) in try write(1, text + "\n") } }
