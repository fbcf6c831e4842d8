internal import Foundation

/// Makes conditions of fields and their values.
struct QueryValues {
    let calendar: QueryCalendar
    /// The path of the mount; empty if none is known.
    let root: String

    /// A word, or several in quotation marks. With a wildcard in it that is not at its end, it is a pattern for names.
    func expression(words text: String, isQuoted: Bool, at range: Range<Int>) throws(QueryError) -> QueryExpression {
        guard !text.isEmpty else { throw QueryError(.empty, at: range) }
        guard !isQuoted else { return .term(.words(WordPattern(text: text, isPrefix: false))) }
        if let first = text.first, "<>=".contains(first) { throw QueryError(.looseOperator(text), at: range) }
        let stem = text.last == "*" ? text.dropLast() : text[...]
        if stem.isEmpty || !NamePattern(String(stem)).isPlain { return .term(.name(NamePattern(text))) }
        return .term(.words(WordPattern(text: String(stem), isPrefix: stem.count < text.count)))
    }

    /// - Parameters:
    ///   - text: with the field, colon and value.
    ///   - colon: its place in the text's bytes.
    func expression(field text: String, colon: Int, at range: Range<Int>) throws(QueryError) -> QueryExpression {
        let bytes = Array(text.utf8)
        let name = String(decoding: bytes.prefix(colon), as: UTF8.self)
        guard let field = QueryField(rawValue: name.lowercased()) else { throw QueryError(.unknownField(name), at: range) }
        // An operator of sizes belongs to the value.
        let isSign = bytes.dropFirst(colon).first != UInt8(ascii: ":")
        let value = String(decoding: bytes.dropFirst(isSign ? colon : colon &+ 1), as: UTF8.self)
        guard !value.isEmpty else { throw QueryError(.missingValue(field: name + ":"), at: range) }
        return try expression(field, value, at: range)
    }

    private func expression(_ field: QueryField, _ value: String, at range: Range<Int>) throws(QueryError) -> QueryExpression {
        switch field {
        case .after: .term(.modified(TimeRange(start: try time(value, at: range).start, end: .max)))
        case .before: .term(.modified(TimeRange(start: .min, end: try time(value, at: range).start)))
        case .date: .term(.modified(try times(value, at: range)))
        case .size: .term(.size(try sizes(value, at: range)))
        case .name: .term(.name(NamePattern(value)))
        case .path: .term(.path(NamePattern(inStore(value), isPath: true)))
        case .in: .term(.folder(try folder(value, at: range)))
        case .tag: try alternatives(value, at: range) { (name) throws(QueryError) in try tag(String(name), at: range) }
        case .is:
            try alternatives(value, at: range) { (name) throws(QueryError) in
                name.lowercased() == "favorite" ? .favorite : try tag(String(name), at: range)
            }
        case .by: try alternatives(value, at: range) { (name) throws(QueryError) in .writer(String(name)) }
        case .ext:
            try alternatives(value, at: range) { (ending) throws(QueryError) in
                .fileExtension(String(decoding: Folding.fold(ending.drop { $0 == "." }.utf8), as: UTF8.self))
            }
        case .mime: try alternatives(value, at: range) { (name) throws(QueryError) in .type(.mime(NamePattern(String(name)))) }
        case .kind: try kinds(value, at: range)
        case .type: try types(value, at: range)
        }
    }

    /// `pdf,odt`: one of several.
    private func alternatives(
        _ value: String, at range: Range<Int>, _ term: (Substring) throws(QueryError) -> QueryTerm
    ) throws(QueryError) -> QueryExpression {
        var terms: [QueryExpression] = []
        for part in value.split(separator: ",") { terms.append(.term(try term(part))) }
        guard !terms.isEmpty else { throw QueryError(.missingValue(field: value), at: range) }
        return .any(of: terms)
    }

    private func kinds(_ value: String, at range: Range<Int>) throws(QueryError) -> QueryExpression {
        try alternatives(value, at: range) { (name) throws(QueryError) in
            guard let kind = DocumentKind(rawValue: name.lowercased()) else { throw QueryError(.notAKind(String(name)), at: range) }
            return .type(.kind(kind))
        }
    }

