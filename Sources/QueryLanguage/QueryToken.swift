/// A piece of a query, and where it stands.
struct QueryToken: Equatable {
    enum Kind: Equatable {
        case open, close, or, and, not
        /// A word, or what stands in quotation marks. `colon` is the place of the first colon, or of the `<`, `>` or `=` behind `size` and `date`, in
        /// `text`, if one stands outside of quotation marks.
        case word(text: String, colon: Int?, isQuoted: Bool)
    }

    let kind: Kind
    /// Bytes of the query.
    let range: Range<Int>
}

/// Takes a query apart.
struct QueryScanner {
    private let bytes: [UInt8]
    private var at = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// The next piece; nil at the end.
    mutating func next() throws(QueryError) -> QueryToken? {
        while let byte = current, Self.isSpace(byte) { at &+= 1 }
        guard let byte = current else { return nil }
        let start = at
        switch byte {
        case UInt8(ascii: "("): return single(.open)
        case UInt8(ascii: ")"): return single(.close)
        case UInt8(ascii: "-") where following.map { !Self.isSpace($0) && $0 != byte } ?? false: return single(.not)
        default: return try word(from: start)
        }
    }

    private mutating func word(from start: Int) throws(QueryError) -> QueryToken {
        var text: [UInt8] = []
        var colon: Int?
        var isQuoted = false
        while let byte = current, !Self.isSpace(byte), byte != UInt8(ascii: ")"), byte != UInt8(ascii: "(") {
            if byte == UInt8(ascii: "\"") {
                if text.isEmpty { isQuoted = true }
                try quoted(&text)
                continue
            }
            let isColon = byte == UInt8(ascii: ":") || "<>=".utf8.contains(byte) && ["size", "date"].contains(String(decoding: text, as: UTF8.self).lowercased())
            if isColon, colon == nil, !isQuoted { colon = text.count }
            text.append(byte)
            at &+= 1
        }
        let word = String(decoding: text, as: UTF8.self)
        let range = start..<max(at, start)
        guard !isQuoted else { return QueryToken(kind: .word(text: word, colon: nil, isQuoted: true), range: range) }
        switch word {
        case "OR": return QueryToken(kind: .or, range: range)
        case "AND": return QueryToken(kind: .and, range: range)
        case "NOT": return QueryToken(kind: .not, range: range)
        default: return QueryToken(kind: .word(text: word, colon: colon, isQuoted: false), range: range)
        }
    }

    /// Takes what stands between two quotation marks.
    private mutating func quoted(_ text: inout [UInt8]) throws(QueryError) {
        let opening = at
        at &+= 1
        while let byte = current {
            at &+= 1
            if byte == UInt8(ascii: "\"") { return }
            text.append(byte)
        }
        throw QueryError(.unclosedQuote, at: opening..<(opening &+ 1))
    }

    private mutating func single(_ kind: QueryToken.Kind) -> QueryToken {
        at &+= 1
        return QueryToken(kind: kind, range: (at &- 1)..<at)
    }

    private var current: UInt8? { bytes.dropFirst(at).first }
    private var following: UInt8? { bytes.dropFirst(at).dropFirst().first }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
