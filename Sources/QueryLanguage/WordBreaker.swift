/// Takes text apart into the words by which it is searched: runs of letters and digits, folded; of Chinese and Japanese, which have no
/// spaces, and of Korean, each two characters that follow each other, and the last of a run.
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
        // The last character of a run of characters without spaces; nil in another word.
        var last: ArraySlice<UInt8>?
        func end() {
            // By itself too, so that it is found at the end of a run.
            if let last { body(last) } else if !word.isEmpty, word.count <= longest { body(word[...]) }
            word = []
            last = nil
        }
        // What is no UTF-8 is replaced: the rest is folded all the same.
        let whole = String(decoding: Array(text), as: UTF8.self)
        for scalar in String(decoding: Folding.fold(whole.utf8), as: UTF8.self).unicodeScalars {
            if scalar.isASCII {
                // As nearly all are.
                let byte = UInt8(truncatingIfNeeded: scalar.value)
                guard (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 else {
                    end()
                    continue
                }
                if last != nil { end() }
                word.append(byte)
            } else if isIdeographic(scalar) {
                let character = Array(String(scalar).utf8)
                if last == nil { end() }
                if let last { body(last + character) }
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
    /// The words that a text has to have, one after another; none if nothing can be searched for.
    public var words: [String] {
        var words = WordBreaker.words(of: text.utf8).split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        // The run may go on in the text.
        if let last = words.last, Self.isOneCharacter(last), let pair = words.dropLast().last, pair.hasSuffix(last), pair.unicodeScalars.count == 2 {
            words.removeLast(1)
        }
        return words
    }

    /// Whether the last of `words` is the beginning of a word: it was typed so, or it is one character of a script without spaces.
    public var endsInPrefix: Bool { isPrefix || words.last.map { Self.isOneCharacter($0) } ?? false }

    /// One character of a script without spaces: others have no words of one that are longer than two bytes.
    private static func isOneCharacter(_ word: String) -> Bool { word.unicodeScalars.count == 1 && word.utf8.count > 2 }
}
