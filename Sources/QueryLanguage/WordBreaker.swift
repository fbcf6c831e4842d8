/// Takes text apart into the words by which it is searched: runs of letters and digits, folded; of Chinese and Japanese, which have no
/// spaces, and of Korean, each two characters that follow each other.
public enum WordBreaker {
    /// Bytes of a word; what is longer is no word that anybody searches for.
    private static let longest = 64

    /// The words, each followed by a space. O(length).
    public static func words(of text: some Sequence<UInt8>) -> [UInt8] {
        var words: [UInt8] = []
        each(text) { word in
            words.append(contentsOf: word)
            words.append(UInt8(ascii: " "))
        }
        return words
    }

    /// Calls `body` with the bytes of each word.
    private static func each(_ text: some Sequence<UInt8>, _ body: (ArraySlice<UInt8>) -> Void) {
        var word: [UInt8] = []
        // The length of the last character of a run of characters without spaces; nil in another word.
        var last: ArraySlice<UInt8>?
        func end() {
            if let last, word.isEmpty { body(last) } else if !word.isEmpty, last == nil, word.count <= longest { body(word[...]) }
            word = []
            last = nil
        }
        for scalar in String(decoding: Folding.fold(text), as: UTF8.self).unicodeScalars {
            if isIdeographic(scalar) {
                let character = Array(String(scalar).utf8)
                if last == nil, !word.isEmpty { end() }
                if let last {
                    // In `word`: that the run has more than one.
                    word = last + character
                    body(word[...])
                }
                last = character[...]
            } else if isLetter(scalar) {
                if last != nil { end() }
                word.append(contentsOf: String(scalar).utf8)
            } else {
                end()
            }
        }
        end()
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.properties.isAlphabetic || (0x30...0x39).contains(scalar.value) }
        switch scalar.properties.generalCategory {
        case .decimalNumber, .letterNumber, .otherNumber, .nonspacingMark, .spacingMark: return true
        default: return scalar.properties.isAlphabetic
        }
    }

    private static func isIdeographic(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x2E80...0x2FDF, 0x3041...0x30FF, 0x31F0...0x31FF, 0x3400...0x9FFF, 0xAC00...0xD7AF, 0xF900...0xFAFF, 0x20000...0x3FFFF: true
        default: false
        }
    }
}

extension WordPattern {
    /// What the words of a text have to have in them for the pattern to be there, one after another; none if nothing can be searched for.
    public var words: [String] {
        WordBreaker.words(of: text.utf8).split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether the last of `words` is the beginning of a word: it was typed so, or it is one character of a script without spaces.
    public var endsInPrefix: Bool { isPrefix || (words.count == 1 && words.first?.unicodeScalars.count == 1 && words.first?.utf8.count ?? 0 > 2) }
}
