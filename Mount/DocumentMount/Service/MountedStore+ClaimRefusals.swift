import Coordination
import Glibc
import MountProtocol
import StorePrimitives

/// The errors that answer refused claims.
extension MountedStore {
    func failure(_ refusal: ClaimRefusal, for asker: Credentials) -> ServiceFailure {
        switch refusal {
        case .timedOut(let holders) where holders.isEmpty: .timedOut("not granted in time: a presenter did not answer, or others' snapshots took long")
        case .timedOut(let holders): .timedOut("not granted in time: \(text(holders, for: asker))")
        case .deadlock(let holders): .deadlock("waiting would never end: \(text(holders, for: asker)), which waits for this process")
        case .presenterFailed(let message): .failed("who shows the document could not let it go: \(message)")
        case .noSnapshot(let path, let reason, let writer):
            .noSnapshot("\(place(path)): \(reason)" + (writer.map { "; it is open in \($0.process) (\($0.name))" } ?? ""))
        case .tooMany(let resource): .failed("too much is claimed already (\(resource.name)): release some first; 'quire status' shows the bounds")
        case .ended: .failed("the mount ends")
        }
    }

    /// `/docs/report.odt is held by vim (pid 4711)`
    private func text(_ holders: [ClaimHolder], for asker: Credentials) -> String {
        holders.prefix(3).map { holder in
            // The other may claim more than the asker may know of.
            let isKnown = fileSystem.tags.access.may(asker, holder.path, R_OK)
            let path = isKnown ? "\(place(holder.path))" : "what is claimed"
            let process = holder.name.isEmpty ? "process \(holder.process)" : "\(holder.name) (pid \(holder.process))"
            return "\(path) is held by \(process)" + (holder.purpose.map { " for \($0)" } ?? "")
        }.joined(separator: ", ")
    }
}
