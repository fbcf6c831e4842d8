import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// The right to be the one daemon of a store: a lock on a file in the store's state folder, held until the process ends.
package struct StoreLock {
    private let file: Descriptor

    /// Takes the lock and writes who has it. Throws when another daemon holds it, naming that daemon.
    package init(stateFolder: String, mountPoint: [UInt8]) throws(CommandFailure) {
        let path = stateFolder + "/lock"
        do {
            file = try Descriptor(opening: path, flags: O_RDWR | O_CREAT, mode: 0o600)
        } catch {
            throw CommandFailure("\(path): \(error); the state folder must be writable")
        }
        guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else {
            let reason = Errno(rawValue: errno)
            guard reason == .wouldBlock else { throw CommandFailure("\(path): cannot be locked: \(reason)") }
            throw Self.conflict(FileSystem.contents(path) ?? [])
        }
        let holder = Array("\(getpid())\n".utf8) + mountPoint
        _ = cl_ftruncate(file.number, 0)
        guard cl_pwrite(file.number, holder, holder.count, 0) == holder.count else {
            throw CommandFailure("\(path): cannot be written; is the disk full?")
        }
    }

    private static func conflict(_ holder: [UInt8]) -> CommandFailure {
        let lines = holder.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
        guard lines.count == 2 else { return CommandFailure("another daemon is just mounting this store; try again") }
        return CommandFailure(
            "this store is already mounted at \(shown(lines[1])) by process \(shown(lines[0])); "
                + "'quire unmount \(shown(lines[1]))' ends that")
    }
}
