import ArgumentParser
import Glibc
import MountClient
import MountProtocol
import StorePrimitives

struct GrantCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Give a confined program one document or folder, and nothing else.",
        discussion: """
            Prints a path in the mount's unlisted folder .scopes, at which the document or the folder is, alone. Bind the path of a folder, or \
            the folder that a document's path is in, into a sandbox or a container. Saves, claims and locks are those of the document itself.

            The path works for you and root alone, and nobody can guess it. It holds until 'quire revoke', the end of the mount, or for as \
            long as --for says.

            Examples:
              place=$(quire grant ~/Documents/Projects)
              bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib64 /lib64 --bind "$place" /work --chdir /work bash
              quire grant --read-only --for 8h ~/Documents/report.pdf

            Exit codes: 0 granted; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "A document or folder in a mount.") var path: PathArgument
    @Flag(help: "Nothing can be changed by that path.") var readOnly = false
    @Option(name: .customLong("for"), help: "How long it holds: a number with s, m, h or d.") var time: TimeArgument?
    @Flag(help: "Write JSON: an object with token, place (the path to be used), path, readOnly and seconds.") var json = false

    func run() throws {
        let (mount, place) = try MountLocator.mount(meant: nil, orHoldingFuture: path)
        let scope = try MountLocator.ask(
            mount, GrantInterface.grant, .init(DocumentPath(place ?? path.bytes), readOnly: readOnly, seconds: time?.seconds))
        if json { Output.json(scope) } else { Output.line(scope.place.bytes) }
    }
}

struct RevokeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "End what 'quire grant' has granted.",
        discussion: """
            Programs can open nothing more by the path, and what they have opened fails with ESTALE.

            Means the mount of the working directory, else the only one there is, unless --in names another.

            Examples:
              quire revoke ~/Documents/Projects
              quire revoke --all

            Exit codes: 0 revoked; 1 failed, or there was no such grant; 64 the command line is wrong.
            """)

    @Argument(help: "What was granted, the path that was printed, or a token.") var names: [PathArgument] = []
    @Flag(help: "Revoke all of your grants.") var all = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func validate() throws {
        guard all != !names.isEmpty else { throw ValidationError("Name what was granted, or give --all.") }
    }

    func run() throws {
        if all {
            _ = try MountLocator.ask(try MountLocator.mount(meant: mount), GrantInterface.revoke, .init())
            return
        }
        var missing: [String] = []
        for name in names {
            // A token has no slash, and is no path that stands in a mount.
            let known = try? MountLocator.mount(meant: nil, orHoldingFuture: name)
            let token = name.description.contains("/") ? nil : name.description
            var revoked = 0
            if let known { revoked = try MountLocator.ask(known.0, GrantInterface.revoke, .init(path: DocumentPath(known.1 ?? name.bytes))).revoked }
            if revoked == 0, let token {
                revoked = try MountLocator.ask(try MountLocator.mount(meant: mount), GrantInterface.revoke, .init(token: token)).revoked
            }
            if revoked == 0 { missing.append(name.description) }
        }
        if !missing.isEmpty { throw CommandFailure("nothing was granted of \(missing.joined(separator: ", "))") }
    }
}

struct GrantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grants",
        abstract: "List what 'quire grant' has granted, the latest first.",
        discussion: """
            Each line has ro or rw, how long the grant holds still (- for as long as the mount), the granted path, and the path to be used.

            Means the mount of the working directory, else the only one there is, unless --in names another.

            Example:
              quire grants --json

            Exit codes: 0 listed; 1 failed; 64 the command line is wrong.
            """)

    @Flag(help: "Write JSON: an array of objects with token, place (the path to be used), path, readOnly and seconds.") var json = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws {
        let grants = try MountLocator.ask(try MountLocator.mount(meant: mount), GrantInterface.list).grants
        if json { return Output.json(grants) }
        for grant in grants {
            let time = grant.seconds.map { "\(Int(clamping: $0.rounded(.up)))s" } ?? "-"
            Output.line("\(grant.readOnly ? "ro" : "rw")  \(time)  \(shown(grant.path))  \(shown(grant.place))")
        }
    }
}

/// A time such as `90s`, `30m`, `8h` or `7d`.
struct TimeArgument: ExpressibleByArgument {
    let seconds: Double

    init?(argument: String) {
        guard let unit = Self.units[argument.last ?? " "], let number = Double(String(argument.dropLast())), number > 0, number * unit < 1e9 else { return nil }
        seconds = number * unit
    }

    private static let units: [Character: Double] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
}
