import Glibc

/// What /proc/PID/status tells of a process or thread (proc_pid_status(5)). Some 20 µs: never on the hot path.
///
/// The kernel shows `stat`, `maps` and the links in `fd` only when it has the process's `exec_update_lock`, which an exec holds while it
/// closes files: a file system of the process's own user can make that last. `status` is shown without it, so this is what is read of
/// other users' processes.
public struct ProcessStatus: Sendable {
    /// R runnable, D waiting for a disk, a file system or a lock, and others.
    public private(set) var state: Character = "?"
    /// The process that a thread is of; 0 if that is not told.
    public private(set) var group: pid_t = 0
    public private(set) var parent: pid_t = 0
    /// The file system uid, by which the kernel names the maker of a request.
    public private(set) var user: uid_t?
    public private(set) var groups: [gid_t] = []

    /// Nil if the process is gone or not to be seen.
    public init?(of process: pid_t) {
        guard process > 0, let text = try? WholeFile.read("/proc/\(process)/status"), !text.isEmpty else { return nil }
        // As bytes: it has some sixty lines, and events look at it often.
        for line in text.split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "State:".utf8) {
                state = Self.words(line).first?.first.map { Character(UnicodeScalar($0)) } ?? "?"
            } else if line.starts(with: "Tgid:".utf8) {
                group = Self.numbers(line).first.map { pid_t(bitPattern: $0) } ?? 0
            } else if line.starts(with: "PPid:".utf8) {
                parent = Self.numbers(line).first.map { pid_t(bitPattern: $0) } ?? 0
            } else if line.starts(with: "Uid:".utf8) {
                let users = Self.numbers(line)
                user = users.count == 4 ? users.last : nil
            } else if line.starts(with: "Groups:".utf8) {
                groups = Self.numbers(line)
            }
        }
    }

    /// The words behind a line's first.
    private static func words(_ line: ArraySlice<UInt8>) -> ArraySlice<ArraySlice<UInt8>> {
        line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.dropFirst()
    }

    private static func numbers(_ line: ArraySlice<UInt8>) -> [UInt32] {
        words(line).compactMap { UInt32(String(decoding: $0, as: UTF8.self)) }
    }
}
