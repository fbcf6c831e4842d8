import Glibc

/// The text of XML and HTML, well-formed or not: without tags, comments and scripts, with a space where a block ends.
enum MarkupText {
    /// UTF-8, if the markup is. O(length).
    static func text(of markup: [UInt8]) -> [UInt8] {
        var reader = Reader(rest: markup[...])
        reader.read()
        return reader.text
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>
        var text: [UInt8] = []

        mutating func read() {
            while let byte = rest.popFirst() {
                switch byte {
                // Not every one begins a tag: a < b.
                case UInt8(ascii: "<") where rest.first.map { "/!?".utf8.contains($0) || ($0 | 0x20) &- 0x61 < 26 } ?? false: readTag()
                case UInt8(ascii: "&"): readEntity()
                default: text.append(byte)
                }
            }
        }

        private mutating func readTag() {
            if rest.starts(with: "!--".utf8) { return skip(behind: "-->") }
            if rest.starts(with: "![CDATA[".utf8) {
                rest = rest.dropFirst(8)
                let content = rest
                skip(behind: "]]>")
                text += content.prefix(max(content.count - rest.count - 3, 0))
                return
            }
            let tag = rest
            // A quoted value may have the end of a tag in it.
            var quote: UInt8?
            while let byte = rest.popFirst() {
                if let open = quote {
                    if byte == open { quote = nil }
                } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                    quote = byte
                } else if byte == UInt8(ascii: ">") {
                    break
                }
            }
            let name = MarkupText.name(tag)
            if blocks.contains(name) { text.append(UInt8(ascii: " ")) }
            if name == "script" || name == "style", tag.first != UInt8(ascii: "/") { skip(to: "</" + name) }
        }

        /// `&amp;`, `&#228;`, `&#xe4;`; any other is left as it is.
        private mutating func readEntity() {
            let name = rest.prefix(10).prefix { $0 != UInt8(ascii: ";") }
            guard name.count < 10, rest.count > name.count else { return text.append(UInt8(ascii: "&")) }
            let word = String(decoding: name, as: UTF8.self)
            var character = entities[word]
            if character == nil, word.hasPrefix("#") {
                let digits = word.dropFirst()
                let number = digits.lowercased().hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
                character = number.flatMap { Unicode.Scalar($0) }.map { String($0) }
            }
            guard let character else { return text.append(UInt8(ascii: "&")) }
            text += Array(character.utf8)
            rest = rest.dropFirst(name.count + 1)
        }

        private mutating func skip(behind end: String) {
            skip(to: end)
            rest = rest.dropFirst(end.utf8.count)
        }

        /// Without regard to case; to the end of all if it is not there.
        private mutating func skip(to end: String) {
            let end = Array(end.utf8)
            while !rest.isEmpty, !rest.prefix(end.count).elementsEqual(end, by: { $0 | 0x20 == $1 | 0x20 }) { rest = rest.dropFirst() }
        }
    }

    /// Of a tag, without its prefix: `p` of `/w:p`.
    private static func name(_ tag: ArraySlice<UInt8>) -> String {
        let tag = tag.first == UInt8(ascii: "/") ? tag.dropFirst() : tag
        let name = tag.prefix(64).prefix { $0 > 0x20 && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") }
        return String(decoding: name.split(separator: UInt8(ascii: ":")).last ?? [], as: UTF8.self).lowercased()
    }

    private static let blocks: Set = [
        "p", "br", "tab", "s", "cr", "h", "h1", "h2", "h3", "h4", "h5", "h6", "li", "tr", "td", "th", "div", "title", "row", "c", "cell", "tc",
        "table-cell", "table-row", "si", "line-break", "list-item", "section", "body", "head", "option", "dt", "dd", "pre", "blockquote",
        "article", "header", "footer", "nav", "creator", "subject", "description", "keyword", "keywords", "text", "tspan", "annotation",
        "button", "label", "caption", "hr", "img", "ul", "ol", "dl", "table", "meta", "item", "itemref", "entry", "lastmodifiedby",
        "initial-creator",
    ]

    private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": " ", "shy": ""]
}
