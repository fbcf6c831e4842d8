import StorePrimitives
import WorkerProtocol

/// An archive's folders and what is in each, as the paths of its entries tell.
struct ArchiveTree {
    enum Child {
        /// Its number in `folders`.
        case folder(Int)
        case file(File)
    }

    struct File {
        /// Its number in the archive's own order.
        let index: Int
        /// Bytes; nil if the archive does not say.
        let size: Int64?
        /// Seconds since 1970; nil if the archive does not say.
        let modified: Int64?
    }

    /// The archive itself is the first one.
    private(set) var folders: [[EntryName: Child]] = [[:]]
    static let root = 0
    /// Bytes in memory, about.
    private(set) var length = 0
    private static let lengthOfFolder = 300, lengthOfName = 200

    /// Deep paths that share nothing make more folders than there are entries.
    private static let mostFolders = 100_000

    init(_ entries: [ArchiveListing.Entry]) {
        for entry in entries { add(entry) }
    }

    private mutating func add(_ entry: ArchiveListing.Entry) {
        var folder = Self.root
        for name in entry.path.dropLast() {
            guard let next = self.folder(named: name, in: folder) else { return }
            folder = next
        }
        guard let last = entry.path.last, let name = EntryName(Array(last.utf8)) else { return }
        if entry.isFolder {
            _ = self.folder(named: last, in: folder)
        } else if case .folder = folders[folder][name] {
            // A file is not also a folder.
        } else {
            // What comes later in an archive replaces what came before.
            length += Self.lengthOfName + name.bytes.count
            folders[folder][name] = .file(File(index: entry.index, size: entry.size, modified: entry.modified))
        }
    }

    private mutating func folder(named name: String, in parent: Int) -> Int? {
        guard let name = EntryName(Array(name.utf8)) else { return nil }
        if case .folder(let number) = folders[parent][name] { return number }
        guard folders.count < Self.mostFolders else { return nil }
        length += Self.lengthOfFolder + Self.lengthOfName + name.bytes.count
        folders.append([:])
        folders[parent][name] = .folder(folders.count - 1)
        return folders.count - 1
    }
}
