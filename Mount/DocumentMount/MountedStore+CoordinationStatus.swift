public import Coordination
import Glibc
public import StorePrimitives

/// Who holds what, and who waits: to each user of the items accessible to them.
public struct CoordinationSnapshot: Sendable {
    public struct ClaimEntry: Sendable {
        public let id: ClaimID
        public let phase: ClaimPhase
        public let paths: [StorePath]
        public let isWriting: Bool
        public let holder: ClaimHolder
        /// In seconds.
        public let age: Double
        public let behind: [ClaimID]
        /// Names staged for it.
        public internal(set) var unpublished = 0
    }

    public struct PresenterEntry: Sendable {
        public let path: StorePath
        public let coversContents: Bool
        public let process: Int32
        public let name: String
        public let user: UInt32
        public let hasUnsavedChanges: Bool
        public let isSilent: Bool
    }

    public struct LockEntry: Sendable {
        public let path: StorePath
        /// Of the whole document, by flock(2).
        public let isWhole: Bool
        public let isExclusive: Bool
        public let start: Int64
        /// Nil: to the end of the document.
        public let end: Int64?
        public let process: Int32
        public let waits: Bool
    }

    public internal(set) var claims: [ClaimEntry]
    public let waitingOpens: Int
    public internal(set) var presenters: [PresenterEntry]
    public internal(set) var locks: [LockEntry]
}

extension MountedStore {
    /// The oldest first; locks by path. Linear in all claims, presenters and locks, and in the files known if there are locks.
    public func coordination(for caller: Credentials) -> CoordinationSnapshot {
        var found = fileSystem.coordinator.snapshot
        found.locks = locks
        let counts = fileSystem.transactions.counts
        for index in found.claims.indices { found.claims[index].unpublished = counts[found.claims[index].id] ?? 0 }
        let access = fileSystem.tags.access
        guard !access.isUnlimited(caller) else { return found }
        // A claim on something that is not accessible is not told of at all.
        found.claims.removeAll { claim in claim.holder.user != caller.uid && access.filter(claim.paths, caller).contains(false) }
        let arePresentersAccessible = access.filter(found.presenters.map(\.path), caller)
        found.presenters = zip(found.presenters, arePresentersAccessible).filter(\.1).map(\.0)
        let areLocksAccessible = access.filter(found.locks.map(\.path), caller)
        found.locks = zip(found.locks, areLocksAccessible).filter(\.1).map(\.0)
        return found
    }

    private var locks: [CoordinationSnapshot.LockEntry] {
        let (held, waiting) = fileSystem.locks.listing
        guard !held.isEmpty || !waiting.isEmpty else { return [] }
        var paths: [UInt64: StorePath] = [:]
        for node in fileSystem.table.all where node.isRegular || node.isFolder {
            if let path = fileSystem.saves.path(of: node) { paths[node.lockKey] = path }
        }
        func shown(_ lock: AdvisoryLock, waits: Bool) -> CoordinationSnapshot.LockEntry? {
            paths[lock.document.rawValue].map { path in
                CoordinationSnapshot.LockEntry(
                    path: path, isWhole: lock.kind == .whole, isExclusive: lock.mode == .exclusive, start: lock.range.start,
                    end: lock.range.end == .max ? nil : lock.range.end, process: lock.pid, waits: waits)
            }
        }
        return (held.compactMap { shown($0, waits: false) } + waiting.compactMap { shown($0, waits: true) })
            .sorted { ($0.path.description, $0.start) < ($1.path.description, $1.start) }
    }
}
