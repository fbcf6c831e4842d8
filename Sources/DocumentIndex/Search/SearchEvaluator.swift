internal import Foundation
internal import GRDB
internal import QueryLanguage
internal import StorePrimitives

/// Finds the rows of segments that meet a query.
struct SearchEvaluator {
    let db: Database
    let view: SearchTable.View
    let types: any TypeMatcher
    /// The documents whose texts have these words, in the order of their ids.
    let texts: [WordPattern: [DocumentID]]
    let deadline: SearchDeadline

    /// The rows of both segments, `recent` and `base`, that meet the expression.
    func rows(meeting expression: QueryExpression) throws -> (base: RowSet, recent: RowSet) {
        let evaluator = self
        return (
            try evaluator.rows(of: view.base, meeting: expression, within: view.baseRows),
            try evaluator.rows(of: view.recent, meeting: expression, within: RowSet(count: view.recent.count, all: true))
        )
    }

    private func rows(of segment: SearchSegment, meeting expression: QueryExpression, within rows: RowSet) throws -> RowSet {
        try deadline.check()
        guard !rows.isEmpty else { return rows }
        switch expression {
        case .term(let term): return try self.rows(of: segment, meeting: term, within: rows)
        case .not(let inner):
            var rest = rows
            rest.subtract(try self.rows(of: segment, meeting: inner, within: rows))
            return rest
        case .any(let alternatives):
            var found = RowSet(count: rows.count)
            for alternative in alternatives { found.formUnion(try self.rows(of: segment, meeting: alternative, within: rows)) }
            return found
        case .all(let conditions):
            // Those that leave few rows first.
            var rest = rows
            for condition in conditions.sorted(by: { $0.cost < $1.cost }) {
                rest = try self.rows(of: segment, meeting: condition, within: rest)
            }
            return rest
        }
    }

    private func rows(of segment: SearchSegment, meeting term: QueryTerm, within rows: RowSet) throws -> RowSet {
        switch term {
        case .words(let words):
            var found = segment.rows(withNamesContaining: words.folded)
            for document in texts[words] ?? [] { if let row = segment.row(of: document.rawValue) { found.insert(row) } }
            return intersection(found, rows)
        case .name(let pattern): return try names(of: segment, matching: pattern, within: rows)
        case .path(let pattern): return try paths(of: segment, matching: pattern, within: rows)
        case .folder(let path):
            let folders = try Set(folders(inside: StorePath(path)))
            return rows.filter { folders.contains(segment.folders[$0]) }
        case .fileExtension(let wanted):
            let numbers = matchingSuffixes { !$0.isEmpty && Suffixes.fileExtension(of: $0) == wanted }
            return rows.filter { numbers.contains(Int(segment.suffixes[$0])) }
        case .type(let pattern):
            let numbers = matchingSuffixes { !$0.isEmpty && types.name($0, is: pattern) }
            return rows.filter { numbers.contains(Int(segment.suffixes[$0])) }
        case .tag(let tag): return try intersection(tagged(tag, in: segment), rows)
        case .anyTag: return try intersection(documents("SELECT DISTINCT document FROM document_tag", [], in: segment), rows)
        case .modified(let range): return rows.filter { range.contains(segment.times[$0]) }
        case .size(let range): return rows.filter { range.contains(segment.sizes[$0]) }
        }
    }

    private func intersection(_ one: RowSet, _ other: RowSet) -> RowSet {
        var both = one
        both.formIntersection(other)
        return both
    }

    private func names(of segment: SearchSegment, matching pattern: NamePattern, within rows: RowSet) throws -> RowSet {
        // What every match has in it is looked for in all names at once.
        let candidates = intersection(segment.rows(withNamesContaining: pattern.literal), rows)
        guard !pattern.isPlain else { return candidates }
        return try candidates.filter { row in
            try deadline.checkNowAndThen(row)
            return segment.withName(row) { pattern.matches($0) }
        }
    }

    private func paths(of segment: SearchSegment, matching pattern: NamePattern, within rows: RowSet) throws -> RowSet {
        let table = FolderTable(db: db)
        var last: (folder: Int64, path: [UInt8])?
        return try rows.filter { row in
            try deadline.checkNowAndThen(row)
            let folder = segment.folders[row]
            if last?.folder != folder {
                let path = try table.path(of: folder)
                last = (folder, path.isRoot ? [] : Folding.fold(path.bytes) + [UInt8(ascii: "/")])
            }
            var path = last?.path ?? []
            segment.withName(row) { path.append(contentsOf: $0) }
            return path.withUnsafeBytes { pattern.matches($0) }
        }
    }

    /// The numbers of the folder at the path and all below it.
    private func folders(inside path: StorePath?) throws -> [Int64] {
        guard let path, let id = try FolderTable(db: db).id(of: path) else { return [] }
        return try db.integers(FolderTable.inside + "SELECT id FROM inside", [id])
    }

    private func tagged(_ name: String, in segment: SearchSegment) throws -> RowSet {
        guard let tag = Tag(name) else { return RowSet(count: segment.count) }
        let range = tag.nestedRange
        return try documents(
            "SELECT document FROM document_tag WHERE tag IN (SELECT id FROM tag WHERE name = ? OR (name >= ? AND name < ?)) ORDER BY document",
            [tag.blob, range.lower, range.upper], in: segment)
    }

    /// The rows of the documents whose ids a statement finds.
    private func documents(_ sql: String, _ values: [Value], in segment: SearchSegment) throws -> RowSet {
        var found = RowSet(count: segment.count)
        let ids = try Int64.fetchCursor(db.cachedStatement(sql: sql), arguments: StatementArguments(values))
        while let id = try ids.next() { if let row = segment.row(of: id) { found.insert(row) } }
        return found
    }

    private func matchingSuffixes(_ isMatch: ([UInt8]) -> Bool) -> RowSet {
        var numbers = RowSet(count: view.suffixes.samples.count)
        for (number, sample) in view.suffixes.samples.enumerated() where isMatch(sample) { numbers.insert(number) }
        return numbers
    }
}

/// When a search has to end.
struct SearchDeadline {
    /// On the monotonic clock, in nanoseconds.
    let time: UInt64

    func check() throws { if DispatchTime.now().uptimeNanoseconds > time { throw IndexError.searchTooLong } }

    /// For each row: looks at the clock at some of them.
    @inline(__always)
    func checkNowAndThen(_ row: Int) throws { if row & 1_023 == 0 { try check() } }
}

extension QueryExpression {
    /// About how long it takes to evaluate for all documents, in no unit: those that are cheap and leave few rows come first.
    fileprivate var cost: Int {
        switch self {
        case .term(.tag), .term(.words): 0
        case .term(.name): 1
        case .term(.fileExtension), .term(.type), .term(.size), .term(.modified), .term(.folder), .term(.anyTag): 2
        case .term(.path): 4
        case .not(let inner): 3 &+ inner.cost
        case .all(let inner): inner.map(\.cost).min() ?? 0
        case .any(let inner): inner.map(\.cost).reduce(1, +)
        }
    }
}
