import ArgumentParser
import Glibc
import StorePrimitives

struct UnmountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount",
        abstract: "End a mount.",
        discussion: """
            Returns when the daemon has ended. When the mount is busy, nothing is changed and the processes that hold \
            it are named. A mount whose daemon died is taken away. 'umount' and 'fusermount3 -u' do as well.

            Containers that were started while it was mounted have the mount too: the daemon goes on for them, the \
            command names them and waits no longer.

            Examples:
              quire unmount ~/Documents
              quire unmount ~/Documents --lazy

            Exit codes: 0 unmounted; 1 failed; 2 busy, nothing was changed; 64 the command line is wrong.
            """)

    /// How long a daemon may take to end once its mount is gone: it writes its index to disk.
    private static let timeout = Duration.seconds(180)
    /// For the daemon's processes, and for those that root does not see: they are ending, which may take long on a busy machine.
    private static let timeoutForOwn = Duration.seconds(30)
    /// For processes that an ordinary user does not see: another user's, or one that is ending.
    private static let timeoutForUnseen = Duration.seconds(5)
    /// A program may just be ending.
    private static let timeoutForAnybody = Duration.seconds(0.2)
    private static let timeUnremarked = Duration.seconds(2)

    @Argument(help: "The folder where the store is mounted.", completion: .mountPoints)
    var mountpoint: PathArgument

    @Flag(help: "Free the mount point at once; the mount ends when its last user leaves.")
    var lazy = false

    func run() throws {
        let mountPoint = try find()
        if try Unmounting.repair(mountPoint.path) {
            Output.error("quire: \(shown(mountPoint.path)): its daemon had died; the mount was taken away")
            return
        }
        let server = (try? MountLocator.connect(to: mountPoint.entry))?.server
        let daemon = server.flatMap { ProcessEnd(of: $0.pid) }
        try unmount(mountPoint, startedBy: server?.pid)
        guard !lazy, let daemon, !daemon.happens(within: Self.timeUnremarked) else { return }
        let elsewhere = MountHolders.elsewhere(mountPoint.entry)
        guard elsewhere.isEmpty else { return Output.error(HoldersReport.goesOn(mountPoint.path, elsewhere)) }
        Output.error("quire: \(shown(mountPoint.path)): unmounted; its daemon is still writing to disk")
        if !daemon.happens(within: Self.timeout) {
            throw CommandFailure("\(shown(mountPoint.path)): unmounted, but its daemon has not ended yet")
        }
    }

    /// Waits for the daemon and its processes, which use the mount for moments: it tells watches of a save, they replay there what
    /// was changed outside.
    private func unmount(_ mountPoint: (path: [UInt8], entry: MountTable.Entry), startedBy daemon: Int32?) throws(CommandFailure) {
        let started = ContinuousClock.now
        while true {
            do throws(Unmounting.Failure) {
                return try Unmounting.unmount(mountPoint.entry, lazy: lazy)
            } catch {
                if case .refused(let reason) = error { throw CommandFailure("\(shown(mountPoint.path)): \(reason)") }
            }
            let waited = ContinuousClock.now - started
            guard waited > Self.timeoutForAnybody else {
                usleep(10_000)
                continue
            }
            let holders = MountHolders.of(mountPoint.entry)
            let others = holders.filter { daemon == nil || MountHolders.parent(of: $0.pid) != daemon }
            let timeout = holders.isEmpty && geteuid() != 0 ? Self.timeoutForUnseen : Self.timeoutForOwn
            let inside = MountTable.current().children(of: mountPoint.entry)
            guard others.isEmpty, inside.isEmpty, waited < timeout else {
                throw HoldersReport.busy(mountPoint.entry, others.isEmpty ? holders : others, inside)
            }
            usleep(200_000)
        }
    }

    private func find() throws(CommandFailure) -> (path: [UInt8], entry: MountTable.Entry) {
        let path: [UInt8]
        do {
            path = try CanonicalPath.mountPoint(mountpoint.bytes)
        } catch {
            throw CommandFailure("\(shown(mountpoint.bytes)): \(error)")
        }
        let table = MountTable.current()
        guard let entry = table.top(at: path) else {
            guard let around = table.holding(path), around.isQuire else {
                throw CommandFailure("\(shown(path)): nothing is mounted here; 'quire status' lists the mounts")
            }
            let mount = shown(around.mountPoint)
            throw CommandFailure("\(shown(path)): is inside the mount \(mount); 'quire unmount \(mount)' ends that")
        }
        guard entry.isQuire else {
            throw CommandFailure("\(shown(path)): is a mount of type \(entry.fileSystemType), not Quire's; use umount")
        }
        if getuid() != 0, let owner = entry.owner, owner != getuid() {
            let name = getpwuid(owner).map { String(cString: $0.pointee.pw_name) } ?? "user \(owner)"
            throw CommandFailure("\(shown(path)): was mounted by \(name); only they and root can end it")
        }
        return (path, entry)
    }
}
