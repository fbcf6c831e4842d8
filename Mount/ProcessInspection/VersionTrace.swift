public import StorePrimitives

/// By what an open description of one version of a document is known in the tables of other processes.
///
/// The name is looked at first because it is the cheapest to see of a descriptor. What was opened by a bind mount of the file
/// itself has another and is not found.
public struct VersionTrace: Sendable {
    /// The document's name, and those that it had since the version was opened first.
    public let names: [EntryName]
    /// As the mount presents it: several where handles of the version are on another one's inode.
    public let inodes: [UInt64]

    public init(names: [EntryName], inodes: [UInt64]) {
        self.names = names
        self.inodes = inodes
    }

    /// Whether a path ends in one of the names, as the target of a descriptor's link: a file without a name has
    /// " (deleted)" behind it.
    func matches(path: UnsafeRawBufferPointer) -> Bool {
        let slash = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let last = path[slash...]
        return names.contains { name in
            last.elementsEqual(name.bytes)
                || last.count == name.bytes.count + Self.deleted.count && last.starts(with: name.bytes)
                    && last.suffix(Self.deleted.count).elementsEqual(Self.deleted)
        }
    }

    /// As `matches(path:)`, with newlines written "\012" as in /proc/PID/maps.
    func matches(escapedPath path: UnsafeRawBufferPointer) -> Bool {
        if matches(path: path) { return true }
        return names.contains { name in
            guard name.bytes.contains(10) else { return false }
            let escaped = name.bytes.flatMap { $0 == 10 ? Array(#"\012"#.utf8) : [$0] }
            let last = path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...]
            return last.elementsEqual(escaped) || last.elementsEqual(escaped + Self.deleted)
        }
    }

    private static let deleted = Array(" (deleted)".utf8)
}
