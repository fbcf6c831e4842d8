import ArgumentParser
import MountProtocol

struct EnableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Mount a folder of documents now and at each login.",
        discussion: """
            Starts the systemd unit quire@FOLDER.service, which mounts FOLDER in place and mounts it again if its daemon fails. \
            As root it mounts for all users, now and at each boot.

            Examples:
              quire enable ~/Documents
              sudo quire enable /srv/docs

            Exit codes: 0 mounted; 1 failed, the message says why; 64 the command line is wrong.
            """)

    @Argument(help: "The folder of documents.", completion: .directory) var folder: PathArgument

    func run() throws {
        let store = try Self.store(folder)
        let unit = ServiceUnit(store: store)
        try unit.enable()
        Output.line("\(shown(store)) is mounted, now and from now on (\(unit.name)).")
    }

    static func store(_ folder: PathArgument) throws(CommandFailure) -> [UInt8] {
        do { return try CanonicalPath.mountPoint(folder.bytes) } catch { throw CommandFailure("\(folder.description): \(error)") }
    }
}

struct DisableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Undo 'quire enable': end the mount, and do not mount the folder at login any more.",
        discussion: """
            The documents stay in the folder. Programs that use the mount have half a minute to close them.

            Example:
              quire disable ~/Documents

            Exit codes: 0 done; 1 failed, the message says why; 64 the command line is wrong.
            """)

    @Argument(help: "The folder of documents.", completion: .directory) var folder: PathArgument

    func run() throws {
        let store = try EnableCommand.store(folder)
        try ServiceUnit(store: store).disable()
        Output.line("\(shown(store)) is mounted no more.")
    }
}
