import StorePrimitives
import WorkerProtocol

/// An archive's folders and what is in each, as the paths of its entries tell.
struct ArchiveTree {
    enum Child {
        /// Its number in `folders`.
        case folder(Int)
        case file(ArchiveListing.Entry)
    }

    /// The archive itself is the first one.
    private(set) var folders: [[EntryName: Child]] = [[:]]
    static let root = 0

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
            folders[folder][name] = .file(entry)
        }
    }

    private mutating func folder(named name: String, in parent: Int) -> Int? {
        guard let name = EntryName(Array(name.utf8)) else { return nil }
        if case .folder(let number) = folders[parent][name] { return number }
        guard folders.count < Self.mostFolders else { return nil }
        folders.append([:])
        folders[parent][name] = .folder(folders.count - 1)
        return folders.count - 1
    }
}
