import CLinux
public import Coordination
import Glibc
import StorePrimitives
import Synchronization

/// Identities and relations of the system's processes, as far as saves need them (saves, rules 4, 9 and 10:
/// Mount/DocumentMount/Saves/README.md).
///
/// Reads text and folders of /proc, and the targets of its links; never goes through a link. Nothing here allocates but the
/// results. Any number of threads may use one table. Figures are for a machine on which a system call takes 0.2 µs.
public final class ProcessTable: Sendable {
    let proc: ProcFolder
    private let load: Descriptor
    private let known = KnownThreads()
    let mapReaders = Atomic<Int>(0)
    /// A few of the threads that serve the mount.
    static let maximumMapReaders = 4
    /// Numbers of processes stay below this.
    let numberLimit: Int32
    /// The kernel tells how many descriptors a process has (Linux 6.2).
    let countsDescriptors: Bool
    /// Every process is listed in /proc, whoever runs it (no `hidepid`).
    let listsEveryone: Bool
    /// The names of relays, as `StatLine.name` has them.
    private let relays: Set<UInt64>
    let reopeners = Reopeners()

    /// Nil without /proc.
    /// - Parameter relays: the names of programs that serve others' files, as ps(1) shows them.
    public init?(relays: [String] = []) {
        guard let proc = ProcFolder(), let load = try? Descriptor(opening: "/proc/loadavg", flags: O_RDONLY) else { return nil }
        self.proc = proc
        self.load = load
        self.relays = Set(relays.map(StatLine.hashedName))
        countsDescriptors = ProcFolder.withPath(getpid(), "fd") { cl_count_descriptors(proc.folder.number, $0) } > 0
        listsEveryone = proc.stat(of: 1) != nil
        numberLimit = withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { buffer in
            guard let file = try? Descriptor(opening: "/proc/sys/kernel/pid_max", flags: O_RDONLY) else { return 1 << 22 }
            let length = cl_read(file.number, buffer.baseAddress, buffer.count)
            guard length > 0 else { return 1 << 22 }
            var text = ProcText(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            return Int32(clamping: text.number())
        }
    }

    // MARK: - Who

    /// The process that a thread is of. Nil for thread 0, and if it is gone or hidden, or in an exec and has not been met
    /// shortly before. What was found counts for 250 ms: 0.1 µs, else 11 µs, 24 µs for another thread than the first.
    public func process(of thread: pid_t) -> SaveProcess? { lookUp(thread)?.process }

    /// Whether a thread works for an io_uring: what it opens may be a file that no descriptor is on. As much as `process(of:)`.
    public func isRingWorker(_ thread: pid_t) -> Bool { lookUp(thread)?.isRingWorker ?? false }

    /// The parent, the parent's parent and so on, as far as they bear on whether a process comes from a save begun at
    /// `moment`: up to the first that is not younger, that one included. Empty for a process that is not younger itself.
    /// As much as `process(of:)` for each.
    public func ancestors(of process: SaveProcess, since moment: SaveMoment) -> [SaveProcess] {
        var ancestors: [SaveProcess] = []
        var descendant = process
        // Deeper trees than this come from nothing but runaway forks.
        while descendant.isYounger(than: moment), ancestors.count < 256 {
            guard let known = lookUp(descendant.id), known.process == descendant, known.parent > 0,
                let parent = lookUp(known.parent)?.process, parent.start <= descendant.start
            else { break }
            ancestors.append(parent)
            descendant = parent
        }
        return ancestors
    }

    /// Now: what is started from here on is younger, except what shares the clock tick after the numbers have begun anew.
    /// 1.2 µs.
    public func moment() -> SaveMoment {
        // The number last: a process started between the two has then the later time, if not the higher number.
        let ticks = cl_boot_ticks()
        return SaveMoment(ticks: ticks, lastProcess: lastProcess() ?? .max)
    }

    /// The number given last to a process or thread.
    func lastProcess() -> Int32? {
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            // "0.00 0.01 0.05 1/123 4567\n"
            let length = cl_pread(load.number, buffer.baseAddress, buffer.count, 0)
            guard length > 0, let space = buffer[..<length].lastIndex(of: UInt8(ascii: " ")) else { return nil }
            var text = ProcText(UnsafeRawBufferPointer(rebasing: buffer[..<length]), from: space + 1)
            let number = Int32(clamping: text.number())
            return number > 0 ? number : nil
        }
    }

    func lookUp(_ thread: pid_t) -> KnownThread? {
        guard thread > 0 else { return nil }
        let now = KnownThreads.now
        if let found = known.find(thread, now) { return found }
        guard let (id, isRingWorker) = identity(of: thread) else { return nil }
        // An exec keeps number and start, but hides the start while it lasts.
        guard let stat = proc.stat(of: id) else { return proc.isInExec(id) ? known.find(id, now, inExec: true) : nil }
        let process = SaveProcess(id: id, start: stat.start)
        let found = KnownThread(
            thread: thread, process: process, parent: stat.parent, isRingWorker: isRingWorker,
            isRelay: relays.contains(stat.name) || reopeners.isServer(process), since: now)
        known.remember(found)
        return found
    }

