internal import QueryLanguage

/// Finds the rows of a segment that meet a query.
struct SearchEvaluator {
    let segment: SearchSegment
    let suffixes: Suffixes
    let types: any TypeMatcher
    let deadline: SearchDeadline
    private var facts: SearchFacts
    /// The rows found in the segment before, and the segment's version.
    private let memory: (found: SearchMemory, version: UInt64)?

    init(
        _ segment: SearchSegment, _ suffixes: Suffixes, _ facts: SearchFacts, types: any TypeMatcher, deadline: SearchDeadline,
        memory: (SearchMemory, UInt64)? = nil
    ) {
        (self.segment, self.suffixes, self.facts, self.types, self.deadline) = (segment, suffixes, facts, types, deadline)
        self.memory = memory
    }

    mutating func rows(meeting expression: QueryExpression, within rows: RowSet) throws -> RowSet {
        try deadline.check()
        guard !rows.isEmpty else { return rows }
        switch expression {
        case .term(let term): return try self.rows(meeting: term, within: rows)
        case .not(let inner):
            var rest = rows
            rest.subtract(try self.rows(meeting: inner, within: rows))
            return rest
        case .any(let alternatives):
            var found = RowSet(count: rows.count)
            for alternative in alternatives { found.formUnion(try self.rows(meeting: alternative, within: rows)) }
            return found
        case .all(let conditions):
            // Those that leave few rows first.
            var rest = rows
            for condition in conditions.sorted(by: { $0.cost < $1.cost }) { rest = try self.rows(meeting: condition, within: rest) }
            return rest
        }
    }

    private mutating func rows(meeting term: QueryTerm, within rows: RowSet) throws -> RowSet {
        switch term {
        case .words(let words): return try documents(having: words, within: rows)
        case .name(let pattern): return try remembered(term, within: rows) { rows in try names(matching: pattern, within: rows) }
        case .path(let pattern): return try paths(matching: pattern, within: rows)
        case .folder(let path):
            let folders = facts.folders[path] ?? []
            return rows.filter { folders.contains(segment.folders[$0]) }
        case .fileExtension(let wanted):
            let ending = Array(".\(wanted)".utf8)
            return try remembered(term, within: rows) { rows in
                rows.filter { row in segment.withName(row) { $0.count > ending.count && $0.suffix(ending.count).elementsEqual(ending) } }
            }
        case .type(let pattern): return try types(pattern, within: rows)
        case .tag(let tag): return documents(facts.tagged[tag] ?? [], within: rows)
        case .anyTag: return documents(facts.anyTagged, within: rows)
        case .favorite: return documents(facts.favorites, within: rows)
        case .writer(let name): return documents(facts.written[name] ?? [], within: rows)
        case .modified(let range): return try remembered(term, within: rows) { rows in rows.filter { range.contains(segment.times[$0]) } }
        case .size(let range): return try remembered(term, within: rows) { rows in rows.filter { range.contains(segment.sizes[$0]) } }
        }
    }

    /// The rows that meet a term of which the segment alone decides: evaluated for all of its rows, once, if what was found is remembered.
    private func remembered(_ term: QueryTerm, within rows: RowSet, _ evaluate: (RowSet) throws -> RowSet) throws -> RowSet {
        guard let memory else { return try evaluate(rows) }
        return intersection(try memory.found.rows(meeting: term, version: memory.version) { try evaluate(RowSet(count: segment.count, all: true)) }, rows)
    }

    /// Words are found in a name wherever they stand in it, and several as words of the name; and in texts.
    private func documents(having words: WordPattern, within rows: RowSet) throws -> RowSet {
        var found = try remembered(.words(words), within: rows) { rows in try names(having: words, within: rows) }
        for hit in facts.texts[words] ?? [] {
            // Of the version that the document has, and of no other, which others may have been able to read.
            if let row = segment.row(of: hit.document), rows.contains(row), segment.sizes[row] == hit.size, segment.times[row] == hit.modified {
                found.insert(row)
            }
        }
        return found
    }

