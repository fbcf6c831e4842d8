import CLinux
import Glibc
import StorePrimitives

/// Waits until the kernel shows the names of changes as the store has them (`KernelNames`), before anybody is told of these.
///
/// As a rule that is so already. The kernel makes changes in one folder one after the other, so the last one stands for all. An account
/// whose changes take long, e.g. of a program with little of the processor, is waited for once a second.
struct KernelCatchUp: ~Copyable {
    struct Change {
        let path: StorePath
        /// Nil: outside of the mount.
        let account: uid_t?
    }

    /// Nanoseconds for all changes of one call.
    private static let longest: Int64 = 100_000_000
    private static let pause: Int64 = 1_000_000_000
    private static let microsecondsBetweenLooks: UInt32 = 300
    /// Folders of an account in one call.
    private static let mostFolders = 32

    private let isBehind: @Sendable (StorePath) -> Bool
    /// By account; on the monotonic clock.
    private var waitsAgainAt: [uid_t?: Int64] = [:]

    init(isBehind: @escaping @Sendable (StorePath) -> Bool) { self.isBehind = isBehind }

    /// - Parameter changes: the latest first.
    mutating func wait(for changes: some Sequence<Change>) {
        let start = cl_monotonic_ns()
        waitsAgainAt = waitsAgainAt.filter { $0.value > start }
        var folders: Set<StorePath> = []
        var counts: [uid_t?: Int] = [:]
        for change in changes where waitsAgainAt[change.account] == nil && folders.insert(change.path.parent).inserted {
            let count = counts[change.account, default: 0]
            guard count < Self.mostFolders else { continue }
            counts[change.account] = count + 1
            while isBehind(change.path) {
                let now = cl_monotonic_ns()
                if now - start > Self.longest {
                    waitsAgainAt[change.account] = now + Self.pause
                    return
                }
                usleep(Self.microsecondsBetweenLooks)
            }
        }
    }
}
