import CoordinationService
import DocumentMount
import StorePrimitives

/// What `quire status` tells of claims, presenters and locks.
extension ServedMount {
    func coordination(for caller: Credentials) -> CoordinationStatus {
        let found = store.coordination(for: caller)
        return CoordinationStatus(
            claims: found.claims.map { claim in
                .init(
                    id: claim.id.rawValue, state: claim.phase.rawValue, paths: claim.paths.map(place), writing: claim.isWriting,
                    pid: claim.holder.process, process: claim.holder.name, uid: claim.holder.user, purpose: claim.holder.purpose,
                    age: claim.age, behind: claim.behind.map(\.rawValue), unpublished: claim.unpublished)
            },
            waitingOpens: found.waitingOpens,
            presenters: found.presenters.prefix(Self.mostPresenters).map { presenter in
                .init(
                    path: place(presenter.path), contents: presenter.coversContents, pid: presenter.process,
                    process: presenter.name, uid: presenter.user, unsaved: presenter.hasUnsavedChanges,
                    silent: presenter.isSilent)
            },
            presenterCount: found.presenters.count,
            locks: found.locks.map { lock in
                .init(
                    path: place(lock.path), kind: lock.isWhole ? "flock" : "fcntl", exclusive: lock.isExclusive,
                    start: lock.start, end: lock.end, pid: lock.process, waits: lock.waits)
            })
    }

    private static let mostPresenters = 100
}
