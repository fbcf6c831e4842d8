internal import CLinux
import Glibc
import Synchronization
internal import SystemPackage

/// How a mounted file system answers: from the kernel, or through a server.
public enum MountKind: UInt8, Sendable {
    /// The kernel, which knows all that there is to know.
    case local = 1
    /// A server for a disk, or the machine that a virtual machine runs on. Only root mounts these, and they answer.
    case trusted
    /// A FUSE server, of any user's, or another machine. It may never answer, so nothing that is done for all users asks it.
    case served

    /// - Parameter type: as /proc/self/mountinfo has it: `ext4`, `fuse.sshfs`. The user who mounts a FUSE file system chooses the text after the dot.
    package init(ofType type: String) {
        // By bytes: characters may be of several.
        let type = String(decoding: type.utf8.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self)
        self = Self.servedTypes.contains(type) ? .served : Self.trustedTypes.contains(type) ? .trusted : .local
    }

    private static let servedTypes: Set<String> = [
        "fuse", "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "coda", "gfs2", "ocfs2", "lustre", "gpfs", "beegfs", "vboxsf",
        "vmhgfs", "prl_fs", "autofs",
    ]
    private static let trustedTypes: Set<String> = ["fuseblk", "virtiofs"]
}

/// The kinds of what is mounted, by the table of mounts of this process. It is read again when poll(2) tells of a change (proc(5), mountinfo).
///
/// A mount is known by its id, not by its place: a folder that it is in may be moved, of which poll(2) tells nothing.
public final class MountKinds: Sendable {
    public static let current = MountKinds()

    private struct State {
        var kinds: [UInt64: MountKind] = [:]
        var changes = 0
    }

    /// poll(2) tells of each change once, so the lock is held until the table is read: a thread that polls then would be told of nothing, and
    /// go by the mounts of before. Taken before `state`, and within any lock but leaves.
    private let table: Mutex<Table>
    private struct Table {
        let file: Descriptor?
        /// False once it could not be read: it is read at the next call.
        var isRead = false
    }
    /// Leaf.
    private let state = Mutex(State())

    private init() {
        table = Mutex(Table(file: try? Descriptor(opening: "/proc/self/mountinfo", flags: O_RDONLY)))
        refresh()
    }

    /// One poll(2). A mount that is not in the table counts as served: one that was unmounted while files on it are open, for example.
    package func kind(ofMount id: UInt64) -> MountKind {
        refresh()
        return state.withLock { $0.kinds[id] } ?? .served
    }

    /// How often the table has been read: another number tells that something was mounted or unmounted. One poll(2).
    package var changes: Int {
        refresh()
        return state.withLock { $0.changes }
    }

    private func refresh() {
        table.withLock { table in
            guard let file = table.file else { return }
            var poll = pollfd(fd: file.number, events: Int16(truncatingIfNeeded: POLLPRI), revents: 0)
            if Glibc.poll(&poll, 1, 0) > 0 || !table.isRead { table.isRead = read() }
        }
    }

    /// False if the table cannot be read: the mounts known before then stay known.
    private func read() -> Bool {
        var found = State()
        let entries = MountTable.current().entries
        guard !entries.isEmpty else { return false }
        for entry in entries {
            if let id = UInt64(exactly: entry.id) { found.kinds[id] = MountKind(ofType: entry.fileSystemType) }
        }
        state.withLock {
            found.changes = $0.changes &+ 1
            $0 = found
        }
        return true
    }
}
