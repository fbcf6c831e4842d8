/// Why a text is no query, and where.
public struct QueryError: Error, Hashable, Sendable {
    public enum Reason: Hashable, Sendable {
        case empty
        case tooLong
        case tooManyTerms
        case tooManyLevels
        case unclosedQuote
        case unclosedParenthesis
        case unopenedParenthesis
        /// An operator without anything on one side of it.
        case danglingOperator(String)
        case unknownField(String)
        case missingValue(field: String)
        case notADate(String)
        case backwardRange(String)
        case notASize(String)
        case notATag(String)
        case notAFolder(String)
        case notAKind(String)
        case notAType(String)
    }

    public let reason: Reason
    /// The bytes of the query, as UTF-8, that it is about.
    public let range: Range<Int>

    init(_ reason: Reason, at range: Range<Int>) {
        self.reason = reason
        self.range = range
    }
}

extension QueryError: CustomStringConvertible {
    /// One line, for people.
    public var description: String {
        switch reason {
        case .empty: "the query is empty"
        case .tooLong: "the query is longer than \(Query.longest) bytes"
        case .tooManyTerms: "the query has more than \(Query.mostTerms) terms"
        case .tooManyLevels: "the parentheses are nested more than \(Query.mostLevels) deep"
        case .unclosedQuote: "this quotation mark is not closed"
        case .unclosedParenthesis: "this parenthesis is not closed"
        case .unopenedParenthesis: "no parenthesis was opened that this one could close"
        case .danglingOperator(let name): "\(name) needs something on both sides; in quotation marks it is a word"
        case .unknownField(let name):
            "there is no field \(name):; there are \(QueryField.names). In quotation marks it is searched for as it stands"
        case .missingValue(let field): "\(field) needs a value, without a space before it"
        case .notADate(let text):
            "\(text) is no date: 2026, 2026-03, 2026-03-01, today, yesterday, last-week, this-month, or a time ago (12h, 7d, 2w, 6m, 1y)"
        case .backwardRange(let text): "\(text) ends before it begins"
        case .notASize(let text): "\(text) is no size: 500, 10K, 1.5M, 2G"
        case .notATag(let text): "\(text) cannot be a tag"
        case .notAFolder(let text): "\(text) is no folder below the mount's root"
        case .notAKind(let text): "there is no kind \(text); there are \(DocumentKind.allCases.map(\.rawValue).joined(separator: ", "))"
        case .notAType(let text): "\(text) is no type: a MIME type (image/png), a file name extension (pdf), or a kind (image)"
        }
    }

    /// The query with a mark below what is meant, for a terminal: two lines.
    public func marked(in query: String) -> String {
        let bytes = Array(query.utf8)
        let start = min(range.lowerBound, bytes.count)
        let before = String(decoding: bytes.prefix(start), as: UTF8.self)
        let meant = String(decoding: bytes.dropFirst(start).prefix(max(range.count, 0)), as: UTF8.self)
        let shown = String(query.map { $0.isNewline || $0 == "\t" ? " " : $0 })
        return shown + "\n" + String(repeating: " ", count: before.count) + String(repeating: "^", count: max(meant.count, 1))
    }
}
