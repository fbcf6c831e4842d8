/// A search query that was parsed: which documents it means. `quire help search` describes the language.
public struct Query: Sendable, Hashable {
    /// As it was typed.
    public let text: String
    public let expression: QueryExpression

    /// Parses a query. Dates such as `today` are resolved by the calendar: a query that is kept has to be parsed again when it is used.
    /// O(length), which is bounded. - Parameter root: the path of the mount, with which paths in the query may begin.
    public init(parsing text: String, calendar: QueryCalendar = .local, root: String = "") throws(QueryError) {
        var parser = try QueryParser(text, calendar: calendar, root: root)
        expression = try parser.parse()
        self.text = text
    }

    private init(text: String, expression: QueryExpression) { (self.text, self.expression) = (text, expression) }

    /// What meets both queries.
    public func narrowed(by other: Query) -> Query {
        Query(text: "(\(text)) (\(other.text))", expression: .all([expression, other.expression]))
    }

    /// What meets the query in a folder, which is named by its path from the store's root.
    public func within(folder: String) -> Query { Query(text: text, expression: .all([expression, .term(.folder(folder))])) }

    /// The most bytes of a query.
    public static let longest = 4_096
    /// The most terms of one.
    public static let mostTerms = 50
    /// How deep parentheses can be nested.
    public static let mostLevels = 16
}

/// What a document has to meet.
public indirect enum QueryExpression: Sendable, Hashable {
    case all([QueryExpression])
    case any([QueryExpression])
    case not(QueryExpression)
    case term(QueryTerm)
}

extension QueryExpression {
    /// One of several, or the only one itself.
    static func any(of alternatives: [QueryExpression]) -> QueryExpression {
        if alternatives.count == 1, let only = alternatives.first { return only }
        return .any(alternatives)
    }

    /// All of several, or the only one itself.
    static func all(of conditions: [QueryExpression]) -> QueryExpression {
        if conditions.count == 1, let only = conditions.first { return only }
        return .all(conditions)
    }
}

extension QueryExpression {
    /// All conditions in it.
    public var terms: [QueryTerm] {
        switch self {
        case .all(let inner), .any(let inner): inner.flatMap(\.terms)
        case .not(let inner): inner.terms
        case .term(let term): [term]
        }
    }

    /// The users whom the query names.
    public var writers: [String] { terms.compactMap { if case .writer(let name) = $0 { name } else { nil } } }

    /// The words that are searched for in names and texts.
    public var words: [WordPattern] { terms.compactMap { if case .words(let words) = $0 { words } else { nil } } }
}

/// One condition of a query.
public enum QueryTerm: Sendable, Hashable {
    /// Words, one after another, in the document's name or its text.
    case words(WordPattern)
    case name(NamePattern)
    /// The path from the store's root.
    case path(NamePattern)
    /// Anywhere in this folder, by its path from the store's root.
    case folder(String)
    /// What follows the name's last dot, folded.
    case fileExtension(String)
    /// This tag, or one nested in it.
    case tag(String)
    case anyTag
    /// The user who searches has marked the document.
    case favorite
    /// The user of this name or number, or with `me` the one who searches, wrote the content.
    case writer(String)
    case type(TypePattern)
    /// When the document was modified.
    case modified(TimeRange)
    /// In bytes.
    case size(ClosedRange<Int64>)
}

/// Words as they were typed.
public struct WordPattern: Sendable, Hashable {
    public let text: String
    /// Whether the last word may go on: `bud*`.
    public let isPrefix: Bool

    package init(text: String, isPrefix: Bool) { (self.text, self.isPrefix) = (text, isPrefix) }

    /// What a name has to contain, folded.
    public var folded: [UInt8] { Folding.fold(text.utf8) }
}

/// A moment on or after `start` and before `end`, in nanoseconds since 1970.
public struct TimeRange: Sendable, Hashable {
    public let start: Int64
    public let end: Int64

    package init(start: Int64, end: Int64) { (self.start, self.end) = (start, end) }

    public func contains(_ time: Int64) -> Bool { start <= time && time < end }
}

/// A type of documents.
public enum TypePattern: Sendable, Hashable {
    /// This MIME type or one derived from it.
    case derived(from: String)
    /// A MIME type, or a pattern such as `image/*`; nothing derived from it.
    case mime(NamePattern)
    case kind(DocumentKind)
}

/// Groups of types, as users think of them. Which types belong to each is for shared-mime-info's database to say.
public enum DocumentKind: String, Sendable, Hashable, CaseIterable {
    case archive, audio, document, font, image, mail, presentation, spreadsheet, text, video
}
