import CLinux
import Glibc
import StorePrimitives

/// Waits until the kernel shows the names of changes as the store has them (`KernelNames`), before anybody is told of these.
///
/// As a rule that is so already, and one check finds it. The kernel makes, removes and renames in one folder one after the other,
/// so the last of these stands for all. Programs with little of the processor have their changes take long: where several share the
/// mount, they hold up others for a part of the time at most (`Budget`).
struct KernelCatchUp: ~Copyable {
    struct Change {
        let path: StorePath
        /// Nothing is there any more.
        let isGone: Bool
        /// Made with the folder locked: whatever else was so made in it before the kernel shows, too.
        let locksFolder: Bool
        /// Nil: outside of the mount.
        let account: uid_t?
    }

    /// The time that may be spent on waiting, in nanoseconds. It fills up as time passes.
    private struct Budget {
        private static let most: Int64 = 1_000_000_000
        private let percent: Int64
        private var left = Budget.most
        private var since: Int64

        init(percent: Int64, _ now: Int64) { (self.percent, since) = (percent, now) }

        mutating func fill(_ now: Int64) {
            left = min(Self.most, left.adding(clamping: (now - since) / 100 * percent))
            since = now
        }

        mutating func spend(_ time: Int64) { left = left.adding(clamping: -time) }

        var isSpent: Bool { left <= 0 }
        var isFull: Bool { left == Self.most }
    }

    private static let percentOfAccount: Int64 = 30
    private static let microsecondsBetweenPolls: UInt32 = 300
    /// Names in one call; of more than these the latest changes count, of each account in turn.
    private static let mostNames = 32

    private let names: KernelNames
    private let isForOne: Bool
    /// Nanoseconds for all changes of one call.
    private let longest: Int64
    private var ofAll = Budget(percent: 50, cl_monotonic_ns())
    private var ofAccounts: [uid_t?: Budget] = [:]

    /// - Parameter isForOne: the mount has one user, who holds up nobody else.
    init(names: KernelNames, isForOne: Bool) {
        self.names = names
        self.isForOne = isForOne
        longest = isForOne ? 1_000_000_000 : 150_000_000
    }

    /// - Parameter changes: the latest first.
    mutating func wait(for changes: some Sequence<Change>) {
        let start = cl_monotonic_ns()
        fillBudgets(start)
        guard isForOne || !ofAll.isSpent else { return }
        var left = latest(of: changes).compactMap { names.expected($0) }
        var last = start
        while let behind = names.firstBehind(of: left) {
            left = Array(left.dropFirst(behind))
            guard let first = left.first else { return }
            if names.isStill(first) { usleep(Self.microsecondsBetweenPolls) } else { left = Array(left.dropFirst()) }
            let now = cl_monotonic_ns()
            spend(now - last, for: first.change.account, now)
            last = now
            if now - start > longest { return }
        }
    }

    private mutating func fillBudgets(_ now: Int64) {
        ofAll.fill(now)
        for account in ofAccounts.keys { ofAccounts[account]?.fill(now) }
        ofAccounts = ofAccounts.filter { !$0.value.isFull }
    }

    private mutating func spend(_ time: Int64, for account: uid_t?, _ now: Int64) {
        if isForOne { return }
        ofAll.spend(time)
        ofAccounts[account, default: Budget(percent: Self.percentOfAccount, now)].spend(time)
    }

    /// The last change of each name, and of those with the folder locked the last one.
    private func latest(of changes: some Sequence<Change>) -> [Change] {
        var (folders, names): (Set<StorePath>, Set<StorePath>) = ([], [])
        var found: [uid_t?: [Change]] = [:]
        for change in changes where ofAccounts[change.account]?.isSpent != true {
            guard found[change.account]?.count ?? 0 < Self.mostNames,
                change.locksFolder ? folders.insert(change.path.parent).inserted : names.insert(change.path).inserted
            else { continue }
            found[change.account, default: []].append(change)
        }
        var (latest, bytes): ([Change], Int) = ([], 0)
        for turn in 0..<Self.mostNames {
            for ofAccount in found.values where turn < ofAccount.count {
                let change = ofAccount[turn]
                bytes += change.path.bytes.count + Self.bytesOfNumber
                guard latest.count < Self.mostNames, bytes <= KernelNames.most else { return latest }
                latest.append(change)
            }
        }
        return latest
    }

    /// An inode's number in decimal, and two ends of strings.
    private static let bytesOfNumber = 22
}
