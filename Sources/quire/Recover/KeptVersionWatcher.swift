import CGio
import CLinux
import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import Synchronization
import SystemPackage

/// Watches mounts for versions that are kept of the calling user's documents, and shows a notification for each: `quire notify`. One thread
/// for each mount waits for its daemon, one for each notification for the user. The desktop's recents are kept alike meanwhile.
///
/// Only mounts of root's and of the user's own are watched: the daemon of another user's could say anything.
final class KeptVersionWatcher: Sendable {
    private struct State {
        var watched: Set<MountTable.Entry> = []
        /// The versions of each store that were listed before.
        var known: [[UInt8]: Set<UInt64>] = [:]
        /// How many notifications wait for the user.
        var waiting = 0
    }
    /// A leaf.
    private let state = Mutex(State())
    /// Wakes the thread that looks for mounts.
    private let wake: (reading: Descriptor, writing: Descriptor)

    /// More at once are one notification.
    private static let mostAtOnce = 3
    private static let mostWaiting = 20
    /// A mount shows in the table before its daemon answers.
    private static let attempts = 20

    init() throws(CommandFailure) {
        do { wake = try ChildProcess.pipe() } catch { throw CommandFailure("no pipe can be made: \(error)") }
    }

    /// Ends with the desktop session. Throws a failure if there is none, or another process does this for the user already.
    func run() throws(CommandFailure) {
        // GIO ends the process when the bus closes the connection (g_dbus_connection_set_exit_on_close), of which its main loop tells.
        guard g_bus_get_sync(G_BUS_TYPE_SESSION, nil, nil) != nil else {
            throw CommandFailure("there is no desktop session here: no session bus answers (DBUS_SESSION_BUS_ADDRESS)")
        }
        start("quire-bus") { g_main_loop_run(g_main_loop_new(nil, 0)) }
        let lock = try Self.lock()
        defer { withExtendedLifetime(lock) {} }
        KeptVersionNotification.removeCopies()
        start("quire-recents") { RecentsKeeper().run() }
        let table: Descriptor
        do throws(Errno) {
            table = try Descriptor(opening: "/proc/self/mountinfo", flags: O_RDONLY)
        } catch {
            throw CommandFailure("/proc/self/mountinfo: \(error)")
        }
        while true {
            for entry in MountTable.current().quireMounts where entry.owner == 0 || entry.owner == getuid() { watchOnce(entry) }
            // The table tells of each mount that comes or goes (proc(5)).
            let events = Int16(truncatingIfNeeded: POLLPRI), readable = Int16(truncatingIfNeeded: POLLIN)
            var changes = [pollfd(fd: table.number, events: events, revents: 0), pollfd(fd: wake.reading.number, events: readable, revents: 0)]
            _ = poll(&changes, 2, -1)
            var byte: UInt8 = 0
            if changes.last?.revents != 0 { _ = cl_read(wake.reading.number, &byte, 1) }
        }
    }

    /// Held by the user's one process of this.
    private static func lock() throws(CommandFailure) -> Descriptor {
        let folder = try StateFolders.runtimeHome(isMade: true)
        do throws(Errno) {
            try FileSystem.makeFolders(folder, mode: getuid() == 0 ? 0o755 : 0o700)
            let lock = try Descriptor(opening: folder + "/notify.lock", flags: O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
            guard flock(lock.number, LOCK_EX | LOCK_NB) == 0 else { throw Errno(rawValue: errno) }
            return lock
        } catch .wouldBlock {
            throw CommandFailure("'quire notify' is running already")
        } catch {
            throw CommandFailure("\(folder)/notify.lock: \(error)")
        }
    }

    private func watchOnce(_ entry: MountTable.Entry) {
        guard state.withLock({ $0.watched.insert(entry).inserted }) else { return }
        start("quire-watch") { [self] in
            watch(entry)
            state.withLock { _ = $0.watched.remove(entry) }
            // Another mount may have its place.
            var byte: UInt8 = 0
            _ = cl_write(wake.writing.number, &byte, 1)
        }
    }

    /// Without room for a thread nothing is done.
    private func start(_ name: String, _ body: @escaping @Sendable () -> Void) { (try? NamedThread(starting: name, body))?.detach() }

    /// Until the mount ends, or its daemon does not answer.
    private func watch(_ entry: MountTable.Entry) {
        var (failures, isWatched) = (0, false)
        while failures < Self.attempts {
            do throws(ServiceCallError) {
                // Events of an earlier mount are asked for, so that the first reply says at once that some were missed: from then on none is.
                let request = WatchRequest(path: nil, since: 0, kinds: ["versionGained"])
                try MountLocator.connect(to: entry).stream(EventInterface.watch, request) { (_) throws(ServiceCallError) in
                    tell(of: try newVersions(in: entry), entry)
                    if !isWatched { Output.line("Watching \(shown(entry.mountPoint)).") }
                    (failures, isWatched) = (0, true)
                    return true
                }
            } catch {
                failures += 1
            }
            guard MountTable.current().entries.contains(entry) else { return }
            usleep(500_000)
        }
    }

    /// Those that were not listed before, oldest first; nothing when the store is met for the first time.
    private func newVersions(in entry: MountTable.Entry) throws(ServiceCallError) -> [RecoverableVersion] {
        let known = state.withLock { $0.known[entry.source] }
        let versions = try MountLocator.connect(to: entry).keptVersions { version in known?.contains(version.id) != true }
        state.withLock { $0.known[entry.source, default: []].formUnion(versions.map(\.id)) }
        guard let known else { return [] }
        return versions.filter { !known.contains($0.id) && $0.owner == getuid() && !Self.reasonsNotShown.contains($0.reason) }.reversed()
    }

    /// A file server's saves keep a version each time, and what the user has restored or removed the user knows of.
    private static let reasonsNotShown: Set = ["relayed", "restored", "removed"]

    private func tell(of versions: [RecoverableVersion], _ entry: MountTable.Entry) {
        guard !versions.isEmpty else { return }
        let mayWait = state.withLock { state in
            guard versions.count <= Self.mostAtOnce, state.waiting + versions.count <= Self.mostWaiting else { return false }
            state.waiting += versions.count
            return true
        }
        guard mayWait else {
            return DesktopNotification("Several saves were rescued", "'quire recover' lists them.").show()
        }
        for version in versions {
            start("quire-notice") { [self] in
                KeptVersionNotification(version, in: entry).offer()
                state.withLock { $0.waiting -= 1 }
            }
        }
    }
}
