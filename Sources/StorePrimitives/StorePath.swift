/// A path inside the store, relative to its root: names joined by slashes, no slash at either end; empty for the root.
public struct StorePath: Hashable, Sendable {
    public let bytes: [UInt8]

    public static let root = StorePath(unchecked: [])

    /// All bytes at once: an array's own goes byte by byte, and takes several times as long.
    public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// Bytes known to be in the form above, such as those read back from the index.
    public init(unchecked bytes: [UInt8]) { self.bytes = bytes }

    /// Parses a relative path as typed: repeated and trailing slashes and `.` fall away. Nil if it has `..`, a NUL, or starts
    /// with a slash.
    public init?(parsing text: some Sequence<UInt8>) {
        let raw = Array(text)
        guard raw.first != Self.slash, !raw.contains(0) else { return nil }
        var result: [UInt8] = []
        for part in raw.split(separator: Self.slash) {
            if part.elementsEqual(".".utf8) { continue }
            if part.elementsEqual("..".utf8) || part.count > EntryName.maximumLength { return nil }
            if !result.isEmpty { result.append(Self.slash) }
            result.append(contentsOf: part)
        }
        bytes = result
    }

    public init?(_ text: String) { self.init(parsing: text.utf8) }

    /// The most bytes of a path that a system call takes (PATH_MAX, with the NUL). What lies deeper has no path: it can be reached
    /// from a folder on the way alone, and the index has nothing of it.
    public static let longest = 4_095

    static let slash = UInt8(ascii: "/")

    public var isRoot: Bool { bytes.isEmpty }

    /// Calls `body` with the path as system calls take it beside the store's descriptor: `.` for the root.
    public func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        ((isRoot ? [UInt8(ascii: ".")] : bytes) + [0]).withUnsafeBytes {
            body($0.assumingMemoryBound(to: CChar.self).baseAddress!)
        }
    }

    /// Whether it leads through a folder.
    public var hasFolder: Bool { bytes.contains(Self.slash) }

    /// The last name; nil for the root.
    public var lastName: EntryName? {
        let start = bytes.lastIndex(of: Self.slash).map { $0 + 1 } ?? 0
        return EntryName(bytes[start...])
    }

    /// The folder that holds this path; the root for a path of one name and for the root itself.
    public var parent: StorePath {
        guard let slash = bytes.lastIndex(of: Self.slash) else { return .root }
        return StorePath(unchecked: Array(bytes[..<slash]))
    }

    public func appending(_ name: EntryName) -> StorePath { appending(bytes: name.bytes) }

    public func appending(_ other: StorePath) -> StorePath { other.isRoot ? self : appending(bytes: other.bytes) }

    private func appending(bytes more: some Collection<UInt8>) -> StorePath {
        guard !isRoot else { return StorePath(unchecked: Array(more)) }
        var joined: [UInt8] = []
        joined.reserveCapacity(bytes.count + 1 + more.count)
        joined.append(contentsOf: bytes)
        joined.append(Self.slash)
        joined.append(contentsOf: more)
        return StorePath(unchecked: joined)
    }

    /// The names from the root down.
    public var names: [EntryName] { bytes.split(separator: Self.slash).compactMap { EntryName($0) } }

    /// How many names: 0 for the root.
    public var depth: Int { isRoot ? 0 : bytes.count { $0 == Self.slash } + 1 }

    /// Whether this path lies under `folder`, at any depth; not the folder itself.
    public func isInside(_ folder: StorePath) -> Bool {
        guard !folder.isRoot else { return !isRoot }
        return bytes.count > folder.bytes.count && bytes[folder.bytes.count] == Self.slash && bytes.starts(with: folder.bytes)
    }

    /// The deepest path that this one and another both are, or lie under.
    public func commonFolder(with other: StorePath) -> StorePath {
        var (length, end) = (0, 0)
        for (one, two) in zip(bytes, other.bytes) {
            guard one == two else { return StorePath(unchecked: Array(bytes.prefix(end))) }
            if one == Self.slash { end = length }
            length += 1
        }
        let longer = bytes.count > other.bytes.count ? self : other
        let isWhole = bytes.count == other.bytes.count || length == 0 || longer.bytes.dropFirst(length).first == Self.slash
        return StorePath(unchecked: Array(bytes.prefix(isWhole ? length : end)))
    }

    /// The path after `old` was moved to `new`: this path itself, or one inside it. Nil if it is neither.
    public func moved(from old: StorePath, to new: StorePath) -> StorePath? {
        if self == old { return new }
        guard isInside(old) else { return nil }
        if old.isRoot { return new.appending(self) }
        return new.appending(bytes: bytes[(old.bytes.count + 1)...])
    }

    /// Whether any name in the path starts with a dot.
    public var isHidden: Bool {
        var atStart = true
        for byte in bytes {
            if atStart, byte == UInt8(ascii: ".") { return true }
            atStart = byte == Self.slash
        }
        return false
    }
}

extension StorePath: CustomStringConvertible {
    /// For messages: invalid UTF-8 shows as U+FFFD.
    public var description: String { String(decoding: bytes, as: UTF8.self) }
}
