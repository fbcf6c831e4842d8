import Glibc
import MountProtocol
import StorePrimitives
import SystemPackage

/// A version of a save that was rescued, for a notification that offers to restore or show it.
struct KeptVersionNotification {
    private let version: RecoverableVersion
    private let mountPoint: [UInt8]
    private let name: [UInt8]

    init(_ version: RecoverableVersion, in entry: MountTable.Entry) {
        self.version = version
        mountPoint = entry.mountPoint
        name = version.path.bytes.split(separator: UInt8(ascii: "/")).last.map(Array.init) ?? []
    }

    /// Waits for the user.
    func offer() {
        let saver = version.saver.map { $0.process.isEmpty ? "" : " by \(shown($0.process))" } ?? ""
        let notification = DesktopNotification(
            "A save of \(shown(name))\(saver) was rescued", "\(shown(version.path)): \(version.explanation). \(Figures.size(version.size)) are kept.")
        guard version.hasContent else { return notification.show() }
        switch notification.ask([("restore", "Restore"), ("show", "Show")]) {
        case "restore": restore()
        case "show": show()
        default: break
        }
    }

    private func restore() {
        if let trouble = recover(["restore", "\(version.id)"]) { return DesktopNotification("\(shown(name)) was not restored", trouble).show() }
        DesktopNotification("\(shown(name)) was restored", "'quire recover' has what it held before.").show()
    }

    /// Opens a copy that nobody takes for the document: it cannot be written.
    private func show() {
        do {
            let folder = try Self.copies()
            try FileSystem.makeFolders(folder, mode: 0o700)
            let copy = Array("\(folder)/\(version.id) ".utf8) + name
            if let trouble = recover(["show", "\(version.id)", "--output"], copy) { throw CommandFailure(trouble) }
            _ = withCString(copy) { chmod($0, 0o400) }
            let viewer = try ChildProcess.spawn("xdg-open", [copy], environment: ChildProcess.inherited, newSession: true)
            guard try ChildProcess.wait(for: viewer) == 0 else { throw CommandFailure("no program opens it: \(shown(copy))") }
        } catch {
            DesktopNotification("\(shown(name)) cannot be shown", (error as? CommandFailure)?.message ?? "\(error)").show()
        }
    }

    /// Runs `quire recover`. Returns why it failed, nil if it did not.
    private func recover(_ words: [String], _ path: [UInt8]? = nil) -> String? {
        let arguments = (["recover"] + words).map { Array($0.utf8) } + (path.map { [$0] } ?? []) + [Array("--in".utf8), mountPoint]
        do throws(Errno) {
            let (status, errors) = try ChildProcess.run("/proc/self/exe", arguments)
            return status == 0 ? nil : errors
        } catch {
            return "\(error)"
        }
    }

    private static func copies() throws(CommandFailure) -> String { try StateFolders.userFolder("XDG_CACHE_HOME", ".cache") + "/quire/rescued" }

    /// Removes those of an earlier session.
    static func removeCopies() {
        guard let folder = (try? copies()).map({ Array($0.utf8) }) else { return }
        for name in FileSystem.entries(folder) ?? [] { _ = withCString(CanonicalPath.join(folder, name)) { unlink($0) } }
    }
}
