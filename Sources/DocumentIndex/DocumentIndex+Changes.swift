internal import GRDB
public import StorePrimitives
internal import Synchronization

extension DocumentIndex {
    /// Applies changes in their order, in one transaction: all of them or, if it throws, none. Returns whether they may have
    /// changed which documents have which tags, or the path of one that has any.
    @discardableResult
    public func apply(_ changes: [IndexUpdate]) throws(IndexError) -> Bool {
        try apply(changes, scanned: nil).touchesTags
    }

    /// Applies what a scan pass saw (`.present` and `.tags`; other changes are not a walker's to tell and trap) after
    /// `moment`. Paths changed since then are left alone and returned: what was told of them as it happened is newer,
    /// and a walker may look again. Throws `.scanSuperseded`.
    @discardableResult
    public func apply(
        _ changes: [IndexUpdate], during pass: ScanPass, asOf moment: ScanMoment
    ) throws(IndexError) -> [StorePath] {
        try apply(changes, scanned: (pass, moment)).outdated
    }

    private func apply(
        _ changes: [IndexUpdate], scanned: (pass: ScanPass, moment: ScanMoment)?
    ) throws(IndexError) -> (outdated: [StorePath], touchesTags: Bool) {
        guard !changes.isEmpty else { return ([], false) }
        let (outdated, application) = try write { db in
            let isScanning = try scan.withLock { state in
                if let scanned, state.pass != scanned.pass { throw IndexError.scanSuperseded }
                return state.pass != nil
            }
            var application = Application(
                documents: DocumentTable(db: db, room: Room(db: db, bounds: bounds)), removals: TagRemovals(db: db), index: self,
                isScanned: scanned != nil, isScanning: isScanning)
            var outdated: [StorePath] = []
            for change in changes {
                if let scanned {
                    let path = change.scannedPath
                    if scan.withLock({ $0.isChanged(path, since: scanned.moment) }) {
                        outdated.append(path)
                        continue
                    }
                }
                try application.apply(change)
            }
            try application.finish()
            try trim(after: application)
            return (outdated, application)
        }
        if application.leftOut > 0 { leftOut.wrappingAdd(application.leftOut, ordering: .relaxed) }
        tell(application.told)
        return (outdated, application.touchesTags)
    }

    /// Keeps the number of documents that left in bounds while others go on leaving.
    private func trim(after application: Application) throws {
        guard application.departed > 0 else { return }
        let count = departures.wrappingAdd(application.departed, ordering: .relaxed).newValue
        guard count > Self.departedSlack else { return }
        try application.documents.trimDeparted(to: Self.departedLimit)
        departures.store(0, ordering: .relaxed)
    }

    /// Takes back a use that did not count after all; see `IndexUpdate.useRetracted`.
    public func retractUse(of path: StorePath, by user: UserID, at time: Timestamp) throws(IndexError) {
        try apply([.useRetracted(path, by: user, at: time)])
    }
}

extension IndexUpdate {
    fileprivate var scannedPath: StorePath {
        switch self {
        case .present(let facts): facts.path
        case .tags(let path, _): path
        default: preconditionFailure("a scan pass tells only what it sees: .present and .tags")
        }
    }
}

/// The changes of one transaction.
private struct Application {
    let documents: DocumentTable
    var removals: TagRemovals
    let index: DocumentIndex
    /// Seen by the scan pass, not told as it happened.
    let isScanned: Bool
    let isScanning: Bool
    var departed = 0
    /// Documents for which there was no room.
    var leftOut = 0
    /// A document with tags came, went or moved, or has others now.
    var touchesTags = false
    var told: [IndexedChange] = []
    /// The document that the last change made sure of: what is told next is often about the same.
    private var last: (path: StorePath, id: Int64)?
    private struct KeptTag: Hashable {
        let tag: Tag
        let user: UserID
    }
    /// Tags that are kept, as far as there is room.
    private var kept: Set<KeptTag> = []

    init(documents: DocumentTable, removals: TagRemovals, index: DocumentIndex, isScanned: Bool, isScanning: Bool) {
        (self.documents, self.removals, self.index) = (documents, removals, index)
        (self.isScanned, self.isScanning) = (isScanned, isScanning)
    }

