import CLinux
import FuseServer
import Glibc
import StorePrimitives

/// A daemon of another process that is about to die or has died.
struct DeadDaemon {
    private let pid: pid_t
    private let process: Descriptor
    private let mountPoint: [UInt8]
    /// The mount's number, by which the kernel lists its connection; nil if it was not in the table of mounts.
    private let connection: UInt32?

    /// - Parameter device: an open descriptor of the daemon's device.
    init(_ pid: pid_t, process: Descriptor, device: Int32, mountPoint: [UInt8]) {
        self.pid = pid
        self.process = process
        self.mountPoint = mountPoint
        let number = cl_fuse_connection(device)
        connection = number != 0 ? number : MountTable.current().top(at: mountPoint)?.minor
    }

    /// Answers apps with errors until the last thread of the daemon is gone, then ends the connection: apps that use the mount
    /// meet ENOTCONN from then on. Takes under a millisecond as a rule, and longer if one of its threads waits for a disk.
    /// - Parameter device: an open descriptor of the device, closed when this returns.
    func end(_ device: Int32) {
        let abandoned = AbandonedConnection(device)
        defer { abandoned.close() }
        // In milliseconds. The daemon's threads may read a request while they die, which is to be taken back once more.
        var pause: Int32 = 1
        var isConnected = true
        while true {
            if isConnected {
                let isTakenBack = abandoned.takeBack()
                isConnected = abandoned.refuseAll()
                if isConnected, !isTakenBack || pause > Self.maximumPauses { abort() }
            }
            let waited = isConnected ? [process.number, abandoned.device] : [process.number]
            let ready = cl_wait_any(waited, Int32(clamping: waited.count), 0, pause)
            if ready & 1 != 0 { return }
            pause = min(pause * 2, 1_000)
        }
    }

    /// Before Linux 6.9 no request is handed out again.
    private static let maximumPauses: Int32 = 50

    /// Root can always do so; the owner of a mount can where the control file system is mounted.
    private func abort() {
        guard let connection else { return }
        if let file = try? Descriptor(opening: "/sys/fs/fuse/connections/\(connection)/abort", flags: O_WRONLY) {
            _ = cl_write(file.number, "1", 1)
        } else if getuid() == 0 {
            // The connection ends first; the mount stays, as it is in use by this very descriptor.
            guard let use = try? Descriptor(openingCanonical: mountPoint), cl_unnamed_device(use.number) == connection else { return }
            _ = withCString(mountPoint) { cl_unmount($0, connection, Int32(truncatingIfNeeded: MNT_FORCE)) }
            withExtendedLifetime(use) {}
        }
    }

    /// How it ended, in words. It takes its parent some microseconds to ask, after which the kernel tells.
    var reason: String {
        for _ in 0..<20 {
            let status = cl_exit_status(process.number)
            if status >= 0 { return Self.words(status) }
            if let status = ProcessStat(of: pid)?.exitStatus { return Self.words(status) }
            usleep(1_000)
        }
        return "it ended, nobody knows of what"
    }

    /// A status of waitpid(2) in words.
    static func words(_ status: Int32) -> String {
        let signal = status & 0x7f
        guard signal != 0 else { return "it exited with status \(status >> 8 & 0xff)" }
        let name = strsignal(signal).map { String(cString: $0) } ?? "unknown"
        return "signal \(signal) (\(name))" + (signal == SIGKILL ? ", sent by a user, or by the kernel for want of memory" : "")
    }
}
