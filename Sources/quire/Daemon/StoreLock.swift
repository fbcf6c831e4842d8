import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// The right to be the one daemon of a store: a lock on a file in the store's state folder, held until the process ends.
package struct StoreLock {
    private let file: Descriptor

    /// How long a daemon whose mount is gone may take to end: it closes what is still open and writes its index to disk.
    package static let timeout = Duration.seconds(10)

    /// Takes the lock and writes who has it. Throws when another daemon holds it, naming that daemon. Waits for a
    /// daemon that serves no mount, as it is about to end, and for a dead one: a thread of it may still wait for a disk, and a child
    /// that it started has the lock until execve(2) closes it, which a busy machine may delay.
    package init(
        stateFolder: String, mountPoint: [UInt8], timeout: Duration = StoreLock.timeout
    ) throws(CommandFailure) {
        let path = stateFolder + "/lock"
        let deadline = ContinuousClock.now + timeout
        while true {
            let file: Descriptor
            do {
                file = try Descriptor(opening: path, flags: O_RDWR | O_CREAT, mode: 0o600)
            } catch {
                throw CommandFailure("\(path): \(error); the state folder must be writable")
            }
            if flock(file.number, LOCK_EX | LOCK_NB) == 0 {
                // Another process may have removed the folder meanwhile (`StateSweep`).
                guard Self.isNamed(file, path) else { continue }
                self.file = file
                break
            }
            let reason = Errno(rawValue: errno)
            guard reason == .wouldBlock else { throw CommandFailure("\(path): cannot be locked: \(reason)") }
            let holder = Holder(FileSystem.contents(path) ?? [])
            let state = holder?.state
            if state == .serving || ContinuousClock.now >= deadline { throw Self.conflict(holder, state) }
            usleep(10_000)
        }
        // For messages. A full disk keeps nobody from mounting: what is there is not given away before it is written over.
        let holder = Array("\(getpid())\n".utf8) + mountPoint
        let written = cl_pwrite(file.number, holder, holder.count, 0)
        _ = cl_ftruncate(file.number, max(0, written))
    }

    /// Takes the lock of a state folder that no daemon uses; nil if one does, or there is no such file.
    init?(ofUnused stateFolder: Descriptor) {
        guard let file = try? Descriptor(opening: "lock", in: stateFolder, flags: O_RDWR | O_NOFOLLOW), flock(file.number, LOCK_EX | LOCK_NB) == 0
        else { return nil }
        self.file = file
    }

    private static func isNamed(_ file: Descriptor, _ path: String) -> Bool {
        var (own, named) = (cl_status(), cl_status())
        return cl_statx_fd(file.number, &own) == 0 && cl_statx(AT_FDCWD, path, 0, &named) == 0 && FileIdentity(own) == FileIdentity(named)
    }

    private static func conflict(_ holder: Holder?, _ state: Holder.State?) -> CommandFailure {
        guard let holder, let state else { return CommandFailure("another daemon is just mounting this store; try again") }
        let (place, process) = (shown(holder.mountPoint), holder.process)
        switch state {
        case .serving:
            return CommandFailure("this store is already mounted at \(place) by process \(process); 'quire unmount \(place)' ends that")
        case .ending:
            return CommandFailure(
                "process \(process), which had this store mounted at \(place), has not ended yet: files may still be open there; "
                    + "close them, or end it with 'kill \(process)'")
        case .dead:
            return CommandFailure(
                "the daemon that had this store mounted at \(place) (process \(process)) is dead, but a process that it started still holds "
                    + "the store's lock; try again")
        }
    }

    /// Who has the lock, as the file tells.
    private struct Holder {
        let process: pid_t
        let mountPoint: [UInt8]

        init?(_ content: [UInt8]) {
            let lines = content.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
            guard lines.count == 2, let process = pid_t(shown(lines[0])) else { return nil }
            (self.process, mountPoint) = (process, Array(lines[1]))
        }

        enum State { case serving, ending, dead }

        /// A mount at its mount point is no proof: that of a dead daemon stays until it is mounted again or unmounted.
        var state: State {
            // EPERM: it may be another user's, and hidden in /proc (proc(5), hidepid).
            guard kill(process, 0) == 0 || errno == EPERM else { return .dead }
            let stat = ProcessStat(of: process)
            if stat?.hasEnded == true { return .dead }
            let isMounted = MountTable.current().entries.contains { $0.isQuire && $0.mountPoint == mountPoint }
            return isMounted && stat?.isExiting != true ? .serving : .ending
        }
    }
}
