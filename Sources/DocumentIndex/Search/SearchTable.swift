internal import Foundation
internal import GRDB
internal import StorePrimitives
internal import Synchronization

/// What searches look at of all documents, in memory. It is read from the index by the first search, and follows its changes from then
/// on; without searches for a while it goes.
///
/// A big segment and a small one, of what has changed since that one was made: a change costs no search of all.
final class SearchTable: TransactionObserver, Sendable {
    /// Segments as one search sees them.
    struct View {
        var base = SearchSegment()
        /// Changes with `base`.
        var version: UInt64 = 0
        /// Those rows of `base` that hold.
        var baseRows = RowSet(count: 0)
        var recent = SearchSegment()
        var suffixes = Suffixes()

        /// Makes one segment of the two. O(documents).
        fileprivate mutating func merge() {
            var merged = SearchSegment()
            var next = 0
            baseRows.forEach { row in
                while next < recent.count, recent.documentIDs[next] < base.documentIDs[row] {
                    merged.append(next, of: recent)
                    next &+= 1
                }
                merged.append(row, of: base)
            }
            while next < recent.count {
                merged.append(next, of: recent)
                next &+= 1
            }
            (base, recent) = (merged, SearchSegment())
            version &+= 1
            baseRows = RowSet(count: base.count, all: true)
        }
    }

    private struct Changes {
        /// Documents that changed in the transaction that is under way.
        var pending: Set<Int64> = []
        /// Whether these are too many to be kept.
        var isPendingTooLong = false
        /// Those of transactions that ended since the last `view`.
        var changed: Set<Int64> = []
        /// Whether all is to be read again.
        var isVoid = true
        var isObserving = false
    }
    /// Leaf lock.
    private let changes = Mutex(Changes())
    private let current = Mutex(View())
    /// Held while a view is brought up to date: one search does it, the others wait for it. The index is read under it, and its writer
    /// waited for when the first search begins.
    private let updating = ThreadLock()

    private static let mostChanged = 200_000

    /// A view that has all changes that were committed before the call.
    func view(_ pool: DatabasePool) throws -> View {
        try updating.withLock {
            observe(pool)
            // Taken before the state is read: what is committed in between is changed for the next search, too.
            let (changed, isVoid) = changes.withLock { changes in
                defer { (changes.changed, changes.isVoid) = ([], false) }
                return (changes.changed, changes.isVoid)
            }
            guard isVoid || !changed.isEmpty else { return current.withLock { $0 } }
            do {
                let old = current.withLock { $0 }
                let view = try pool.read { db in try isVoid ? makeView(after: old, db) : update(old, with: changed, db) }
                current.withLock { $0 = view }
                return view
            } catch {
                changes.withLock { $0.isVoid = true }
                throw error
            }
        }
    }

    /// Lets the memory go; the next search reads all again.
    func clear(_ pool: DatabasePool) {
        updating.withLock {
            pool.remove(transactionObserver: self)
            changes.withLock { $0 = Changes() }
            current.withLock { $0 = View(version: $0.version &+ 1) }
        }
    }

    private func observe(_ pool: DatabasePool) {
        let isObserving = changes.withLock { changes in
            defer { changes.isObserving = true }
            return changes.isObserving
        }
        if !isObserving { pool.add(transactionObserver: self) }
    }

    private func makeView(after old: View, _ db: Database) throws -> View {
        var view = View(version: old.version &+ 1)
        let rows = try Row.fetchCursor(db, sql: "SELECT \(SearchSegment.columns) FROM document WHERE folder IS NOT NULL ORDER BY id")
        while let row = try rows.next() { try view.base.append(row, &view.suffixes) }
        view.baseRows = RowSet(count: view.base.count, all: true)
        return view
    }

    private func update(_ old: View, with changed: Set<Int64>, _ db: Database) throws -> View {
        var view = old
        for id in changed { if let row = view.base.row(of: id) { view.baseRows.remove(row) } }
        let list = "[" + changed.union(old.recent.rows.map { old.recent.documentIDs[$0] }).sorted().map { "\($0)" }.joined(separator: ",") + "]"
        view.recent = SearchSegment()
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(SearchSegment.columns) FROM document
                WHERE id IN (SELECT value FROM json_each(?)) AND folder IS NOT NULL ORDER BY id
                """, arguments: [list])
        while let row = try rows.next() { try view.recent.append(row, &view.suffixes) }
        if view.recent.count > max(1_000, view.base.count / 16) { view.merge() }
        return view
    }

    // MARK: - Changes

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { kind.tableName == "document" }

    func databaseDidChange(with event: DatabaseEvent) {
        changes.withLock { changes in
            guard !changes.isPendingTooLong else { return }
            changes.pending.insert(event.rowID)
            if changes.pending.count > Self.mostChanged { (changes.pending, changes.isPendingTooLong) = ([], true) }
        }
    }

    func databaseDidCommit(_ db: Database) {
        changes.withLock { changes in
            changes.changed.formUnion(changes.pending)
            if changes.isPendingTooLong || changes.changed.count > Self.mostChanged { (changes.changed, changes.isVoid) = ([], true) }
            (changes.pending, changes.isPendingTooLong) = ([], false)
        }
    }

    func databaseDidRollback(_ db: Database) { changes.withLock { ($0.pending, $0.isPendingTooLong) = ([], false) } }
}
