import ArgumentParser
import MountProtocol
import StorePrimitives

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what is mounted and how it is doing.",
        discussion: """
            Shows every Quire mount, or the one that PATH is in. With --json: an array of mounts, or with PATH one \
            object. Keys: state (serving, dead, unreachable), mountpoint, store, and while serving pid, version, mode \
            (inPlace, beside), system, readOnly, passthrough, passthroughReason, gather {state, documents, \
            folders}, openSaves [{path, pid, process, state, age, idle, \
            bytes}], openWriters [{path, pid, process, reason, explanation}], counters, relays, thumbnailTrouble, deaths [{time, reason}], \
            shares [{resource, used, limit, usedByAll, limitOfAll, answer, reason}], coordination {claims [{id, state, \
            paths, writing, pid, process, uid, purpose, age, behind, unpublished}], waitingOpens, presenters [{path, contents, \
            pid, process, uid, unsaved, silent}], presenterCount, locks [{path, kind, exclusive, start, end, pid, waits}]}.

            Examples:
              quire status
              quire status ~/Documents --json

            Exit codes: 0 shown; 1 PATH is in no Quire mount, or the mount that was asked for does not serve; 64 the \
            command line is wrong.
            """)

    @Argument(help: "Any path in a mount.")
    var path: PathArgument?

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        guard let path else {
            let reports = MountReport.reports(of: MountTable.current().quireMounts)
            if json { return Output.json(reports) }
            if reports.isEmpty { Output.line("No Quire mounts.") }
            return Output.lines(reports.map(\.text).joined(separator: "\n\n"))
        }
        let report = MountReport(of: try MountLocator.mount(holding: path.bytes))
        if json { Output.json(report) } else { Output.lines(report.text) }
        if report.status == nil { throw ExitCode.failure }
    }
}
