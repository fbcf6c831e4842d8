/// What an archive holds, as a worker writes it: fields of text, each ended by a NUL.
public struct ArchiveListing: Sendable {
    public struct Entry: Sendable, Equatable {
        /// Its number in the archive's own order.
        public let index: Int
        /// Names of folders, and its own.
        public let path: [String]
        public let isFolder: Bool
        /// Bytes; nil if the archive does not say.
        public let size: Int64?
        /// Seconds since 1970; nil if the archive does not say.
        public let modified: Int64?

        public init(index: Int, path: [String], isFolder: Bool, size: Int64?, modified: Int64?) {
            self.index = index
            self.path = path
            self.isFolder = isFolder
            self.size = size
            self.modified = modified
        }
    }

    public let entries: [Entry]

    public init(entries: [Entry]) { self.entries = entries }

    public var bytes: [UInt8] {
        var fields = FieldWriter()
        for entry in entries {
            fields.add(entry.index)
            fields.add(entry.path.joined(separator: "/"))
            fields.add(entry.isFolder ? 1 : 0)
            fields.add(Int(entry.size ?? -1))
            fields.add(Int(entry.modified ?? .min))
        }
        return fields.bytes
    }

    /// Nil if it is none. Entries whose paths lead elsewhere, or that no file system would take, are left out.
    public init?(bytes: [UInt8]) {
        var fields = FieldReader(bytes)
        var entries: [Entry] = []
        var names = 0
        while !fields.isAtEnd {
            guard entries.count < WorkLimits.entries, let index = fields.number(in: 0...Int.max), let path = fields.text(),
                let kind = fields.number(in: 0...1), let size = fields.number(in: -1...Int.max),
                let modified = fields.number(in: Int.min...Int.max)
            else { return nil }
            guard let path = Self.names(of: path) else { continue }
            names += path.count
            guard names <= WorkLimits.names else { break }
            entries.append(
                Entry(
                    index: index, path: path, isFolder: kind == 1, size: size < 0 ? nil : Int64(size),
                    modified: modified == .min ? nil : Int64(modified)))
        }
        self.entries = entries
    }

    private static let deepest = 64
    private static let longestName = 255

    private static func names(of path: String) -> [String]? {
        let names = path.split(separator: "/").filter { $0 != "." }.map(String.init)
        guard !names.isEmpty, names.count <= deepest, names.allSatisfy({ $0 != ".." && $0.utf8.count <= longestName }) else { return nil }
        return names
    }
}
