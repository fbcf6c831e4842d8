import ArgumentParser
import FoundationEssentials
import Glibc
import MountClient
import MountProtocol

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show what happens to documents, as it happens.",
        discussion: """
            Shows the changes of a document, of a folder with all that is in it, or of the whole mount of the working \
            directory: who did what, until interrupted or until the mount ends. Root and who mounted it see everything; others \
            what happens in folders that they may list. Kinds: appeared, changed, moved, deleted, attributesChanged (tags, \
            dates, mode, owner), saveAborted, versionGained and versionLost (a recoverable version of a document of yours more, or less).

            With --json each line is an object with seq, kind, id, path, oldPath, generation, time (seconds since 1970), \
            pid, uid and process; keys without a value are left out. A line with overflow: true says that events were \
            missed, and everything is to be looked at again.

            Examples:
              quire watch ~/Documents
              quire watch --json --kind changed | jq -r .path
              quire watch --since 1764000000000000 ~/Documents/report.odt

            Exit codes: 0 interrupted, or the reader of the output has gone; 1 failed, or the mount ended; 64 the command \
            line is wrong.
            """)

    @Argument(help: "A document or folder in a mount (the whole mount of the working directory).")
    var path: PathArgument?

    @Flag(help: "Write JSON, one object a line.") var json = false
    @Option(help: "Start after the event of this number, if it is still known.") var since: UInt64?
    @Option(name: .customLong("kind"), help: "Show only events of this kind; may be given again.") var kinds: [String] = []

    private static let knownKinds = [
        "appeared", "changed", "moved", "deleted", "attributesChanged", "versionGained", "versionLost", "saveAborted",
    ]

    func validate() throws {
        if let wrong = kinds.first(where: { !Self.knownKinds.contains($0) }) {
            throw ValidationError("there is no kind '\(wrong)'; kinds are \(Self.knownKinds.joined(separator: ", ")).")
        }
    }

    func run() throws {
        let (mount, place) = try MountLocator.mount(meant: nil, orHoldingFuture: path)
        let request = WatchRequest(
            path: place.map { DocumentPath($0) }, since: since, kinds: kinds.isEmpty ? nil : kinds)
        var status = stat()
        if let path, let place, withCString(place, { lstat($0, &status) }) != 0 {
            Output.error("\(path.description): nothing is there yet; showing what happens there from now on")
        }
        // The end of the reader of a pipe is the end of this.
        signal(SIGPIPE) { _ in _exit(0) }
        signal(SIGINT) { _ in _exit(0) }
        signal(SIGTERM) { _ in _exit(0) }
        let json = json
        try MountLocator.ask(mount) { (service) throws(ServiceCallError) in
            try service.stream(EventInterface.watch, request) { (found) throws(ServiceCallError) in
                if found.overflow { Output.line(json ? #"{"overflow":true}"# : "(some events were missed)") }
                for event in found.events {
                    if json { Output.exact(Self.line(event)) } else { Output.line(Self.text(event)) }
                }
                return true
            }
        }
    }

    private static func line(_ event: WatchedEvent) -> [UInt8] {
        guard let text = try? JSONText.encode(event) else { preconditionFailure("not JSON: \(event)") }
        return text + [0x0a]
    }

    /// `14:05:07 changed  /docs/report.odt  (vim, pid 4711)`
    private static func text(_ event: WatchedEvent) -> String {
        var time = time_t(clamping: event.time)
        var parts = tm()
        localtime_r(&time, &parts)
        var clock = [CChar](repeating: 0, count: 16)
        strftime(&clock, clock.count, "%H:%M:%S", &parts)
        let kind = event.kind == "attributesChanged" ? "attributes" : event.kind
        let start = clock.withUnsafeBufferPointer { String(cString: $0.baseAddress!) } + " "
            + kind.padding(toLength: max(11, kind.count), withPad: " ", startingAt: 0) + " "
        let arrow = event.oldPath.map { shown($0) + " -> " } ?? ""
        let actor =
            if let process = event.process, let pid = event.pid {
                "  (\(shown(process)), pid \(pid))"
            } else {
                event.uid.map { "  (user \($0))" } ?? "  (outside)"
            }
        return start + arrow + shown(event.path) + actor
    }
}
