import ArgumentParser
import FoundationEssentials
import Glibc
import MountClient
import MountProtocol
import StorePrimitives

struct RecentsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recents",
        abstract: "List the documents you used last, newest first.",
        discussion: """
            Means the mount of the working directory, else the only one there is, unless --in names another. The same \
            list is the folder .recents of the mount.

            Examples:
              quire recents --limit 10
              quire recents forget ~/Documents/secret.odt
              quire recents sync

            Exit codes: 0 listed; 1 failed; 64 the command line is wrong.
            """,
        subcommands: [RecentsListCommand.self, RecentsForgetCommand.self, RecentsSyncCommand.self], defaultSubcommand: RecentsListCommand.self)
}

struct RecentsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the documents you used last, newest first.",
        discussion: """
            Means the mount of the working directory, else the only one there is, unless --in names another.

            Example:
              quire recents --limit 10 --json

            Exit codes: 0 listed; 1 failed; 64 the command line is wrong.
            """)

    @Option(help: "How many at most (50).") var limit: Int?
    @Flag(help: "Write JSON: an array of objects with path and used (seconds since 1970).") var json = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be 1 or more.") }
    }

    func run() throws {
        let entries = try MountLocator.ask(try MountLocator.mount(meant: mount), MountInterface.recents, .init(limit: limit)).entries
        if json { return Output.json(entries) }
        for entry in entries {
            Output.line(Array(Self.localTime(entry.used).utf8) + [0x20, 0x20] + entry.path.bytes)
        }
    }

    /// `2026-03-01 14:05`, in the user's time zone.
    private static func localTime(_ seconds: Double) -> String {
        var time = time_t(clamping: seconds)
        var parts = tm()
        localtime_r(&time, &parts)
        var text = [CChar](repeating: 0, count: 32)
        strftime(&text, text.count, "%Y-%m-%d %H:%M", &parts)
        return text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
}

struct RecentsForgetCommand: TakesManyPaths {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Take documents off your recents.",
        discussion: """
            The documents themselves stay. A document that is not among the recents is no error. It is also taken off the list of GTK's and \
            KDE's programs, unless a program keeps that entry to itself.

            Example:
              quire recents forget ~/Documents/secret.odt

            Exit codes: 0 forgotten; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "Documents in a mount.") var paths: [PathArgument]

    func run() throws {
        for (mount, documents) in try MountLocator.items(paths) {
            try MountLocator.ask(mount, MountInterface.forgetRecents, .init(documents))
            try DesktopRecents()?.forget(documents.map(\.bytes))
        }
    }}

struct RecentsSyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Exchange recents with the list of GTK's and KDE's programs.",
        discussion: """
            Documents in your mounts that are in ~/.local/share/recently-used.xbel become recents, but for entries that a program keeps to \
            itself; and your recents are added to that list. 'quire notify' does this in the desktop session whenever that list changes. Nothing \
            is done if GNOME's settings say that recent files are not to be remembered.

            Example:
              quire recents sync

            Exit codes: 0 done; 1 failed; 64 the command line is wrong.
            """)

    func run() throws { try DesktopRecents()?.synchronize(MountLocator.mountsOfCaller()) }
}
