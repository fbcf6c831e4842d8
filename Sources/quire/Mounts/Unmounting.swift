import Glibc
import StorePrimitives
import SystemPackage

/// Takes mounts away: root by umount2(2), others through fusermount3.
enum Unmounting {
    enum Failure: Error {
        case busy
        case refused(String)
    }

    /// - Parameter lazy: the mount point is free at once, and the mount ends when its last user leaves.
    static func unmount(_ mountPoint: [UInt8], lazy: Bool) throws(Failure) {
        // The daemon itself may be telling watches of a save, for a moment after it.
        for _ in 0..<20 {
            do {
                return try attempt(mountPoint, lazy: lazy)
            } catch {
                guard case .busy = error else { throw error }
                usleep(10_000)
            }
        }
        try attempt(mountPoint, lazy: lazy)
    }

    private static func attempt(_ mountPoint: [UInt8], lazy: Bool) throws(Failure) {
        if getuid() == 0 {
            // A link or trailing slash was resolved before; following one that appeared since would unmount something else.
            let flags = Int32(8 /* UMOUNT_NOFOLLOW */) | (lazy ? 2 /* MNT_DETACH */ : 0)
            guard withCString(mountPoint, { umount2($0, flags) }) != 0 else { return }
            let reason = Errno(rawValue: errno)
            throw reason == .resourceBusy ? .busy : .refused("\(reason)")
        }
        let result: (status: Int32, errors: String)
        do {
            let options = lazy ? ["-u", "-z", "--"] : ["-u", "--"]
            result = try ChildProcess.run("fusermount3", options.map { Array($0.utf8) } + [mountPoint])
        } catch {
            throw .refused("fusermount3 cannot be run (\(error)); install the package fuse3")
        }
        guard result.status != 0 else { return }
        let reason = result.errors.split(separator: "\n").joined(separator: "; ")
        throw reason.contains("resource busy") ? .busy : .refused(reason)
    }

    /// Takes away a Quire mount whose daemon died, so that its mount point is a plain folder again; the store is untouched.
    /// False if there was none.
    static func repair(_ mountPoint: [UInt8]) throws(CommandFailure) -> Bool {
        guard MountTable.current().top(at: mountPoint)?.isQuire == true, MountLiveness.of(mountPoint) == .dead
        else { return false }
        do {
            try unmount(mountPoint, lazy: true)
        } catch {
            let reason = if case .refused(let reason) = error { reason } else { "busy" }
            throw CommandFailure(
                "\(shown(mountPoint)): the daemon of this mount died and the mount cannot be taken away: \(reason); "
                    + "run 'quire unmount' as the user who mounted it, or as root")
        }
        return true
    }
}
