internal import GRDB
public import StorePrimitives
internal import Synchronization

/// Scanning: one pass at a time walks the store while changes go on being told as they happen.
///
/// The walker, for each batch: takes `moment()`, reads folders and attributes, then calls `apply` with `.present` changes,
/// the pass and that moment. What changed in between is left out and handed back.
extension DocumentIndex {
    /// Begins a pass over `folder`; one under way is superseded. Nothing is forgotten before `finishScan`.
    public func beginScan(in folder: StorePath = .root) throws(IndexError) -> ScanPass {
        try write { db in
            if folder.isRoot { leftOut.store(0, ordering: .relaxed) }
            let last = try db.integer("SELECT seq FROM sqlite_sequence WHERE name = 'document'") ?? 0
            return scan.withLock { $0.begin(in: folder, firstNewID: last.adding(clamping: 1)) }
        }
    }

    /// The order of things now: observations made after this call are newer than every change told before it. No wait.
    public func moment() -> ScanMoment { scan.withLock { ScanMoment(number: $0.moment) } }

    /// Ends the pass: documents in its folder that were not met have moved, if a path met for the first time has their
    /// file, or are gone. Throws `.scanSuperseded`, and after any other error the pass can be finished again.
    ///
    /// O(documents in the folder): about 0.1 s for 100,000 that are all there.
    public func finishScan(_ pass: ScanPass) throws(IndexError) -> ScanResult {
        let (result, told) = try write { db in
            let state = scan.withLock { $0 }
            guard state.pass == pass else { throw IndexError.scanSuperseded }
            let table = DocumentTable(db: db)
            var moved = 0
            var departed = 0
            var told: [IndexedChange] = []
            for id in try table.ids(at: pass.folder, inside: true) where !state.seen.contains(id) {
                guard let row = try table.row(id: id) else { continue }
                let candidate = try table.rows(of: row.identity).first {
                    $0.id >= state.firstNewID && $0.path != nil
                        && row.isFile(of: $0.identity, size: $0.size, modified: $0.modified)
                }
                if let candidate {
                    if let old = row.path, let new = candidate.path { told.append(.moved(from: old, to: new, isFolder: false)) }
                    try table.move(row, toPlaceOf: candidate)
                    moved += 1
                } else {
                    if let path = row.path { told.append(.gone(path)) }
                    try table.depart(id)
                    departed += 1
                }
            }
            try table.finish()
            if departed > 0 { try table.trimDeparted(to: Self.departedLimit) }
            try TagTable(db: db).dropUnused()
            return (ScanResult(moved: moved, departed: departed), told)
        }
        scan.withLock { if $0.pass == pass { $0.end() } }
        tell(told)
        return result
    }

    /// Gives the pass up: nothing is forgotten. No error if it is no longer the current one.
    public func abandonScan(_ pass: ScanPass) { scan.withLock { if $0.pass == pass { $0.end() } } }
}

extension DocumentTable {
    /// Moves `row` to the path of `other`, a row of the same file made since, which ends.
    func move(_ row: DocumentRow, toPlaceOf other: DocumentRow) throws {
        var moved = row
        moved.path = other.path
        moved.identity = other.identity
        if moved.size != other.size || moved.modified != other.modified { moved.generation &+= 1 }
        moved.size = other.size
        moved.modified = other.modified
        moved.tags = other.tags ?? row.tags
        moved.owner = other.owner
        try merge(other.id, into: row.id)
        try update(moved, before: row)
    }
}
