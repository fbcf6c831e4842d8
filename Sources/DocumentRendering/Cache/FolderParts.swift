import Glibc
public import StorePrimitives

/// What a folder's picture was made of. It is not one of the folder any more when any of that has changed, be it in who may read it.
public struct FolderParts: Sendable, Equatable {
    public struct Part: Sendable, Equatable {
        public let name: EntryName
        /// The time of its last change of content or attributes (ctime), in nanoseconds since 1970.
        public let changed: Int64
    }

    /// The folder's own; see `Part.changed`.
    public let changed: Int64
    public let parts: [Part]

    /// As it is noted in the picture: times, and names in hexadecimal.
    var text: String {
        ([String(changed)] + parts.flatMap { [Self.hexadecimal($0.name.bytes), String($0.changed)] }).joined(separator: " ")
    }

    init(changed: Int64, parts: [Part]) { (self.changed, self.parts) = (changed, parts) }

    init?(text: String) {
        let words = text.split(separator: " ")
        guard words.count % 2 == 1, let changed = Int64(words[0]) else { return nil }
        var parts: [Part] = []
        for index in stride(from: 1, to: words.count, by: 2) {
            guard let name = Self.bytes(words[index]).flatMap({ EntryName($0) }), let time = Int64(words[index + 1]) else { return nil }
            parts.append(Part(name: name, changed: time))
        }
        self.init(changed: changed, parts: parts)
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(clamping: digits[$0] << 4 | digits[$0 + 1]) }
    }
}
