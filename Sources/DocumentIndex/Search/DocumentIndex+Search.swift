internal import Foundation
internal import GRDB
public import QueryLanguage
public import StorePrimitives

/// How results are ordered.
public enum SearchOrder: String, CaseIterable, Sendable {
    /// Last modification first.
    case newest
    case oldest
    case largest
    case smallest
    /// By folded names, then by ids.
    case name
}

/// The users that a search is about.
public struct SearchUsers: Sendable {
    /// The user who searches.
    public let asker: UserID?
    /// Those whom the query names (`QueryExpression.writers`).
    public let named: [String: UserID]

    public init(asker: UserID? = nil, named: [String: UserID] = [:]) { (self.asker, self.named) = (asker, named) }
}

extension DocumentIndex {
    /// The documents that meet a query, in order: their ids, for `documents(_:)`, which tells where they are. For every user's eyes: the
    /// caller leaves out what its user may not see.
    ///
    /// Has all changes that were applied before the call. The first search reads the documents into memory (about a second and 50 MB for
    /// 1,000,000), where they stay until `endSearching`. Then O(documents), some milliseconds for 1,000,000. Throws `.searchTooLong` after
    /// `time`.
    /// - Parameters:
    ///   - text: where texts are searched; nil: nowhere.
    ///   - users: of a user that it does not have, no document is found.
    ///   - memory: for a query that is asked again and again.
    public func search(
        _ query: Query, in text: TextIndex? = nil, order: SearchOrder = .newest, types: any TypeMatcher, for users: SearchUsers = SearchUsers(),
        remembering memory: SearchMemory? = nil, within time: Duration = .seconds(10)
    ) throws(IndexError) -> [DocumentID] {
        let deadline = SearchDeadline(within: time)
        do {
            let view = try searchTable.view(pool)
            var facts = try pool.read { try SearchFacts(of: query, users, $0) }
            if let text {
                do {
                    for words in Set(query.expression.words) { facts.add(try text.hits(of: words, deadline), of: words) }
                } catch {
                    if case .corrupt = IndexError(error, path: path) { throw IndexError.textCorrupt }
                    throw error
                }
            }
            var base = SearchEvaluator(view.base, view.suffixes, facts, types: types, deadline: deadline, memory: memory.map { ($0, view.version) })
            var recent = SearchEvaluator(view.recent, view.suffixes, facts, types: types, deadline: deadline)
            let found = (
                base: try base.rows(meeting: query.expression, within: view.baseRows),
                recent: try recent.rows(meeting: query.expression, within: RowSet(count: view.recent.count, all: true))
            )
            return try order.ids(found, view, deadline)
        } catch {
            throw report(error)
        }
    }

    /// The documents of these ids that are there, in the ids' order. O(ids).
    public func documents(_ ids: some Collection<DocumentID>) throws(IndexError) -> [Document] {
        try read { db in
            let folders = FolderTable(db: db)
            let list = "[" + ids.map { "\($0.rawValue)" }.joined(separator: ",") + "]"
            let rows = try db.rows(
                """
                SELECT \(DocumentRow.columns) FROM json_each(?) j JOIN document d ON d.id = j.value
                WHERE d.folder IS NOT NULL ORDER BY j.key
                """, [list])
            try folders.read(pathsOf: rows.compactMap { try $0.optional(9) })
            return try rows.compactMap { try DocumentRow($0, folders).document }
        }
    }

    /// The documents with ids above one, in the order of their ids. O(limit).
    public func documents(after id: DocumentID, limit: Int) throws(IndexError) -> [Document] {
        try read { db in
            let folders = FolderTable(db: db)
            let rows = try db.rows(
                "SELECT \(DocumentRow.columns) FROM document d WHERE d.id > ? AND d.folder IS NOT NULL ORDER BY d.id LIMIT ?", [id.rawValue, limit])
            try folders.read(pathsOf: rows.compactMap { try $0.optional(9) })
            return try rows.compactMap { try DocumentRow($0, folders).document }
        }
    }

    /// Lets go of the memory that searches keep.
    public func endSearching() { searchTable.clear(pool) }
}

extension SearchOrder {
    /// The ids of the rows found, in this order.
    fileprivate func ids(_ found: (base: RowSet, recent: RowSet), _ view: SearchTable.View, _ deadline: SearchDeadline) throws -> [DocumentID] {
        let segments = [(found.base, view.base), (found.recent, view.recent)]
        try deadline.check()
        if case .name = self { return try namesOrdered(segments, deadline) }
        var keyed: [(key: Int64, id: Int64)] = []
        keyed.reserveCapacity(found.base.size &+ found.recent.size)
        for (rows, segment) in segments {
            rows.forEach { row in keyed.append((key(of: row, in: segment), segment.documentIDs[row])) }
        }
        keyed.sort { $0.key != $1.key ? $0.key < $1.key : $0.id < $1.id }
        return keyed.map { DocumentID(rawValue: $0.id) }
    }

    private func key(of row: Int, in segment: SearchSegment) -> Int64 {
        switch self {
        // All bits inverted: the order is the other way round, and no number overflows.
        case .newest: ~segment.times[row]
        case .oldest, .name: segment.times[row]
        case .largest: ~segment.sizes[row]
        case .smallest: segment.sizes[row]
        }
    }

    private func namesOrdered(_ segments: [(RowSet, SearchSegment)], _ deadline: SearchDeadline) throws -> [DocumentID] {
        var named: [(name: [UInt8], id: Int64)] = []
        for (rows, segment) in segments {
            try rows.forEach { row in
                try deadline.spend(1_000)
                named.append((segment.withName(row) { Array($0) }, segment.documentIDs[row]))
            }
        }
        named.sort { $0.name == $1.name ? $0.id < $1.id : $0.name.lexicographicallyPrecedes($1.name) }
        return named.map { DocumentID(rawValue: $0.id) }
    }
}