    /// To be called at the end of the transaction.
    func finish() throws {
        try removals.finish()
        try documents.finish()
    }

    private var recents: RecentTable { RecentTable(db: documents.db) }
    private var favorites: FavoriteTable { FavoriteTable(db: documents.db) }

    mutating func apply(_ change: IndexUpdate) throws {
        let before = last
        last = nil
        switch change {
        case .present(let facts):
            noteChange(facts.path)
            try present(facts)
        case .absent(let path):
            noteChange(path)
            try depart(at: path)
        case .moved(let from, let to, let isFolder, let takesOverTarget):
            noteChange(from)
            noteChange(to)
            try move(from, to: to, isFolder: isFolder, takesOverTarget: takesOverTarget)
        case .exchanged(let first, let second):
            noteChange(first)
            noteChange(second)
            try exchange(first, second)
            touchesTags = true
            told.append(.exchanged(first, second))
        case .madeAnew(let facts, let aside):
            noteChange(facts.path)
            noteChange(aside)
            try makeAnew(facts, takingOverFrom: aside)
            touchesTags = true
            told += [.changed(aside), .changed(facts.path)]
        case .tags(let path, let tags):
            if let row = try documents.row(at: path) { try setTags(tags, of: row) }
        case .tagsOfFile(let identity, let path, let tags):
            if let row = try documents.row(of: identity, at: path) { try setTags(tags, of: row) }
        case .tagsTaken(let tags, let path, let user, let time, let canBeUndone):
            guard let document = try before?.path == path ? before?.id : documents.row(at: path)?.id else { return }
            if canBeUndone { try removals.note(tags, from: document, by: user, at: time) }
            for tag in tags where kept.insert(KeptTag(tag: tag, user: user)).inserted {
                if try index.keep(tag, by: user, documents.db) { touchesTags = true }
            }
        case .tagDropped(let tag, let user, let keeper, let time):
            kept.removeAll()
            try TagTable(db: documents.db).stopKeeping(tag, by: keeper)
            try removals.note([tag], from: nil, by: user, at: time)
            touchesTags = true
        case .used(let path, let user, let time, let written):
            guard let row = try documents.row(at: path) else { return }
            try recents.note(row.id, by: user, at: time.nanoseconds, written: written)
            if written { try documents.setWriter(user, of: row) }
        case .useRetracted(let path, let user, let time):
            guard let row = try documents.row(at: path) else { return }
            try recents.retract(row.id, by: user, at: time.nanoseconds)
        }
    }

    private func noteChange(_ path: StorePath) {
        if !isScanned { index.scan.withLock { $0.noteChange(path) } }
    }

    /// The pass under way, if any, need not meet this row any more.
    private func noteSeen(_ id: Int64) {
        if isScanning { index.scan.withLock { $0.seen.insert(id) } }
    }

    private mutating func update(_ row: DocumentRow, before: DocumentRow) throws {
        if before.tagsAndPath != row.tagsAndPath { touchesTags = true }
        if try !documents.update(row, before: before) { leftOut += 1 }
    }

    private mutating func setTags(_ tags: [Tag], of row: DocumentRow) throws {
        var tagged = row
        tagged.tags = Tag.format(tags.prefix(Tag.mostOfDocument))
        if tagged.tags != row.tags { try update(tagged, before: row) }
    }

    private mutating func present(_ facts: ScannedDocument) throws {
        precondition(!facts.path.isRoot, "the root of the store is a folder, not a document")
        guard facts.path.bytes.count <= StorePath.longest else { return }
        if let row = try documents.row(at: facts.path) {
            var seen = row
            if seen.take(facts) {
                try update(seen, before: row)
                if seen.generation != row.generation { told.append(.changed(facts.path)) }
            } else if seen.owner != row.owner {
                try update(seen, before: row)
            }
            last = (facts.path, row.id)
            return noteSeen(row.id)
        }
        let before = try documents.rows(of: facts.identity).first { $0.isFile(of: facts) }
        guard let before, before.path == nil || (!isScanned && facts.linkCount == 1) else {
            if facts.tags?.isEmpty == false { touchesTags = true }
            // What is met for the first time has changed for nobody.
            if !isScanned { told.append(.changed(facts.path)) }
            return try insert(facts)
        }
        var moved = before
        moved.path = facts.path
        _ = moved.take(facts)
        try update(moved, before: before)
        told.append(before.path.map { .moved(from: $0, to: facts.path, isFolder: false) } ?? .changed(facts.path))
        noteSeen(before.id)
    }

