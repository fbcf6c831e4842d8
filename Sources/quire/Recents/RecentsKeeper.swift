import Glibc
import StorePrimitives
import SystemPackage

/// Keeps the desktop's recents and those of the mounts alike: at the beginning of the session, and each time that a program of the desktop has
/// changed its list.
struct RecentsKeeper {
    /// What a program writes comes in bursts.
    private static let pause: UInt32 = 5_000_000

    /// Does not return, unless there is nothing to keep alike.
    func run() {
        guard let folder = try? StateFolders.userFolder("XDG_DATA_HOME", ".local/share") else { return }
        let events = UInt32(truncatingIfNeeded: IN_MOVED_TO | IN_CLOSE_WRITE)
        let changes = Descriptor(owning: inotify_init1(Int32(truncatingIfNeeded: IN_CLOEXEC)))
        guard changes.number >= 0, inotify_add_watch(changes.number, folder, events) >= 0 else { return }
        while true {
            // A mount that does not answer has its turn with the next change.
            try? DesktopRecents()?.synchronize((try? MountLocator.mountsOfCaller()) ?? [])
            guard waitForChange(changes) else { return }
            usleep(Self.pause)
        }
    }

    private func waitForChange(_ changes: borrowing Descriptor) -> Bool {
        let name = Array("recently-used.xbel\0".utf8)
        while let events = try? Self.events(changes) { if events.ranges(of: name).first != nil { return true } }
        return false
    }

    private static func events(_ changes: borrowing Descriptor) throws(Errno) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = read(changes.number, &buffer, buffer.count)
        guard count > 0 else { throw Errno(rawValue: errno) }
        return Array(buffer.prefix(count))
    }
}
