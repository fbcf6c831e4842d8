import ArgumentParser
import Glibc
import MountClient
import MountProtocol
import StorePrimitives

struct FavoriteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "favorite",
        abstract: "Mark documents and folders, and list those that you marked.",
        discussion: """
            Your favorites are also links in the folder .favorites of the mount, and searches find them by is:favorite. A favorite stays \
            one when it is moved or saved. Folders are also shown in the sidebars of file managers.

            Examples:
              quire favorite add ~/Documents/Projects ~/Documents/budget.ods
              quire favorite list
              quire favorite remove ~/Documents/budget.ods

            Exit codes: 0 done; 1 failed, for some of the paths at least; 64 the command line is wrong.
            """,
        subcommands: [FavoriteAddCommand.self, FavoriteRemoveCommand.self, FavoriteListCommand.self, FavoriteImportCommand.self])
}

struct FavoriteAddCommand: TakesManyPaths {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Mark documents and folders as favorites.",
        discussion: """
            Folders are added to the bookmarks of GTK and the places of KDE too, unless --no-sidebar is given. A path that is a favorite is \
            no error.

            Example:
              quire favorite add ~/Documents/Projects ~/Documents/budget.ods

            Exit codes: 0 all are favorites; 1 some path failed, the others are; 64 the command line is wrong.
            """)

    @Argument(help: "Documents and folders in a mount.") var paths: [PathArgument]
    @Flag(inversion: .prefixedNo, help: "Show folders in the sidebars of file managers.") var sidebar = true

    func run() throws {
        var failures = FavoriteFailures()
        for (mount, items) in try MountLocator.items(paths) {
            let failed = try MountLocator.ask(mount, MountInterface.addFavorites, .init(items)).failures
            failures.add(failed)
            guard sidebar else { continue }
            for item in items where !failed.contains(where: { $0.path == item }) {
                if (try? FileSystem.status(item.bytes)).map(FileSystem.isFolder) == true { failures.add(item.bytes) { $0.add } }
            }
        }
        try failures.report()
    }
}

struct FavoriteRemoveCommand: TakesManyPaths {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take the marks off favorites.",
        discussion: """
            The documents and folders themselves stay. Folders are removed from the sidebars of file managers too, unless --no-sidebar is \
            given.

            Example:
              quire favorite remove ~/Documents/budget.ods

            Exit codes: 0 none is a favorite any more; 1 some path failed, or was no favorite; 64 the command line is wrong.
            """)

    @Argument(help: "Documents and folders in a mount.") var paths: [PathArgument]
    @Flag(inversion: .prefixedNo, help: "Remove folders from the sidebars of file managers.") var sidebar = true

    func run() throws {
        var failures = FavoriteFailures()
        for (mount, items) in try MountLocator.items(paths) {
            let failed = try MountLocator.ask(mount, MountInterface.removeFavorites, .init(items)).failures
            failures.add(failed)
            // Not what the user has bookmarked without Quire. The folder may be gone.
            if sidebar { for item in items where !failed.contains(where: { $0.path == item }) { failures.add(item.bytes) { $0.remove } } }
        }
        try failures.report()
    }
}

struct FavoriteListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List your favorites, the one that you marked last first.",
        discussion: """
            Means the mount of the working directory, else the only one there is, unless --in names another.

            Example:
              quire favorite list --json

            Exit codes: 0 listed; 1 failed; 64 the command line is wrong.
            """)

    @Flag(help: "Write JSON: an array of objects with path, folder (whether it is one) and added (seconds since 1970).") var json = false
    @Option(name: .customLong("in"), help: "Any path in the mount that is meant.") var mount: PathArgument?

    func run() throws {
        let entries = try MountLocator.ask(try MountLocator.mount(meant: mount), MountInterface.favorites).entries
        if json { return Output.json(entries) }
        for entry in entries { Output.line(entry.path.bytes + (entry.folder ? [UInt8(ascii: "/")] : [])) }
    }
}

struct FavoriteImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Mark the folders that the sidebars of your file managers show.",
        discussion: """
            Reads the bookmarks of GTK and the places of KDE. Folders that are in no Quire mount are left out.

            Example:
              quire favorite import

            Exit codes: 0 imported; 1 failed, for some of the folders at least; 64 the command line is wrong.
            """)

    func run() throws {
        let table = MountTable.current()
        var byMount: [MountTable.Entry: [DocumentPath]] = [:]
        for file in Sidebar.files {
            for folder in try file.folders() {
                guard let canonical = try? CanonicalPath.resolve(folder), let mount = table.holding(canonical), mount.isQuire, canonical != mount.mountPoint
                else { continue }
                byMount[mount, default: []].append(DocumentPath(canonical))
            }
        }
        var (failures, count) = (FavoriteFailures(), 0)
        for (mount, folders) in byMount {
            let failed = try MountLocator.ask(mount, MountInterface.addFavorites, .init(folders)).failures
            failures.add(failed)
            count += Set(folders).count - failed.count
        }
        Output.line("\(count) \(count == 1 ? "folder is a favorite" : "folders are favorites").")
        try failures.report()
    }
}

/// Failures, reported at the end of the command.
private struct FavoriteFailures {
    private var messages: [String] = []

    mutating func add(_ failures: [PathFailure]) { messages += failures.map { "\(shown($0.path.bytes)): \($0.message)" } }

    /// Changes all sidebars.
    mutating func add(_ folder: [UInt8], _ change: (any SidebarFile) -> ([UInt8]) throws(CommandFailure) -> Void) {
        for file in Sidebar.files {
            do throws(CommandFailure) { try change(file)(folder) } catch { messages.append(error.message) }
        }
    }

    func report() throws(CommandFailure) {
        if !messages.isEmpty { throw CommandFailure(messages.joined(separator: "\nquire: ")) }
    }
}
