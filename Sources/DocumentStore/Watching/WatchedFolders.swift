import StorePrimitives

/// The folders that have an inotify watch, as a tree: moving a folder moves all below it, in O(1). Some 250 bytes a folder.
struct WatchedFolders {
    /// inotify's number for a watch.
    typealias Watch = Int32

    struct Folder {
        let identity: FileIdentity
        /// Nil for the root.
        fileprivate(set) var parent: Watch?
        fileprivate(set) var name: EntryName?
        /// The repair that saw it last.
        fileprivate(set) var round: UInt32
    }

    private struct Child: Hashable {
        let parent: Watch
        let name: EntryName
    }

    private var folders: [Watch: Folder] = [:]
    private var children: [Child: Watch] = [:]

    var count: Int { folders.count }

    subscript(watch: Watch) -> Folder? { folders[watch] }

    func child(of parent: Watch, named name: EntryName) -> Watch? { children[Child(parent: parent, name: name)] }

    /// Whether the folder stands at this place.
    func stands(_ watch: Watch, at name: EntryName, in parent: Watch) -> Bool {
        folders[watch]?.parent == parent && folders[watch]?.name == name
    }

    /// The folder and its path; nil if it, or a folder above it, has no watch. O(depth).
    func place(of watch: Watch) -> FolderPlace? {
        var names: [EntryName] = []
        guard let folder = folders[watch] else { return nil }
        var current = folder
        while let name = current.name, let parent = current.parent {
            names.append(name)
            // No tree is deeper than it has folders; a loop could come of a bind mount only.
            guard names.count <= folders.count, let next = folders[parent] else { return nil }
            current = next
        }
        var path: [UInt8] = []
        for name in names.reversed() {
            if !path.isEmpty { path.append(UInt8(ascii: "/")) }
            path.append(contentsOf: name.bytes)
        }
        return FolderPlace(identity: folder.identity, path: StorePath(unchecked: path))
    }

    /// Adds a folder, or says that the one with this watch was seen in this round.
    mutating func insert(_ watch: Watch, identity: FileIdentity, name: EntryName?, in parent: Watch?, round: UInt32) {
        if folders[watch] != nil { unlink(watch) }
        folders[watch] = Folder(identity: identity, parent: parent, name: name, round: round)
        if let parent, let name { children[Child(parent: parent, name: name)] = watch }
    }

    /// Puts a folder, with all below it, at another place.
    mutating func move(_ watch: Watch, to name: EntryName, in parent: Watch) {
        guard folders[watch] != nil else { return }
        unlink(watch)
        folders[watch]?.parent = parent
        folders[watch]?.name = name
        children[Child(parent: parent, name: name)] = watch
    }

    mutating func remove(_ watch: Watch) {
        unlink(watch)
        folders[watch] = nil
    }

    /// The folder and all below it. O(all folders times depth): for the rare folder that leaves the store.
    func subtree(of top: Watch) -> [Watch] {
        folders.keys.filter { watch in
            var current: Watch? = watch
            var steps = 0
            while let here = current, steps <= folders.count {
                if here == top { return true }
                current = folders[here]?.parent
                steps += 1
            }
            return false
        }
    }

    /// The folders that a repair did not see. O(all folders).
    func notSeen(in round: UInt32) -> [Watch] { folders.compactMap { $0.value.round == round ? nil : $0.key } }

    /// Forgets the way from the parent to this folder, unless another folder took the name meanwhile.
    private mutating func unlink(_ watch: Watch) {
        guard let folder = folders[watch], let parent = folder.parent, let name = folder.name else { return }
        let child = Child(parent: parent, name: name)
        if children[child] == watch { children[child] = nil }
    }
}
