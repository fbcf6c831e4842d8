public import StorePrimitives

/// Something in the store changed, and this process did not do it.
///
/// A change is a hint to look, not a record: it tells what happened at a name at some moment up to 60 ms ago, and several
/// changes of one file may have been merged into one. Paths are those of the moment of telling, so after `mv a b` an earlier
/// change inside is told as inside b.
public struct OutsideChange: Hashable, Sendable {
    /// A name in a folder.
    public struct Place: Hashable, Sendable {
        public let folder: FileIdentity
        public let folderPath: StorePath
        public let name: EntryName

        public init(folder: FileIdentity, folderPath: StorePath, name: EntryName) {
            self.folder = folder
            self.folderPath = folderPath
            self.name = name
        }

        /// The path of the entry.
        public var path: StorePath { folderPath.appending(name) }
    }

    public enum Kind: Hashable, Sendable {
        /// Made here, linked here, or moved here from outside the store; it may already be gone again. A folder may hold
        /// files that came with it: whoever hears of it looks inside.
        case appeared
        /// Removed, or moved out of the store. A folder takes with it all it held, which is not told one by one.
        case disappeared
        /// Moved within the store, perhaps over something else.
        case moved(to: Place)
        /// Written to, or closed after being open for writing; size and modification time tell whether it did change.
        case contentChanged
        /// Owner, mode, times, link count or xattrs.
        case attributesChanged
        /// Changes were lost: anything may have changed anywhere. `folder` is the root.
        case overflow
    }

    /// What was done to a file's content, as far as the watcher was told.
    public struct Writing: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Written to, or truncated.
        public static let modified = Writing(rawValue: 1)
        /// Closed after being open for writing.
        public static let closed = Writing(rawValue: 2)
    }

    /// The folder it happened in.
    public let folder: FileIdentity
    public let folderPath: StorePath
    /// The name it happened to; nil: the folder itself.
    public let name: EntryName?
    public let kind: Kind
    /// Whether what changed is a folder.
    public let isFolder: Bool
    /// Who did it; nil where that is not known, and then it may have been this process after all.
    public let pid: Int32?
    /// Of what has appeared or was written.
    public var writing: Writing

    public init(
        folder: FileIdentity, folderPath: StorePath, name: EntryName?, kind: Kind, isFolder: Bool, pid: Int32?,
        writing: Writing = []
    ) {
        self.folder = folder
        self.folderPath = folderPath
        self.name = name
        self.kind = kind
        self.isFolder = isFolder
        self.pid = pid
        self.writing = writing
    }

    /// Whether it tells the same, but for `writing`.
    func isLike(_ other: OutsideChange) -> Bool {
        var other = other
        other.writing = writing
        return self == other
    }

    /// The path of what changed, before a move.
    public var path: StorePath { name.map { folderPath.appending($0) } ?? folderPath }
}

/// A folder of the store, as changes name it.
struct FolderPlace {
    let identity: FileIdentity
    let path: StorePath

    func change(
        _ kind: OutsideChange.Kind, to name: EntryName?, isFolder: Bool, by pid: Int32?, writing: OutsideChange.Writing = []
    ) -> OutsideChange {
        OutsideChange(
            folder: identity, folderPath: path, name: name, kind: kind, isFolder: isFolder, pid: pid, writing: writing)
    }

    func place(of name: EntryName) -> OutsideChange.Place {
        OutsideChange.Place(folder: identity, folderPath: path, name: name)
    }
}
