import ArgumentParser
import CLinux
import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import SystemPackage

struct CoordinateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinate",
        abstract: "Run a command that has documents to itself.",
        discussion: """
            Claims documents, or folders with all that is in them, and runs COMMAND while it holds them. Who has them open \
            for writing is waited for, programs that show them save first, and other programs that open what is claimed \
            with --write for writing wait until COMMAND has ended, some seconds at most. Nobody waits for a reader: COMMAND \
            finds what is claimed with --read, as it was when COMMAND began, at the paths in QUIRE_SNAPSHOT_1, QUIRE_SNAPSHOT_2 \
            and so on, in the order of the --read options; QUIRE_SNAPSHOT is the first. What COMMAND saves of what is claimed \
            with --write appears all at once when it has succeeded; when it fails, everything is as before; when it is killed \
            too, and 'quire recover' has what it had saved.

            Options, for the items of their kind: immediately, withoutChanges, live (reading); merging (the default: programs \
            that show them save first), replacing, moving, deleting (writing); metadataOnly.

            Examples:
              quire coordinate --write report.odt -- soffice --headless --convert-to odt report.docx
              quire coordinate --read Accounts --timeout 60 -- sh -c 'tar -czf accounts.tar.gz -C "$QUIRE_SNAPSHOT" .'

            Exit codes: COMMAND's, or 128 and the number of the signal that ended it; 75 not claimed in time, the message \
            says who is in the way; 1 failed; 64 the command line is wrong; 126 COMMAND cannot be run; 127 there is no such \
            command.
            """)

    @Option(name: .customLong("read"), help: "A document or folder to be read; may be given again.")
    var reads: [PathArgument] = []
    @Option(name: .customLong("write"), help: "A document or folder to be written; may be given again.")
    var writes: [PathArgument] = []
    @Option(name: .customLong("option"), help: "How it is to be read or written; may be given again.")
    var options: [String] = []
    @Option(help: "How many seconds to wait (10, or what the mount's coordination-timeout says).") var timeout: Double?
    @Argument(parsing: .postTerminator, help: "The command, after --.") var command: [String] = []

    private static let readingOptions: Set<String> = ["immediately", "withoutChanges", "metadataOnly", "live"]
    private static let writingOptions: Set<String> = ["merging", "replacing", "moving", "deleting", "metadataOnly"]
    /// The command may read what it writes: programs that show it save first.
    private static let usualWriting = ["merging"]

    func validate() throws {
        if command.isEmpty { throw ValidationError("name the command to run, after '--'.") }
        if reads.isEmpty, writes.isEmpty { throw ValidationError("name what to claim with --read or --write.") }
        let known = Self.readingOptions.union(Self.writingOptions)
        if let wrong = options.first(where: { !known.contains($0) }) {
            throw ValidationError("there is no option '\(wrong)'; options are \(known.sorted().joined(separator: ", ")).")
        }
        for option in options {
            guard !writes.isEmpty || Self.readingOptions.contains(option), !reads.isEmpty || Self.writingOptions.contains(option) else {
                throw ValidationError("option '\(option)' is for \(writes.isEmpty ? "--write" : "--read") items, and there is none.")
            }
        }
        if let timeout, !(timeout >= 0 && timeout <= 86_400) {
            throw ValidationError("--timeout takes seconds, from 0 to 86400.")
        }
    }

    func run() throws {
        let (mount, intents) = try self.intents()
        let (connection, claim) = try claimed(intents, in: mount)
        let status = try execute(with: claim.snapshots.compactMap(\.self))
        do {
            // A shell says by such a status that what it ran was killed.
            try connection.call(
                CoordinationInterface.release, .init(claim, discards: status != 0, keeps: status > Self.killed))
        } catch {
            throw CommandFailure(error, mountPoint: mount.mountPoint)
        }
        if status != 0 { Glibc.exit(status) }
    }

    private func claimed(
        _ intents: [ClaimCall.Intent], in mount: MountTable.Entry
    ) throws(CommandFailure) -> (ServiceConnection, GrantedClaim) {
        do throws(ServiceCallError) {
            let connection = try MountLocator.connect(to: mount)
            let request = ClaimCall(intents: intents, timeout: timeout)
            return (connection, try connection.call(CoordinationInterface.claim, request, timeout: request.longestWait))
        } catch {
            let failure = CommandFailure(error, mountPoint: mount.mountPoint)
            guard case .refused(let reason) = error, reason.isClaimTimeout else { throw failure }
            throw CommandFailure(failure.message, exitCode: EX_TEMPFAIL)
        }
    }

    /// What is claimed, all of it in one mount.
    private func intents() throws(CommandFailure) -> (MountTable.Entry, [ClaimCall.Intent]) {
        var mount: MountTable.Entry?
        var intents: [ClaimCall.Intent] = []
        for (paths, access, known) in [
            (reads, ClaimCall.Intent.Access.reading, Self.readingOptions), (writes, .writing, Self.writingOptions),
        ] {
            for path in paths {
                let (entry, place) = try MountLocator.mount(meant: nil, orHoldingFuture: path)
                if let mount, mount.mountPoint != entry.mountPoint {
                    throw CommandFailure(
                        "\(path.description): is in another mount than \(shown(mount.mountPoint)); claim what is in one mount at a time")
                }
                mount = entry
                var wanted = options.filter(known.contains)
                if access == .writing {
                    if wanted.isEmpty { wanted = Self.usualWriting }
                    if !wanted.contains("metadataOnly") { wanted.append("contents") }
                }
                intents.append(
                    .init(path: DocumentPath(place ?? entry.mountPoint), access: access, options: wanted.isEmpty ? nil : wanted))
            }
        }
        guard let mount else { preconditionFailure("validated: there is something to claim") }
        return (mount, intents)
    }

    /// 128 and the number of the signal.
    private static let killed: Int32 = 128

    /// The environment of the command: without the snapshots of a claim that this one is made within.
    private static func environment(with snapshots: [DocumentPath]) -> [[UInt8]] {
        func setting(_ name: String, _ path: DocumentPath) -> [UInt8] { Array("\(name)=".utf8) + path.bytes }
        let numbered = snapshots.enumerated().map { setting("QUIRE_SNAPSHOT_\($0 + 1)", $1) }
        return ChildProcess.inherited.filter { !$0.starts(with: "QUIRE_SNAPSHOT".utf8) }
            + snapshots.prefix(1).map { setting("QUIRE_SNAPSHOT", $0) } + numbered
    }

    /// Runs the command to its end, and passes on what asks this process to end.
    private func execute(with snapshots: [DocumentPath]) throws(CommandFailure) -> Int32 {
        // So who waits for the claim is told what it waits for.
        let name = command[0].split(separator: "/").last ?? "command"
        _ = cl_set_thread_name("quire \(name)")
        // ^C goes to the command too: it decides what becomes of the claim.
        for number in [SIGINT, SIGQUIT] { signal(number, SIG_IGN) }
        do throws(Errno) {
            // Without the claim it is not to go on.
            let child = try ChildProcess.spawnBound(
                command[0], PathArgument.rawArguments.suffix(command.count - 1), environment: Self.environment(with: snapshots))
            commandPID = child
            for number in [SIGTERM, SIGHUP] { signal(number) { kill(commandPID, $0) } }
            return try ChildProcess.wait(for: child)
        } catch {
            let code: Int32 = error == .noSuchFileOrDirectory ? 127 : 126
            throw CommandFailure("\(command[0]): cannot be run: \(error)", exitCode: code)
        }
    }
}

/// For the signal handlers, which take no context. Set once, before they are.
nonisolated(unsafe) private var commandPID: pid_t = 0
