import Coordination
import MountProtocol
import StorePrimitives

/// Who holds what, and who waits.
extension MountedStore {
    /// The oldest first; locks by path. To each user of the items accessible to them; a claim on something that is not accessible is not
    /// told of at all. Linear in all claims, presenters and locks, and in the files known if there are locks.
    func coordination(for caller: Credentials) -> CoordinationStatus {
        let access = fileSystem.tags.access
        let isUnlimited = access.isUnlimited(caller)
        func accessible<Item>(_ items: [Item], at path: (Item) -> StorePath) -> [Item] {
            isUnlimited ? items : zip(items, access.filter(items.map(path), caller)).filter(\.1).map(\.0)
        }
        let counts = fileSystem.transactions.counts
        let claims = fileSystem.coordinator.claims.filter { claim in
            isUnlimited || claim.holder.user == caller.uid || !access.filter(claim.paths, caller).contains(false)
        }
        let presenters = accessible(fileSystem.coordinator.presentedItems, at: \.path)
        return CoordinationStatus(
            claims: claims.map { claim in
                .init(
                    id: claim.id.rawValue, state: claim.phase.rawValue, paths: claim.paths.map(place), writing: claim.isWriting,
                    pid: claim.holder.process, process: claim.holder.name, uid: claim.holder.user, purpose: claim.holder.purpose,
                    age: claim.age, behind: claim.behind.map(\.rawValue), unpublished: counts[claim.id] ?? 0)
            },
            waitingOpens: fileSystem.coordinator.waitingOpens,
            presenters: presenters.prefix(Self.mostPresenters).map { item in
                .init(
                    path: place(item.path), contents: item.presenter.coversContents, pid: item.session.owner.process?.id ?? 0,
                    process: item.session.name, uid: item.session.owner.user, unsaved: item.presenter.hasUnsavedChanges,
                    silent: item.presenter.isSilent)
            },
            presenterCount: presenters.count,
            locks: accessible(locks, at: \.path).map { path, lock, waits in
                .init(
                    path: place(path), kind: lock.kind == .whole ? "flock" : "fcntl", exclusive: lock.mode == .exclusive,
                    start: lock.range.start, end: lock.range.end == .max ? nil : lock.range.end, pid: lock.pid, waits: waits)
            })
    }

    private static let mostPresenters = 100

    private var locks: [(path: StorePath, lock: AdvisoryLock, waits: Bool)] {
        let (held, waiting) = fileSystem.locks.listing
        guard !held.isEmpty || !waiting.isEmpty else { return [] }
        var paths: [UInt64: StorePath] = [:]
        for node in fileSystem.table.all where node.isRegular || node.isFolder {
            if let path = fileSystem.saves.path(of: node) { paths[node.lockKey] = path }
        }
        let all = held.map { ($0, false) } + waiting.map { ($0, true) }
        return all.compactMap { lock, waits in paths[lock.document.rawValue].map { (path: $0, lock: lock, waits: waits) } }
            .sorted { ($0.path.description, $0.lock.range.start) < ($1.path.description, $1.lock.range.start) }
    }
}
