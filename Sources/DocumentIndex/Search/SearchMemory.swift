internal import QueryLanguage
internal import Synchronization

/// Keeps the rows that meet parts of a query, of the segment of documents that have not changed for some time, for the next time that the same
/// query is asked: a search that is watched then costs what has changed. For one query.
public final class SearchMemory: Sendable {
    private struct Found {
        /// Of the segment (`SearchTable.View`).
        var version: UInt64 = 0
        var rows: [QueryTerm: RowSet] = [:]
    }
    private let found = Mutex(Found())
    /// Each takes a bit for a document.
    private static let mostTerms = 8

    public init() {}

    /// The rows of the whole segment that meet a term. - Parameter evaluate: called if they are not known.
    func rows(meeting term: QueryTerm, version: UInt64, _ evaluate: () throws -> RowSet) rethrows -> RowSet {
        let known = found.withLock { found in
            if found.version != version { found = Found(version: version) }
            return found.rows[term]
        }
        if let known { return known }
        let rows = try evaluate()
        found.withLock { found in
            if found.version == version, found.rows.count < Self.mostTerms { found.rows[term] = rows }
        }
        return rows
    }
}