    /// Has the thread looked at anew when it is asked about next.
    func forget(_ thread: pid_t) { known.forget(thread) }

    /// The process (thread group) that a thread is of.
    func group(of thread: pid_t) -> pid_t? { identity(of: thread)?.process }

    private func identity(of thread: pid_t) -> (process: pid_t, isRingWorker: Bool)? {
        if cl_is_process(thread) != 0 { return (thread, false) }
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) { buffer in
            let length = proc.read(thread, "status", into: buffer)
            guard length > 0 else { return nil }
            var text = ProcText(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            // The kernel's name for it; another that calls itself so has its saves end a little later.
            let isRingWorker = text.find("Name:") && text.hasPrefix("iou-wrk-")
            guard text.find("Tgid:") else { return nil }
            let id = pid_t(truncatingIfNeeded: text.number())
            return id > 0 ? (id, isRingWorker) : nil
        }
    }

    /// Whether there is such a thread, as far as can be seen.
    public func isThread(_ thread: pid_t) -> Bool { thread > 0 && proc.stat(of: thread) != nil }

    /// The parent's number, which is shown of processes in an exec too.
    func parent(of id: pid_t) -> pid_t? {
        withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) { buffer in
            let length = proc.read(id, "status", into: buffer)
            guard length > 0 else { return nil }
            var text = ProcText(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            guard text.find("PPid:") else { return nil }
            return pid_t(truncatingIfNeeded: text.number())
        }
    }

    /// Its real, effective, saved and file system user; empty if they are not to be seen. Shown of processes in an exec too.
    func users(of id: pid_t) -> [uid_t] {
        withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) { buffer in
            let length = proc.read(id, "status", into: buffer)
            guard length > 0 else { return [] }
            var text = ProcText(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            guard text.find("Uid:") else { return [] }
            return (0..<4).map { _ in
                text.skip(UInt8(ascii: "\t"))
                return uid_t(truncatingIfNeeded: text.number())
            }
        }
    }

    /// Whether a process is one of some users, as far as can be seen. 1 µs; 15 for those that /proc shows as root's, which others' are too that
    /// are not to be dumped (prctl(2)).
    ///
    /// - Parameter isCheap: such a one with few descriptors is not looked at more closely if root is among the users.
    func isOne(of users: Set<uid_t>, _ id: pid_t, isCheap: Bool) -> Bool {
        var status = cl_status()
        let result = ProcFolder.withPath(id, "status") { cl_statx(proc.folder.number, $0, AT_SYMLINK_NOFOLLOW, &status) }
        guard result == 0 else { return true }
        guard status.st.st_uid == 0 else { return users.contains(status.st.st_uid) }
        if isCheap, users.contains(0), hasFewDescriptors(id) { return true }
        return !users.isDisjoint(with: self.users(of: id))
    }

    private func hasFewDescriptors(_ id: pid_t) -> Bool {
        countsDescriptors && ProcFolder.withPath(id, "fd") { cl_count_descriptors(proc.folder.number, $0) } <= Self.few
    }

    private static let few = 256

    /// As `process(of:)` for a process's own number, as it is at this moment.
    func current(_ id: pid_t) -> SaveProcess? { proc.stat(of: id).map { SaveProcess(id: id, start: $0.start) } }
}

struct KnownThread {
    let thread: pid_t
    let process: SaveProcess
    let parent: pid_t
    let isRingWorker: Bool
    let isRelay: Bool
    let since: Int64
}

/// The threads met last. A number is used again only after all the others, which takes longer than what is kept here counts.
private final class KnownThreads: @unchecked Sendable {
    private static let lifetime: Int64 = 250_000_000
    /// For one whose start is not shown.
    private static let lifetimeInExec: Int64 = 10_000_000_000
    private static let places = 256
    private let lock = ThreadLock()
    /// A thread has one place, by its number. Guarded by `lock`, a leaf.
    private var threads = [KnownThread?](repeating: nil, count: places)

    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    func find(_ thread: pid_t, _ now: Int64, inExec: Bool = false) -> KnownThread? {
        let found = lock.withLock { threads[Int(thread) % Self.places] }
        guard let found, found.thread == thread, now - found.since < (inExec ? Self.lifetimeInExec : Self.lifetime)
        else { return nil }
        return found
    }

    func remember(_ thread: KnownThread) {
        lock.withLock { threads[Int(thread.thread) % Self.places] = thread }
    }

    /// Of a thread that was looked up: its number is positive.
    func forget(_ thread: pid_t) {
        lock.withLock { if threads[Int(thread) % Self.places]?.thread == thread { threads[Int(thread) % Self.places] = nil } }
    }
}
