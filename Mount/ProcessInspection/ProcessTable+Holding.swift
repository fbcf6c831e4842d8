import CLinux
import Coordination
import Glibc

/// Whether somebody has a version open for writing, or mapped.
enum Holding {
    case none
    case holds
    /// It has descriptors or mappings that cannot be seen.
    case unknown
}

/// What a scan of one table of descriptors shows.
enum DescriptorScan: Equatable {
    /// A descriptor on the version, open for writing.
    case holds
    /// Descriptors, but none on the version.
    case others
    /// None: all are closed, or its threads are past that point of their exit, or gone.
    case empty
    /// There are some that are not shown, or files that have none: those registered with an io_uring.
    case hidden
    /// Nothing at all is shown.
    case unreadable
}

extension ProcessTable {
    /// Scans the descriptors of a thread: about 5 µs and 2.5 for each.
    func scan(_ thread: pid_t, for trace: VersionTrace) -> DescriptorScan {
        var hasRing = false
        let scan = scan(thread, for: trace, &hasRing)
        return hasRing && scan == .others ? .hidden : scan
    }

    private func scan(_ thread: pid_t, for trace: VersionTrace, _ hasRing: inout Bool) -> DescriptorScan {
        guard countsDescriptors else {
            return scan(listing: thread, for: trace, byLink: !proc.isInExec(thread), &hasRing)
        }
        let count = ProcFolder.withPath(thread, "fd") { cl_count_descriptors(proc.folder.number, $0) }
        guard count > 0 else { return count == 0 ? .empty : isGone(thread, errno: Int32(clamping: -count)) ? .empty : .unreadable }
        if proc.isInExec(thread) { return scan(listing: thread, for: trace, byLink: false, &hasRing) }
        // Descriptors have the lowest numbers that are free, so trying those is cheaper than listing them.
        var (found, number) = (Int64(0), Int32(0))
        while found < count, Int64(number) < found + 4 {
            switch scan(thread, number, for: trace, &hasRing) {
            case .holds: return .holds
            case .others: found += 1
            case .empty: break
            case .hidden, .unreadable: return .hidden
            }
            number += 1
        }
        if found == count { return .others }
        let rest = scan(listing: thread, from: number, for: trace, &hasRing)
        return found > 0 && rest == .empty ? .others : rest
    }

    /// - Parameter byLink: read where links lead, which is cheaper, but may have to wait for an exec.
    private func scan(
        listing thread: pid_t, from first: Int32 = 0, for trace: VersionTrace, byLink: Bool = true, _ hasRing: inout Bool
    ) -> DescriptorScan {
        var scan = DescriptorScan.empty
        let result = ProcFolder.withPath(thread, "fd") { path in
            proc.numbers(in: path) { number in
                guard number >= first else { return true }
                switch byLink ? self.scan(thread, number, for: trace, &hasRing) : writes(thread, number, trace) {
                case .holds: scan = .holds
                case .others: scan = .others
                case .empty: break
                case .hidden, .unreadable: scan = .hidden
                }
                return scan != .holds && scan != .hidden
            }
        }
        if result == 0 { return scan }
        return isGone(thread, errno: Int32(clamping: -result)) ? .empty : .unreadable
    }

