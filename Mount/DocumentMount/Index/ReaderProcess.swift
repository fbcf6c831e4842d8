import CLinux
import DocumentIndex
import FuseServer
import Glibc
import StorePrimitives

/// Whom an open for reading is put down to.
struct ReaderProcess: Sendable {
    typealias Group = ReaderGroup
    var groups: [Group]
    /// The process says itself that it works in the background: idle I/O class, or a nice value of 10 or more.
    var isBackground = false
    /// A program that goes through trees, whatever it opens first.
    var isWalker = false

    /// Reads /proc: some 30 µs.
    init(of caller: Caller) {
        guard let group = ProcessStatus(of: caller.thread)?.group, group > 0,
            let process = ProcessStat(of: group)
        else {
            groups = [.departed(UserID(caller.uid))]
            return
        }
        groups = [.process(id: group, start: process.start)]
        isWalker = Self.walkers.contains(process.name)
        isBackground = process.nice >= 10 || cl_is_io_idle(caller.thread) == 1
        // The children of init and of session managers have nothing in common.
        if process.parent > 1, let parent = ProcessStat(of: process.parent), !Self.launchers.contains(parent.name) {
            groups.append(.children(id: process.parent, start: parent.start))
        }
    }

    private static let walkers: Set<String> = [
        "find", "fd", "fdfind", "grep", "rg", "ag", "du", "tree", "rsync", "tar", "cp", "zip", "borg", "restic", "updatedb", "plocate",
        "tracker-miner-f", "localsearch-3", "baloo_file", "recollindex", "clamscan",
    ]

    private static let launchers: Set<String> = [
        "systemd", "init", "gnome-session-b", "gnome-shell", "plasmashell", "xfce4-session", "dbus-daemon", "dbus-broker",
    ]
}

/// The processes whose opens were met last. Many readers are gone a moment after they open something, so each is looked up
/// when it opens its first document; the next ones cost a lookup in this table.
final class ReaderProcesses: Sendable {
    private struct Known {
        let process: ReaderProcess
        let since: Int64
        /// How many opens were its, until now.
        var opens = 1
    }
    private let known = Locked<[pid_t: Known]>([:])
    private static let capacity = 256
    /// Thread ids are used again, though not that soon; and a process may be made nice.
    private static let lifetime: Int64 = 5_000_000_000

    func process(of caller: Caller) -> ReaderProcess {
        let now = Clock.now
        if let found = found(caller, now) { return found.process }
        let process = ReaderProcess(of: caller)
        known.withLock { known in
            if known.count >= Self.capacity { known.removeAll() }
            known[caller.thread] = Known(process: process, since: now)
        }
        return process
    }

    private func found(_ caller: Caller, _ now: Int64) -> Known? {
        known.withLock { known in
            guard let found = known[caller.thread], now - found.since < Self.lifetime else { return nil }
            known[caller.thread]?.opens += 1
            return found
        }
    }

    /// Whether somebody may be looking at what is opened: not a worker in the background, nor who has just read many documents.
    func isPerson(_ caller: Caller) -> Bool {
        let process = process(of: caller)
        return !process.isBackground && known.withLock { $0[caller.thread]?.opens ?? 0 } <= Self.mostOpens
    }

    /// In `lifetime`.
    private static let mostOpens = 20
}
