import CLinux
public import Coordination
import Glibc

/// Who was found to hold a version.
public struct Holders: Hashable, Sendable {
    /// Nobody holds it: not by a descriptor for writing, nor by a mapping. False in doubt.
    public var areNone = true
    /// It could not be found out.
    public var isInDoubt = false
    /// Processes that were not known to have had it, and do. As far as the scan went: it ends when the answer is clear.
    public var inheritors: Set<SaveProcess> = []
}

extension ProcessTable {
    /// Whether anybody has a version open for writing.
    ///
    /// Looks at the processes known to have had it, and at each one started since, for those may have inherited it, even if the
    /// one that started them is gone. Descriptors that wait in sockets or in io_uring are not seen, nor those that were sent to
    /// a process that was there before: of these the kernel tells by RELEASE.
    ///
    /// - Parameters:
    ///   - moment: before the version was first opened for writing. Nil if that is not known: then the oldest of `processes`
    ///     says from when on it may have been inherited.
    ///   - mayBeMapped: one of its handles was opened for reading and writing, without which it cannot be mapped.
    ///   - skipped: a process that has been looked at, and does not hold it.
    ///
    /// 20 µs for a process with five descriptors, and as much for each one started since.
    public func holders(
        _ processes: Set<SaveProcess>, of trace: VersionTrace, since moment: SaveMoment?, mayBeMapped: Bool,
        skipping skipped: pid_t? = nil
    ) -> Holders {
        var holders = Holders()
        for process in processes where process.id != skipped {
            switch holding(process.id, trace, mayBeMapped: mayBeMapped) {
            case .none: continue
            case .unknown: (holders.areNone, holders.isInDoubt) = (false, true)
            case .holds:
                holders.areNone = false
                // The number may be somebody else's by now.
                if let holder = current(process.id), holder != process { holders.inheritors.insert(holder) }
            }
            return holders
        }
        guard let moment = moment ?? Self.moment(before: processes), var last = lastProcess() else {
            return Holders(areNone: false, isInDoubt: true)
        }
        var births = Births(table: self, trace: trace, mayBeMapped: mayBeMapped, known: processes, skipped: skipped, moment: moment)
        let age = cl_boot_ticks() &- min(moment.ticks, cl_boot_ticks())
        if moment.lastProcess == .max
            || BirthRange.mayHaveLapped(age: age, ticksPerSecond: cl_ticks_per_second(), below: numberLimit)
        {
            births.scan(allSince: moment.ticks)
        } else {
            births.scan(after: moment.lastProcess, through: last)
        }
        // Somebody may have been started while this scanned.
        var rounds = 0
        while births.holders.areNone {
            guard let now = lastProcess() else { return Holders(areNone: false, isInDoubt: true) }
            if now == last { break }
            rounds += 1
            if rounds > Self.maximumRounds { return Holders(areNone: false, isInDoubt: true) }
            births.scan(after: last, through: now)
            last = now
        }
        return births.holders
    }

    /// Beside programs that start others all the time, and with this thread kept from the processor, one round after another finds
    /// somebody new; each scans those alone. In doubt close(2) would be answered before the version is there.
    private static let maximumRounds = 200

    /// When the oldest of some processes was started.
    private static func moment(before processes: Set<SaveProcess>) -> SaveMoment? {
        processes.min { $0.start < $1.start }.map { SaveMoment(ticks: $0.start, lastProcess: $0.id) }
    }
}

/// The search among processes that were started since a version was opened.
private struct Births {
    let table: ProcessTable
    let trace: VersionTrace
    let mayBeMapped: Bool
    let known: Set<SaveProcess>
    let skipped: pid_t?
    let moment: SaveMoment
    var holders = Holders()
    private var scanned = 0
    private var passed = 0
    /// The users that the known processes are; empty if that is not to be seen. Read when a process is met that was started since: after most
    /// saves there is none.
    private lazy var users = known.map(\.id).reduce(into: skipped.map { Set(table.users(of: $0)) } ?? []) {
        $0.formUnion(table.users(of: $1))
    }
    /// Processes of other users that have been found to descend from none of the known ones.
    private var strangers: Set<pid_t> = []

    /// More are not scanned: then it is unknown.
    private static let maximum = 4000
    /// After this many, a process is first asked whether it can have the version at all, for half of what a scan costs.
    private static let scannedAtOnce = 64
    /// So many that cannot are passed over, which takes 0.2 s.
    private static let mostPassed = 20_000
    /// Up to this many numbers are tried one by one, at 0.5 µs, before all of /proc is listed, at some 0.5 µs for each process.
    private static let tried = 64