    /// One descriptor: `.empty` if there is none of this number.
    private func scan(_ thread: pid_t, _ number: Int32, for trace: VersionTrace, _ hasRing: inout Bool) -> DescriptorScan {
        withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX) + 16, alignment: 1) { buffer in
            let length = ProcFolder.withPath(thread, "fd", number) {
                cl_readlinkat(proc.folder.number, $0, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
            }
            switch Int32(clamping: length) {
            case -ENOENT, -ESRCH: return .empty
            // A path that is too long to be told may end in anything.
            case -ENAMETOOLONG: return writes(thread, number, trace, buffer)
            case ..<0: return .hidden
            default:
                let path = UnsafeRawBufferPointer(rebasing: buffer[..<length])
                if trace.matches(path: path) { return writes(thread, number, trace, buffer) }
                if Self.isRing(path), hasFiles(ring: number, of: thread) { hasRing = true }
                return .others
            }
        }
    }

    private static func isRing(_ path: UnsafeRawBufferPointer) -> Bool {
        let name: StaticString = "anon_inode:[io_uring]"
        return path.count == name.utf8CodeUnitCount && memcmp(path.baseAddress!, name.utf8Start, path.count) == 0
    }

    /// Whether files may be registered with an io_uring. A ring that is in use does not tell, and counts as one that has some.
    private func hasFiles(ring number: Int32, of thread: pid_t) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 2048, alignment: 1) { buffer in
            let length = proc.read(thread, "fdinfo", number, into: buffer)
            guard length > 0 else { return true }
            var text = ProcText(UnsafeRawBufferPointer(rebasing: buffer[..<length]))
            return !text.find("UserFiles:") || text.number() != 0
        }
    }

    /// Whether a descriptor, which has the right name or may have it, is open on the version for writing.
    private func writes(_ thread: pid_t, _ number: Int32, _ trace: VersionTrace) -> DescriptorScan {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { writes(thread, number, trace, $0) }
    }

    private func writes(
        _ thread: pid_t, _ number: Int32, _ trace: VersionTrace, _ buffer: UnsafeMutableRawBufferPointer
    ) -> DescriptorScan {
        let length = proc.read(thread, "fdinfo", number, into: buffer)
        guard length > 0 else { return length == -Int(ENOENT) || length == -Int(ESRCH) ? .empty : .hidden }
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<length])
        var text = ProcText(bytes)
        // The last octal digit's lower bits: 1 for O_WRONLY, 2 for O_RDWR.
        guard text.find("flags:"), text.number() & 3 != 0 else { return .others }
        text = ProcText(bytes)
        // Before Linux 5.14 the inode is not told: then the name has to do.
        return !text.find("ino:") || trace.inodes.contains(text.number()) ? .holds : .others
    }

    /// Whether an error in scanning a thread means that it is no more, rather than hidden.
    private func isGone(_ thread: pid_t, errno: Int32) -> Bool {
        (errno == ENOENT || errno == ESRCH) && cl_is_process(thread) == 0 && proc.stat(of: thread) == nil
    }

    /// Whether a process holds the version by any of its threads.
    func holding(_ process: pid_t, _ trace: VersionTrace, mayBeMapped: Bool) -> Holding {
        switch scan(process, for: trace) {
        case .holds: return .holds
        case .hidden: return .unknown
        case .others:
            let others = holding(otherTablesOf: process, than: process, trace)
            if others != .none { return others }
        case .unreadable:
            guard let stat = proc.stat(of: process) else { return cl_is_process(process) == 0 ? .none : .unknown }
            return stat.isOver ? .none : .unknown
        case .empty:
            if proc.isInExec(process) { return .none }
            // The first thread may have ended before the others, which then have the table.
            guard let stat = proc.stat(of: process) else { return cl_is_process(process) == 0 ? .none : .unknown }
            if stat.isOver { return .none }
            if stat.threads > 1 {
                let others = holding(otherTablesOf: process, than: process, trace)
                if others != .none { return others }
            }
        }
        return mayBeMapped ? mapping(process, trace) : .none
    }

    /// Whether a process holds the version by a table of descriptors that only others of its threads have: most share one, but
    /// unshare(2) gives a thread its own, and the first thread may have ended before the others. 1 µs for a process with
    /// one thread, and as much for each further one that shares a table with a thread that was scanned.
    ///
    /// - Parameter seen: a thread of it whose table was scanned.
    func holding(otherTablesOf process: pid_t, than seen: pid_t, _ trace: VersionTrace) -> Holding {
        let threads = ProcFolder.withPath(process, "task") { cl_count_threads(proc.folder.number, $0) }
        if threads == 1, seen == process { return .none }
        // A process in an exec has one thread, too.
        if proc.isInExec(process) { return .none }
        var (holding, scans, last) = (Holding.none, 0, seen)
        let result = ProcFolder.withPath(process, "task") { path in
            proc.numbers(in: path) { thread in
                if thread == seen || cl_share_descriptors(thread, seen) == 1 || cl_share_descriptors(thread, last) == 1 {
                    return true
                }
                scans += 1
                guard scans <= Self.maximumTables else {
                    holding = .unknown
                    return false
                }
                switch scan(thread, for: trace) {
                case .holds: holding = .holds
                case .hidden: holding = .unknown
                case .unreadable: if proc.stat(of: thread)?.isExiting == false { holding = .unknown }
                case .others: last = thread
                case .empty: break
                }
                return holding == .none
            }
        }
        return result == 0 || cl_is_process(process) == 0 ? holding : .unknown
    }

    /// More tables of one process are not scanned, nor more of its threads where it is not told which share one.
    private static let maximumTables = 64

    /// Whether a process has the version mapped so that what it stores there is written. 20 µs and more; unknown while
    /// `maximumMapReaders` others look, for a process may keep who reads its mappings waiting as long as it likes.
    func mapping(_ process: pid_t, _ trace: VersionTrace) -> Holding {
        // An exec has let go of all mappings before.
        if proc.isInExec(process) { return .none }
        defer { mapReaders.subtract(1, ordering: .relaxed) }
        guard mapReaders.wrappingAdd(1, ordering: .relaxed).oldValue < Self.maximumMapReaders else { return .unknown }
        let result = proc.firstLine(process, "maps") { line in
            // "address permissions offset device inode    path"
            var text = ProcText(line)
            text.skipFields(1)
            guard text.index + 4 < line.count, line[text.index + 3] == UInt8(ascii: "s") else { return false }
            text.skipFields(3)
            guard trace.inodes.contains(text.number()) else { return false }
            text.skip(UInt8(ascii: " "))
            return trace.matches(escapedPath: UnsafeRawBufferPointer(rebasing: line[text.index...]))
        }
        switch Int32(clamping: result) {
        case 1: return .holds
        case 0, -ESRCH: return .none
        default: return cl_is_process(process) == 0 || proc.stat(of: process)?.isOver == true ? .none : .unknown
        }
    }
}
