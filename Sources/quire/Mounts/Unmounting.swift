import CLinux
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
    static func unmount(_ mount: MountTable.Entry, lazy: Bool) throws(Failure) {
        if getuid() == 0 {
            let flags = Int32(truncatingIfNeeded: lazy ? MNT_DETACH : 0)
            switch Errno(rawValue: -withCString(mount.mountPoint, { cl_unmount($0, mount.minor, flags) })) {
            case Errno(rawValue: 0): return
            case .resourceBusy: throw .busy
            case .staleNFSFileHandle: throw .refused("something else is there by now")
            case let reason: throw .refused("\(reason)")
            }
        }
        let result: (status: Int32, errors: String)
        do {
            let options = lazy ? ["-u", "-z", "--"] : ["-u", "--"]
            result = try ChildProcess.run("fusermount3", options.map { Array($0.utf8) } + [mount.mountPoint])
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
        guard let mount = MountTable.current().top(at: mountPoint), mount.isQuire, MountLiveness.of(mountPoint) == .dead
        else { return false }
        do {
            try unmount(mount, lazy: true)
        } catch {
            let reason = if case .refused(let reason) = error { reason } else { "busy" }
            throw CommandFailure(
                "\(shown(mountPoint)): the daemon of this mount died and the mount cannot be taken away: \(reason); "
                    + "run 'quire unmount' as the user who mounted it, or as root")
        }
        return true
    }
}