    init(
        table: ProcessTable, trace: VersionTrace, mayBeMapped: Bool, known: Set<SaveProcess>, skipped: pid_t?, moment: SaveMoment
    ) {
        self.table = table
        self.trace = trace
        self.mayBeMapped = mayBeMapped
        self.known = known
        self.skipped = skipped
        self.moment = moment
    }

    mutating func scan(after last: Int32, through now: Int32) {
        let ranges = BirthRange.numbers(after: last, through: now, below: table.numberLimit)
        let count = ranges.reduce(0) { $0 + $1.count }
        if count <= Self.tried || !table.listsEveryone && count <= Self.maximum {
            for range in ranges { for id in range where !scan(id) { return } }
        } else if table.listsEveryone {
            list { birth in ranges.contains { $0.contains(birth) } }
        } else {
            (holders.areNone, holders.isInDoubt) = (false, true)
        }
    }

    mutating func scan(allSince ticks: UInt64) {
        guard table.listsEveryone else {
            (holders.areNone, holders.isInDoubt) = (false, true)
            return
        }
        list { [table] id in table.proc.stat(of: id).map { $0.start >= ticks } ?? true }
    }

    private mutating func list(where isBirth: (pid_t) -> Bool) {
        let result = table.proc.numbers(in: ".") { !isBirth($0) || scan($0) }
        if result < 0 { (holders.areNone, holders.isInDoubt) = (false, true) }
    }

    /// False if there is no need to look any further.
    private mutating func scan(_ id: pid_t) -> Bool {
        // Numbers of other threads than the first are passed over: threads share their descriptors.
        if id == skipped || known.contains(where: { $0.id == id }) || cl_is_process(id) == 0 { return true }
        if isStranger(id) {
            passed += 1
            return true
        }
        // Thousands that nobody has waited for, or that were there before, do not keep the others from being looked at.
        if scanned >= Self.scannedAtOnce, passed < Self.mostPassed, let stat = table.proc.stat(of: id),
            stat.isOver || stat.start < moment.ticks
        {
            passed += 1
            return true
        }
        scanned += 1
        guard scanned <= Self.maximum else {
            (holders.areNone, holders.isInDoubt) = (false, true)
            return false
        }
        switch table.holding(id, trace, mayBeMapped: mayBeMapped) {
        case .none: return true
        case .unknown:
            // Another user's, as there are many. It can only hold the version if it comes from somebody who had it.
            guard mayDescend(id) else { return true }
            (holders.areNone, holders.isInDoubt) = (false, true)
        case .holds:
            holders.areNone = false
            if let holder = table.current(id) { holders.inheritors.insert(holder) }
        }
        // One is enough to know; who else has inherited it is asked again when that one closes.
        return false
    }

    /// Whether it is another user's, and descends from no process that is known to have had the version: then it is not looked at, since it
    /// may have so many descriptors, and keep who reads its mappings waiting so long, that nobody's close(2) would return. Reads nothing
    /// that an exec holds up.
    private mutating func isStranger(_ id: pid_t) -> Bool {
        guard !users.isEmpty, !table.isOne(of: users, id, isCheap: !mayBeMapped) else { return false }
        var (current, passed) = (id, [id])
        while passed.count < Self.mostGenerations, !strangers.contains(current) {
            guard let parent = table.parent(of: current), parent > 1 else { break }
            if parent == skipped || known.contains(where: { $0.id == parent }) { return false }
            passed.append(parent)
            current = parent
        }
        strangers.formUnion(passed)
        return true
    }

    private static let mostGenerations = 64

    /// Whether a process descends from one that is known to have had the version, as far as its parents show: one that became
    /// another user's and was left by its parent is missed.
    private func mayDescend(_ id: pid_t) -> Bool {
        var id = id
        // Deeper rows of processes that are all in an exec are not met.
        for _ in 0..<16 {
            if let process = table.current(id) {
                return table.ancestors(of: process, since: moment).contains { $0.id == skipped || known.contains($0) }
            }
            // In an exec, which hides the start, but not the parent. A parent of another namespace has the number 0.
            guard let parent = table.parent(of: id), parent > 0 else { return cl_is_process(id) != 0 }
            if parent == skipped || known.contains(where: { $0.id == parent }) { return true }
            id = parent
        }
        return true
    }
}
