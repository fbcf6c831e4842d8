import Glibc

/// What /proc/PID/status tells of a process or thread (proc_pid_status(5)). Some 20 µs: never on the hot path.
///
/// The kernel shows `stat`, `maps` and the links in `fd` only when it has the process's `exec_update_lock`, which an exec holds while it
/// closes files: a file system of the process's own user can make that last. `status` is shown without it, so this is what is read of
/// other users' processes.
public struct ProcessStatus: Sendable {
    /// R runnable, D waiting for a disk, a file system or a lock, and others.
    public let state: Character
    public let parent: pid_t

    /// Nil if the process is gone or not to be seen.
    public init?(of process: pid_t) {
        guard let text = try? WholeFile.read("/proc/\(process)/status") else { return nil }
        var (state, parent): (Character?, pid_t?)
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard let name = words.first, let value = words.dropFirst().first else { continue }
            if name.elementsEqual("State:".utf8) {
                state = value.first.map { Character(UnicodeScalar($0)) }
            } else if name.elementsEqual("PPid:".utf8) {
                parent = pid_t(String(decoding: value, as: UTF8.self))
                break
            }
        }
        guard let state, let parent else { return nil }
        (self.state, self.parent) = (state, parent)
    }
}
