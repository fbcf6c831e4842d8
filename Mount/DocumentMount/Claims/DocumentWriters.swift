import Coordination
import FuseServer
import StorePrimitives

/// Somebody who writes a document at this moment.
struct DocumentWriter: Sendable {
    enum ID: Hashable, Sendable {
        case save(VersionID)
        case handle(ObjectIdentifier)
    }

    let id: ID
    let path: StorePath
    let writer: Claimant

    /// Whether it writes the document in place.
    var isLive: Bool { if case .handle = id { true } else { false } }
}

/// Who writes which documents, and who makes requests, for the coordinator. Called with no lock held.
struct DocumentWriters: Sendable {
    let saves: SaveService
    let handles: WriterTable

    /// The programs that save wanted documents or write them in place. Linear in all writers; reads /proc for each that
    /// is wanted.
    func current(where isWanted: (StorePath) -> Bool) -> [DocumentWriter] {
        let saving = saves.openSaves.filter { isWanted($0.path) }.map { entry in
            DocumentWriter(id: .save(entry.save.working), path: entry.path, writer: claimant(entry.save.process, user: 0))
        }
        let live = handles.current.compactMap { handle -> DocumentWriter? in
            guard saves.reason(of: handle) != nil, !handle.node.isServed, let path = saves.path(of: handle.node), isWanted(path) else { return nil }
            return DocumentWriter(id: .handle(ObjectIdentifier(handle)), path: path, writer: claimant(of: handle.caller))
        }
        return saving + live
    }

    /// Who makes a request, with all ancestors. Some 10 µs for each of these, remembered for a moment.
    func claimant(of caller: Caller) -> Claimant {
        claimant(saves.processes.process(of: caller.thread), user: caller.uid)
    }

    func claimant(_ process: SaveProcess?, user: UInt32, purpose: PurposeID? = nil) -> Claimant {
        let ancestors = process.map { saves.processes.ancestors(of: $0, since: SaveMoment(ticks: 0, lastProcess: 0)) }
        return Claimant(user: user, process: process, ancestors: ancestors ?? [], purpose: purpose)
    }
}