    private mutating func move(_ from: StorePath, to: StorePath, isFolder: Bool, takesOverTarget: Bool) throws {
        // The kernel allows no such rename; a row must not come to lie inside itself.
        guard from != to, !from.isRoot, !to.isRoot, !to.isInside(from), !from.isInside(to) else { return }
        told.append(.moved(from: from, to: to, isFolder: isFolder))
        if isFolder { try favorites.move(from, to: to) }
        if takesOverTarget, !isFolder, let target = try documents.row(at: to) {
            if let source = try documents.row(at: from) { try takeOver(target, by: source) }
            return noteSeen(target.id)
        }
        guard try documents.knows(at: from, inside: isFolder) else {
            // The watcher may have told of the same move before: what is known at `to` may be what was moved. A folder replaces
            // none but an empty one.
            return isFolder ? () : try depart(at: to)
        }
        if try isFolder || [from, to].contains(where: { try documents.row(at: $0)?.tagsAndPath != nil }) { touchesTags = true }
        try documents.delete(at: to, inside: isFolder)
        departed += try documents.move(from, to: to, inside: isFolder)
        try noteSeen(at: to, inside: isFolder)
    }

    private mutating func depart(at path: StorePath) throws {
        let inside = try documents.paths(inside: path)
        let gone = try documents.depart(at: path)
        departed += gone.count
        try favorites.drop(path)
        told.append(.gone(path))
        if !inside.isEmpty { told += (inside + Set(inside.map(\.parent)).filter { $0.isInside(path) }).map { .gone($0) } }
        if gone.hadTags { touchesTags = true }
    }

    /// A save by rename: `source` ends, its file is now the document `target`.
    private mutating func takeOver(_ target: DocumentRow, by source: DocumentRow) throws {
        var taken = target
        taken.identity = source.identity
        taken.size = source.size
        taken.modified = source.modified
        taken.generation &+= 1
        (taken.owner, taken.writer) = (source.owner, source.writer)
        if let tags = source.tags, !tags.isEmpty {
            taken.tags = tags
            touchesTags = true
        }
        try documents.merge(source.id, into: target.id)
        try documents.update(taken, before: target)
    }

    private mutating func exchange(_ first: StorePath, _ second: StorePath) throws {
        guard first != second, !first.isRoot, !second.isRoot, !first.isInside(second), !second.isInside(first)
        else { return }
        // No path has a NUL.
        let between = StorePath(unchecked: [0])
        departed += try documents.move(first, to: between, inside: true)
        departed += try documents.move(second, to: first, inside: true)
        departed += try documents.move(between, to: second, inside: true)
        try favorites.exchange(first, second)
        try noteSeen(at: first, inside: true)
        try noteSeen(at: second, inside: true)
    }

    private mutating func makeAnew(_ facts: ScannedDocument, takingOverFrom aside: StorePath) throws {
        guard aside != facts.path, let row = try documents.row(at: aside), !row.isFile(of: facts) else {
            return try present(facts)
        }
        // The new file may have been met before it was known whose name it took.
        let early = try documents.row(at: facts.path)
        if let early { try documents.merge(early.id, into: row.id) }
        var anew = row
        anew.path = facts.path
        _ = anew.take(facts)
        if anew.tags?.isEmpty ?? true { anew.tags = row.tags }
        try documents.update(anew, before: row)
        noteSeen(row.id)
        let old = ScannedDocument(
            path: aside, identity: row.identity, owner: UserID(row.owner), size: row.size, modified: Timestamp(nanoseconds: row.modified),
            tags: row.tags.map(Tag.parse))
        try insert(old)
    }

    private mutating func insert(_ facts: ScannedDocument) throws {
        if let id = try documents.insert(facts) { noteSeen(id) } else { leftOut += 1 }
    }

    private func noteSeen(at path: StorePath, inside: Bool) throws {
        guard isScanning else { return }
        for id in try documents.ids(at: path, inside: inside) { noteSeen(id) }
    }
}
