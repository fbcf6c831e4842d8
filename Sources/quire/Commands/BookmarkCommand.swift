import ArgumentParser
import Glibc
import MountClient
import MountProtocol
import StorePrimitives

struct BookmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bookmark",
        abstract: "Make a text by which a document is found again wherever it is moved.",
        discussion: """
            Scripts and programs keep a bookmark in place of a path.

            Examples:
              quire bookmark create ~/Documents/report.odt >report.bookmark
              xdg-open "$(quire bookmark resolve "$(cat report.bookmark)")"

            Exit codes: 0 done; 1 failed; 64 the command line is wrong; of resolve also 2, 3 and 4.
            """,
        subcommands: [BookmarkCreateCommand.self, BookmarkResolveCommand.self])
}

struct BookmarkCreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Print a bookmark of a document.",
        discussion: """
            Example:
              quire bookmark create ~/Documents/report.odt

            Exit codes: 0 printed; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "A document in a mount.") var path: PathArgument

    func run() throws {
        let (mount, place) = try MountLocator.mount(meant: nil, orHoldingFuture: path)
        Output.line(try MountLocator.ask(mount, BookmarkInterface.create, .init(DocumentPath(place ?? path.bytes))).bookmark)
    }
}

struct BookmarkResolveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve", abstract: "Print where the document of a bookmark is now.",
        discussion: """
            Asks your mounts and those of root.

            Example:
              quire bookmark resolve "$(cat report.bookmark)"

            Exit codes: 0 found; 2 stale: the document itself is gone, and the printed one has its content and time, or else its path; \
            3 deleted; 4 forged, or a bookmark of a store that is not mounted; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "The bookmark.") var bookmark: String
    @Flag(help: "Write JSON: an object with state (found, stale, deleted or forged) and path.") var json = false

    func run() throws {
        var (resolved, failure): (ResolvedBookmark, CommandFailure?) = (ResolvedBookmark(state: .forged), nil)
        for mount in try MountLocator.mountsOfCaller() where resolved.state == .forged {
            // A mount that is away may not be the one.
            do throws(CommandFailure) { resolved = try MountLocator.ask(mount, BookmarkInterface.resolve, .init(bookmark)) } catch { failure = error }
        }
        if resolved.state == .forged, let failure { throw failure }
        if json { Output.json(resolved) } else if let path = resolved.path { Output.line(path.bytes) }
        let (code, message): (Int32, String) =
            switch resolved.state {
            case .found: (0, "")
            case .stale: (2, "the document itself is gone; this one has its content and time, or else its path: make a new bookmark")
            case .deleted: (3, "the document is gone, or you may not read it")
            case .forged: (4, "this is no bookmark of a store that is mounted")
            }
        if code != 0 { throw CommandFailure(message, exitCode: code) }
    }
}
