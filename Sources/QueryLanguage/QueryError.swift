/// Why a text is no query, and where.
public struct QueryError: Error, Hashable, Sendable {
    public enum Reason: Hashable, Sendable {
        case empty
        case tooLong
        case tooManyTerms
        case tooManyLevels
        /// Names have none, and a search for one would find where names end.
        case hasNul
        case unclosedQuote
        case unclosedParenthesis
        case unopenedParenthesis
        /// `<`, `>` or `=` at the beginning of a word.
        case looseOperator(String)
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
        case .hasNul: "a query has no NUL"
        case .unclosedQuote: "this quotation mark is not closed"
        case .unclosedParenthesis: "this parenthesis is not closed"
        case .unopenedParenthesis: "this parenthesis has no opening one"
        case .looseOperator(let text): "\(text) stands alone; write for example size>1M, without spaces"
        case .danglingOperator("NOT"): "NOT needs something behind it; in quotation marks it is a word"
        case .danglingOperator(let name): "\(name) needs something on both sides; in quotation marks it is a word"
        case .unknownField(""): "a field has a name before its colon; in quotation marks this is searched for as it stands"
        case .unknownField(let name):
            "there is no field \(name):; fields are \(QueryField.names). In quotation marks this is searched for as it stands"
        case .missingValue(let field): "\(field) needs a value, without a space before it"
        case .notADate(let text):
            "\(text) is not a date; examples: 2026, 2026-03, 2026-03-01, 2026-03-01T14:05, today, yesterday, last-week, this-month, last-year, 12h, 7d, 2w, 6m, 1y"
        case .backwardRange(let text): "\(text) ends before it begins"
        case .notASize(let text): "\(text) is not a size; examples: 500, 10K, 1.5M, 2G"
        case .notATag(let text): "\(text) is not a tag; examples: work, work/letters"
        case .notAFolder(let text): "\(text) is not a folder below the mount's root"
        case .notAKind(let text): "there is no kind \(text); kinds are \(DocumentKind.allCases.map(\.rawValue).joined(separator: ", "))"
        case .notAType(let text): "\(text) is not a type; examples: image/png, pdf, image"
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