    /// A MIME type, a kind, or the type of a file name extension.
    private func types(_ value: String, at range: Range<Int>) throws(QueryError) -> QueryExpression {
        try alternatives(value, at: range) { (name) throws(QueryError) in
            let name = name.lowercased()
            if name.contains("/") {
                let halves = name.split(separator: "/", omittingEmptySubsequences: false)
                guard halves.count == 2, halves.allSatisfy({ !$0.isEmpty }) else { throw QueryError(.notAType(name), at: range) }
                return .type(halves.last == "*" ? .mime(NamePattern(name)) : .derived(from: name))
            }
            if let kind = DocumentKind(rawValue: name) { return .type(.kind(kind)) }
            guard name.allSatisfy({ $0.isLetter || $0.isNumber || "._+-".contains($0) }) else { throw QueryError(.notAType(name), at: range) }
            return .type(.derived(from: String(name.drop { $0 == "." })))
        }
    }

    private func tag(_ value: String, at range: Range<Int>) throws(QueryError) -> QueryTerm {
        if value == "*" { return .anyTag }
        guard !value.hasPrefix("/"), !value.hasSuffix("/"), !value.contains("//") else { throw QueryError(.notATag(value), at: range) }
        return .tag(value)
    }

    private func folder(_ value: String, at range: Range<Int>) throws(QueryError) -> String {
        let names = inStore(value).split(separator: "/").filter { $0 != "." }
        guard !names.contains("..") else { throw QueryError(.notAFolder(value), at: range) }
        return names.joined(separator: "/")
    }

    /// Paths begin at the mount's root, with or without a slash, or are absolute.
    private func inStore(_ path: String) -> String {
        let inside = root.isEmpty || !(path + "/").hasPrefix(root + "/") ? path : String(path.dropFirst(root.count))
        return String(inside.drop { $0 == "/" })
    }

    // MARK: - Ranges

    private func time(_ value: String, isBound: Bool = true, at range: Range<Int>) throws(QueryError) -> TimeRange {
        guard let times = calendar.range(value, isBound: isBound) else { throw QueryError(.notADate(value), at: range) }
        return times
    }

    private func times(_ value: String, at range: Range<Int>) throws(QueryError) -> TimeRange {
        let sign = value.prefix { "<>=".contains($0) }
        if !sign.isEmpty {
            let times = try time(String(value.dropFirst(sign.count)), at: range)
            switch sign {
            case ">": return TimeRange(start: times.end, end: .max)
            case ">=": return TimeRange(start: times.start, end: .max)
            case "<": return TimeRange(start: .min, end: times.start)
            case "<=": return TimeRange(start: .min, end: times.end)
            case "=": return times
            default: throw QueryError(.notADate(value), at: range)
            }
        }
        guard let (first, last) = Self.bounds(value) else { return try time(value, isBound: false, at: range) }
        let start = first.isEmpty ? Int64.min : try time(first, at: range).start
        let end = last.isEmpty ? Int64.max : try time(last, at: range).end
        guard start < end else { throw QueryError(.backwardRange(value), at: range) }
        return TimeRange(start: start, end: end)
    }

    private func sizes(_ value: String, at range: Range<Int>) throws(QueryError) -> ClosedRange<Int64> {
        let sign = value.prefix { "<>=".contains($0) }
        if sign.isEmpty, let (first, last) = Self.bounds(value) {
            let least = first.isEmpty ? 0 : try size(first, at: range)
            let most = last.isEmpty ? Int64.max : try size(last, at: range)
            guard least <= most else { throw QueryError(.backwardRange(value), at: range) }
            return least...most
        }
        guard value.count > sign.count else { throw QueryError(.missingValue(field: "size" + sign), at: range) }
        let size = try size(String(value.dropFirst(sign.count)), at: range)
        switch sign {
        case ">": return size.adding(clamping: 1)...Int64.max
        case ">=": return size...Int64.max
        case "<":
            guard size > 0 else { throw QueryError(.notASize(value), at: range) }
            return 0...(size &- 1)
        case "<=": return 0...size
        case "", "=": return size...size
        default: throw QueryError(.notASize(value), at: range)
        }
    }

    /// `1.5M`; K, M, G and T are powers of 1,024, as in find(1) and du(1).
    private func size(_ text: String, at range: Range<Int>) throws(QueryError) -> Int64 {
        let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        let units: [String: Int] = ["": 0, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30, "t": 40, "tb": 40]
        guard let number = Double(String(digits)), let shift = units[text.dropFirst(digits.count).lowercased()],
            let size = Int64(exactly: (number * Double(1 << shift)).rounded())
        else { throw QueryError(.notASize(text), at: range) }
        return size
    }

    /// The two sides of `..`; nil if there are none.
    private static func bounds(_ value: String) -> (String, String)? {
        guard let dots = value.range(of: "..") else { return nil }
        let (first, last) = (String(value.prefix(upTo: dots.lowerBound)), String(value.suffix(from: dots.upperBound)))
        return first.isEmpty && last.isEmpty ? nil : (first, last)
    }
}
