import ArgumentParser
import Glibc

@main
struct QuireCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quire",
        abstract: "Mounts a folder of documents so that every app uses them together.",
        discussion: """
            Without a command name, 'quire STORE MOUNTPOINT -o OPTIONS' mounts, as mount(8) and fstab call it:
              mount -t fuse.quire /srv/docs /docs
              /srv/docs  /docs  fuse.quire  allow_other,noauto  0  0

            'quire help' lists topics that explain how Quire works.

            Exit codes: 0 done; 1 failed, the message says why; 2 busy (unmount); 64 the command line is wrong; 75 a claim was not \
            granted in time (coordinate).
            """,
        version: quireVersion,
        subcommands: [
            MountCommand.self, UnmountCommand.self, EnableCommand.self, DisableCommand.self, StatusCommand.self, TagCommand.self,
            RecentsCommand.self, FavoriteCommand.self, BookmarkCommand.self, GrantCommand.self, RevokeCommand.self, GrantsCommand.self,
            SearchCommand.self, IndexCommand.self, WatchCommand.self, CoordinateCommand.self,
            RecoverCommand.self, NotifyCommand.self, ThumbnailCommand.self, PreviewCommand.self, TypesCommand.self, DoctorCommand.self,
            HelpCommand.self, DesktopSearchCommand.self, ReplayCommand.self, GuardCommand.self,
        ],
        defaultSubcommand: MountCommand.self)

    /// The argument parser takes the square of the number of arguments: of very many paths, which stand last, most are added to the command
    /// afterwards.
    private static func parsed() throws -> any ParsableCommand {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let others = arguments.reversed().prefix { !$0.hasPrefix("-") }.count - mostParsed
        guard others > 0, var command = try? parseAsRoot(arguments.dropLast(others)) as? any TakesManyPaths else { return try parseAsRoot() }
        let paths = arguments.suffix(others).compactMap { PathArgument(argument: $0) }
        guard paths.count == others else { return try parseAsRoot() }
        command.paths += paths
        return command
    }

    private static let mostParsed = 200

    static func main() {
        do {
            var command = try parsed()
            try command.run()
        } catch let failure as CommandFailure {
            Output.error("quire: \(failure.message)")
            Glibc.exit(failure.exitCode)
        } catch {
            exit(withError: error)
        }
    }
}

/// A command whose last arguments are paths, any number of them.
protocol TakesManyPaths: ParsableCommand {
    var paths: [PathArgument] { get set }
}