    private func names(having words: WordPattern, within rows: RowSet) throws -> RowSet {
        let sought = words.words
        if sought.count > 1, let longest = sought.max(by: { $0.utf8.count < $1.utf8.count }) {
            let phrase = Array((" " + sought.joined(separator: " ") + (words.endsInPrefix ? "" : " ")).utf8)
            let candidates = intersection(segment.rows(withNamesContaining: Array(longest.utf8)), rows)
            return try candidates.filter { row in
                try deadline.spend(1_000)
                let name = [UInt8(ascii: " ")] + WordBreaker.words(of: segment.withName(row) { Array($0) })
                return name.withUnsafeBytes { NamePattern.contains($0, phrase) }
            }
        }
        let folded = words.folded
        return folded.isEmpty ? RowSet(count: rows.count) : intersection(segment.rows(withNamesContaining: folded), rows)
    }

    private func names(matching pattern: NamePattern, within rows: RowSet) throws -> RowSet {
        if pattern.isPlain, pattern.literal.isEmpty { return RowSet(count: rows.count) }
        // The literal that every match has in it is looked for in all names at once.
        let candidates = intersection(segment.rows(withNamesContaining: pattern.literal), rows)
        guard !pattern.isPlain else { return candidates }
        return try candidates.filter { row in
            try segment.withName(row) { name in
                try deadline.spend(Self.cost(of: name.count))
                return pattern.matches(name)
            }
        }
    }

    private mutating func paths(matching pattern: NamePattern, within rows: RowSet) throws -> RowSet {
        if pattern.isPlain, pattern.literal.isEmpty { return RowSet(count: rows.count) }
        var paths = facts.paths
        var found = RowSet(count: rows.count)
        try rows.forEach { row in
            var path = paths.path(of: segment.folders[row])
            segment.withName(row) { path.append(contentsOf: $0) }
            try deadline.spend(Self.cost(of: path.count))
            if path.withUnsafeBytes({ pattern.matches($0) }) { found.insert(row) }
        }
        return found
    }

    /// A pattern may take the square of the length.
    private static func cost(of length: Int) -> Int { 50 &+ length &* length / 16 }

    private func types(_ pattern: TypePattern, within rows: RowSet) throws -> RowSet {
        var numbers = RowSet(count: suffixes.samples.count)
        for (number, sample) in suffixes.samples.enumerated() where !sample.isEmpty {
            try deadline.spend(200)
            if types.name(sample, is: pattern) { numbers.insert(number) }
        }
        return try rows.filter { row in
            let number = Int(segment.suffixes[row])
            guard number == 0, suffixes.isFull else { return numbers.contains(number) }
            try deadline.spend(2_000)
            return types.name(segment.withName(row) { Array($0) }, is: pattern)
        }
    }

    /// The rows of documents.
    private func documents(_ ids: [Int64], within rows: RowSet) -> RowSet {
        var found = RowSet(count: rows.count)
        for id in ids { if let row = segment.row(of: id), rows.contains(row) { found.insert(row) } }
        return found
    }

    private func intersection(_ one: RowSet, _ other: RowSet) -> RowSet {
        var both = one
        both.formIntersection(other)
        return both
    }
}

extension QueryExpression {
    /// About how long it takes to evaluate for all documents, in no unit: those that are cheap and leave few rows come first.
    fileprivate var cost: Int {
        switch self {
        case .term(.tag), .term(.favorite), .term(.words): 0
        case .term(.name): 1
        case .term(.fileExtension), .term(.type), .term(.size), .term(.modified), .term(.folder), .term(.anyTag), .term(.writer): 2
        case .term(.path): 4
        case .not(let inner): 3 &+ inner.cost
        case .all(let inner): inner.map(\.cost).min() ?? 0
        case .any(let inner): inner.map(\.cost).reduce(1, +)
        }
    }
}
