internal import CZlib

/// Words of a text, compressed (zlib). They are kept since a full-text index without content forgets a text only if it is told it again.
enum CompressedWords {
    static func compressed(_ words: [UInt8]) -> [UInt8] {
        var length = compressBound(uLong(clamping: words.count))
        var bytes = [UInt8](repeating: 0, count: Int(clamping: length))
        guard compress2(&bytes, &length, words, uLong(clamping: words.count), 3) == Z_OK else { return [] }
        return Array(bytes.prefix(Int(clamping: length)))
    }

    /// - Parameter length: of the words. Throws `.corrupt` if the bytes are not those of so many words.
    static func words(_ bytes: [UInt8], length: Int) throws(IndexError) -> [UInt8] {
        guard (0...TextIndex.longestText).contains(length) else { throw .corrupt(reason: "a text of \(length) bytes") }
        var words = [UInt8](repeating: 0, count: length)
        var count = uLong(clamping: length)
        guard uncompress(&words, &count, bytes, uLong(clamping: bytes.count)) == Z_OK, count == length else {
            throw .corrupt(reason: "words of a text that cannot be read")
        }
        return words
    }
}
