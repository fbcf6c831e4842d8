/// Makes an expression of a query's text.
///
///     any  = all { "OR" all }
///     all  = { not | "AND" }
///     not  = [ "-" | "NOT" ] ( "(" any ")" | term )
struct QueryParser {
    private let tokens: [QueryToken]
    /// All bytes of the query.
    private let whole: Range<Int>
    private let values: QueryValues
    private var at = 0
    private var terms = 0
    private var levels = 0

    init(_ text: String, calendar: QueryCalendar, root: String) throws(QueryError) {
        whole = Array(text.utf8).indices
        guard whole.count <= Query.longest else { throw QueryError(.tooLong, at: whole.dropFirst(Query.longest)) }
        guard !text.utf8.contains(0) else { throw QueryError(.hasNul, at: whole) }
        var scanner = QueryScanner(text)
        var tokens: [QueryToken] = []
        while let token = try scanner.next() { tokens.append(token) }
        self.tokens = tokens
        values = QueryValues(calendar: calendar, root: root)
    }

    mutating func parse() throws(QueryError) -> QueryExpression {
        guard !tokens.isEmpty else { throw QueryError(.empty, at: whole) }
        let expression = try any()
        if let rest = current { throw QueryError(.unopenedParenthesis, at: rest.range) }
        return expression
    }

    private mutating func any() throws(QueryError) -> QueryExpression {
        var alternatives = [try all()]
        while let token = current, token.kind == .or {
            at &+= 1
            alternatives.append(try all(behind: token))
        }
        return .any(of: alternatives)
    }

    /// - Parameter behind: the operator that wants something on its right side.
    private mutating func all(behind operator: QueryToken? = nil) throws(QueryError) -> QueryExpression {
        var conditions: [QueryExpression] = []
        var pending = `operator`
        loop: while let token = current {
            switch token.kind {
            case .or, .close: break loop
            case .and:
                guard !conditions.isEmpty, pending == nil else { throw QueryError(.danglingOperator("AND"), at: token.range) }
                pending = token
                at &+= 1
            default:
                conditions.append(try not())
                pending = nil
            }
        }
        if let pending { throw QueryError(.danglingOperator(pending.kind == .or ? "OR" : "AND"), at: pending.range) }
        guard !conditions.isEmpty else {
            guard let token = current else { throw QueryError(.empty, at: whole) }
            if token.kind == .or { throw QueryError(.danglingOperator("OR"), at: token.range) }
            throw QueryError(levels > 0 ? .empty : .unopenedParenthesis, at: token.range)
        }
        return .all(of: conditions)
    }

    private mutating func not() throws(QueryError) -> QueryExpression {
        var isNegated = false
        while let token = current, token.kind == .not {
            at &+= 1
            isNegated.toggle()
            guard let next = current, next.kind != .close, next.kind != .or, next.kind != .and else {
                throw QueryError(.danglingOperator("NOT"), at: token.range)
            }
        }
        let expression = try single()
        return isNegated ? .not(expression) : expression
    }

    private mutating func single() throws(QueryError) -> QueryExpression {
        guard let token = current else { throw QueryError(.empty, at: whole) }
        at &+= 1
        guard case .word(let text, let colon, let isQuoted) = token.kind else {
            levels &+= 1
            guard levels <= Query.mostLevels else { throw QueryError(.tooManyLevels, at: token.range) }
            let inner = try any()
            guard let closing = current, closing.kind == .close else { throw QueryError(.unclosedParenthesis, at: token.range) }
            at &+= 1
            levels &-= 1
            return inner
        }
        terms &+= 1
        guard terms <= Query.mostTerms else { throw QueryError(.tooManyTerms, at: token.range) }
        if let colon { return try values.expression(field: text, colon: colon, at: token.range) }
        return try values.expression(words: text, isQuoted: isQuoted, at: token.range)
    }

    private var current: QueryToken? { tokens.dropFirst(at).first }
}
