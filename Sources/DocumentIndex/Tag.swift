public import StorePrimitives

/// The name of a tag: UTF-8 text without comma or NUL, without white space at its ends. A slash nests (`work/urgent`), and
/// each component can be the name of a folder: not empty, not `.` or `..`, at most 255 bytes.
///
/// Tags are equal when their bytes are: two Unicode forms of é are two tags, as they are two file names.
public struct Tag: Hashable, Comparable, Sendable {
    public let bytes: [UInt8]

    private static let comma = UInt8(ascii: ",")
    private static let slash = UInt8(ascii: "/")

    /// Nil if the bytes, after trimming, are no tag.
    public init?(_ bytes: some Sequence<UInt8>) {
        let trimmed = Self.trim(Array(bytes)[...])
        guard !trimmed.isEmpty, !trimmed.contains(0), !trimmed.contains(Self.comma),
            String(validating: trimmed, as: UTF8.self) != nil
        else { return nil }
        for component in trimmed.split(separator: Self.slash, omittingEmptySubsequences: false) {
            guard !component.isEmpty, component.count <= EntryName.maximumLength, !component.elementsEqual(".".utf8),
                !component.elementsEqual("..".utf8)
            else { return nil }
        }
        self.bytes = Array(trimmed)
    }

    public init?(_ text: String) { self.init(text.utf8) }

    /// Bytes that came from a tag, such as those read back from the index.
    init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The names between the slashes.
    public var components: [EntryName] { bytes.split(separator: Self.slash).compactMap { EntryName($0) } }

    /// The tag this one nests in; nil at the top.
    public var parent: Tag? {
        bytes.lastIndex(of: Self.slash).map { Tag(unchecked: Array(bytes[..<$0])) }
    }

    /// The tag `name` nested in this one; nil if the name cannot be part of one (a comma, no UTF-8, space at its ends).
    public func appending(_ name: EntryName) -> Tag? {
        guard let last = Tag(name.bytes), last.bytes.elementsEqual(name.bytes) else { return nil }
        return Tag(unchecked: bytes + [Self.slash] + last.bytes)
    }

    /// Whether this tag nests in `other`, at any depth; not the tag itself.
    public func isNested(in other: Tag) -> Bool {
        bytes.count > other.bytes.count && bytes[other.bytes.count] == Self.slash && bytes.starts(with: other.bytes)
    }

    /// The tag after `old` was renamed to `new`: this tag itself or one nested in it. Nil if it is neither.
    public func renamed(from old: Tag, to new: Tag) -> Tag? {
        if self == old { return new }
        guard isNested(in: old) else { return nil }
        return Tag(unchecked: new.bytes + bytes[old.bytes.count...])
    }

    /// By bytes, so that a tag stands right before those nested in it or after tags that only share its beginning.
    public static func < (left: Tag, right: Tag) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }

    private static func trim(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return [] }
        return bytes[first...last]
    }
}

extension Tag: CustomStringConvertible {
    public var description: String { text }
}

/// The value of the `user.xdg.tags` attribute.
extension Tag {
    /// The tags in an attribute's value: separated by commas, white space around them dropped, in their order, each once.
    /// What is no tag is passed over.
    public static func parse(_ value: some Sequence<UInt8>) -> [Tag] {
        var seen: Set<Tag> = []
        return Array(value).split(separator: comma).compactMap { Tag($0) }.filter { seen.insert($0).inserted }
    }

    /// Of more tags of one document the index knows only these, the first.
    public static let mostOfDocument = 1_000

    /// The attribute's value for `tags`, each once, in their order; empty for none, which is written by removing the
    /// attribute.
    ///
    /// Parts of `original` (the value until now) that are no tags are kept, behind the tags: another program understood
    /// them.
    public static func format(_ tags: some Sequence<Tag>, keeping original: some Sequence<UInt8> = []) -> [UInt8] {
        var seen: Set<Tag> = []
        var parts = tags.filter { seen.insert($0).inserted }.map(\.bytes)
        for part in Array(original).split(separator: comma) where Tag(part) == nil {
            let trimmed = trim(part)
            if !trimmed.isEmpty { parts.append(Array(trimmed)) }
        }
        return Array(parts.joined(separator: [comma]))
    }
}
