import CPng

/// The texts in a PNG file (tEXt chunks, PNG specification 11.3.4.3), which say what a thumbnail is of.
package enum PngTexts {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    private static let header = Array("IHDR".utf8)
    private static let text = Array("tEXt".utf8)
    private static let pixels = Array("IDAT".utf8)

    /// How much of a file is read for the texts before its pixels, at first and at most: a URI may be three times as long as a path.
    static let readAhead = 4 << 10
    static let mostReadAhead = 32 << 10

    /// The texts that stand before the pixels in the beginning of a file, and whether that reaches the pixels; nil if it is no PNG file.
    package static func read(_ beginning: [UInt8]) -> (texts: [String: String], isWhole: Bool)? {
        guard beginning.starts(with: signature) else { return nil }
        var texts: [String: String] = [:]
        for chunk in chunks(of: beginning) {
            if chunk.type == pixels { return (texts, true) }
            guard chunk.type == text, let separator = chunk.content.firstIndex(of: 0) else { continue }
            let value = chunk.content[(separator + 1)...]
            texts[latin(chunk.content[..<separator])] = latin(value)
        }
        return (texts, false)
    }

    /// The file with these texts alone, before the pixels: some programs look no further.
    package static func replacing(_ texts: [(key: String, value: String)], in file: [UInt8]) -> [UInt8] {
        var result = signature
        result.reserveCapacity(file.count + 512)
        for chunk in chunks(of: file) where chunk.type != text {
            result += chunk.whole
            guard chunk.type == header else { continue }
            for (key, value) in texts { result += made(text, Array(key.utf8) + [0] + Array(value.utf8)) }
        }
        return result
    }

    private struct Chunk {
        let type: [UInt8]
        let content: ArraySlice<UInt8>
        let whole: ArraySlice<UInt8>
    }

    /// The chunks that are whole, and the last one as far as it goes if it is of pixels.
    private static func chunks(of file: [UInt8]) -> [Chunk] {
        var chunks: [Chunk] = []
        var start = signature.count
        while start + 12 <= file.count {
            let length = file[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
            guard start + 12 + length <= file.count else {
                if file[(start + 4)..<(start + 8)].elementsEqual(pixels) {
                    chunks.append(Chunk(type: pixels, content: file[start...], whole: file[start...]))
                }
                break
            }
            chunks.append(
                Chunk(
                    type: Array(file[(start + 4)..<(start + 8)]), content: file[(start + 8)..<(start + 8 + length)],
                    whole: file[start..<(start + 12 + length)]))
            start += 12 + length
        }
        return chunks
    }

    private static func made(_ type: [UInt8], _ content: [UInt8]) -> [UInt8] {
        let checked = type + content
        return bigEndian(UInt32(clamping: content.count)) + checked + bigEndian(cp_checksum(checked, checked.count))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private static func latin(_ bytes: ArraySlice<UInt8>) -> String {
        String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
    }
}
