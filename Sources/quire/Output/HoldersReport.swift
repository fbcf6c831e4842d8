import Glibc
import StorePrimitives

/// The processes that keep a mount from ending, as `quire unmount` names them.
enum HoldersReport {
    static func goesOn(_ path: [UInt8], _ holders: [MountHolder]) -> String {
        var lines = ["quire: \(shown(path)): unmounted here; it is mounted elsewhere too, and its daemon goes on for that:"]
        for holder in holders {
            lines.append("  process \(holder.pid) (\(shown(holder.command))): \(holder.uses.joined(separator: ", "))")
        }
        return lines.joined(separator: "\n")
    }

    static func busy(_ entry: MountTable.Entry, _ holders: [MountHolder], _ inside: [MountTable.Entry]) -> CommandFailure {
        let path = shown(entry.mountPoint)
        var lines = ["\(path): busy, nothing was changed"]
        for holder in holders {
            lines += holder.uses.map { "  process \(holder.pid) (\(shown(holder.command))): \($0)" }
        }
        lines += inside.map { "  mount \(shown($0.mountPoint)) (\($0.fileSystemType))" }
        if lines.count == 1 {
            let isRoot = geteuid() == 0
            lines.append("  by " + (isRoot ? "something that has ended by now: try again" : "processes of other users, which only root can see"))
        }
        lines.append("End these first, or free the mount point at once with: quire unmount --lazy \(path)")
        return CommandFailure(lines.joined(separator: "\n"), exitCode: CommandFailure.busyCode)
    }
}
