import ArgumentParser
import Glibc
import StorePrimitives
import SystemPackage

struct NotifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Show a desktop notification when a save was rescued.",
        discussion: """
            Watches the mounts of root and your own until the desktop session ends. When a program is killed, fails or loses against another one while it saves a \
            document of yours, a notification says what 'quire recover' has of it. Its button "Restore" makes that the document's content \
            again ('quire recover restore'), "Show" opens a copy of it.

            Meanwhile it also keeps the list of GTK's and KDE's recent documents and those of the mounts alike ('quire recents sync').

            The package starts this with each desktop session. With --off it is not started with yours any more, until --on.

            Shows notifications by notify-send(1) (package libnotify-bin), and opens copies by xdg-open(1) (package xdg-utils).

            Examples:
              quire notify &
              quire notify --off

            Exit codes: 0 done; 1 failed, the message says why; 64 the command line is wrong.
            """)

    @Flag(help: "Do not start it with the desktop session.") var off = false
    @Flag(help: "Start it with the desktop session again.") var on = false

    func validate() throws {
        if on, off { throw ValidationError("--on and --off exclude each other.") }
    }

    func run() throws {
        if off { return try Autostart.turnOff() }
        if on { return try Autostart.turnOn() }
        try KeptVersionWatcher().run()
    }
}

/// The user's word on what the desktop starts with a session (freedesktop.org, Desktop Application Autostart Specification): a file of the
/// same name as the system's goes before that.
private enum Autostart {
    private static func folder() throws(CommandFailure) -> String { try StateFolders.userFolder("XDG_CONFIG_HOME", ".config") + "/autostart" }

    private static func file() throws(CommandFailure) -> String { try folder() + "/org.quire.Notify.desktop" }

    static func turnOff() throws(CommandFailure) {
        let (folder, path) = (try folder(), try file())
        do throws(Errno) {
            try FileSystem.makeFolders(folder, mode: 0o700)
            let entry = try Descriptor(opening: path, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
            try WholeFile.write(Array("[Desktop Entry]\nType=Application\nName=Quire\nHidden=true\n".utf8), to: entry)
        } catch {
            throw CommandFailure("\(path): cannot be written: \(error)")
        }
    }

    static func turnOn() throws(CommandFailure) {
        let path = try file()
        guard unlink(path) == 0 || errno == ENOENT else { throw CommandFailure("\(path): cannot be removed: \(Errno(rawValue: errno))") }
    }
}
