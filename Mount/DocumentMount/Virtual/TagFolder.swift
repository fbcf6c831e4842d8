import DocumentIndex
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

/// A folder of `.tags`: `.tags` itself, a tag, or several joined by `+`. It shows links to the documents that have all of its
/// tags, and the tags nested in it as folders.
final class TagFolder: VirtualItem {
    private let shared: TagFolders
    /// Empty for `.tags` itself.
    let tags: [Tag]
    /// The name below `.tags`, as browsed.
    private let place: [UInt8]

    init(_ shared: TagFolders, tags: [Tag], place: [UInt8]) {
        self.shared = shared
        self.tags = tags
        self.place = place
    }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { Array(".tags/".utf8) + place }
    private var depth: Int { 1 + (tags.isEmpty ? 0 : place.count { $0 == UInt8(ascii: "/") } + 1) }

    func attributes(_ caller: Caller, inode: UInt64) throws(Errno) -> stat {
        attributes(
            inode: inode, mode: 0o777, links: 2,
            modified: timespec(Timestamp(nanoseconds: shared.lastChange)))
    }

    func children(_ caller: Caller) throws(Errno) -> [(EntryName, any VirtualItem)] {
        listing(caller).entries.map { ($0.name, $0.item) }
    }

    func child(_ name: EntryName, _ caller: Caller) throws(Errno) -> any VirtualItem {
        if let item = listing(caller)[name] { return item }
        if let joined = joined(name, caller) { return joined }
        if let document = shared.freshLink(name, in: key, of: caller) {
            return VirtualLink(
                to: document, place: key, depth: depth, modified: timespec(Timestamp(nanoseconds: Clock.now)))
        }
        throw .noSuchFileOrDirectory
    }

    private func listing(_ caller: Caller) -> VirtualListing {
        shared.listing(of: key, caller) { index, reach in
            var listing = VirtualListing()
            for tag in subtags(index, reach, caller) {
                guard let name = tag.components.last else { continue }
                listing.add(name, folder(tag, name))
            }
            guard !tags.isEmpty, let documents = try? index.documents(tagged: tags) else { return listing }
            let reachable = reach.filter(documents.map(\.path), caller)
            for (document, _) in zip(documents, reachable).filter(\.1).sorted(by: { $0.0.path.bytes.lexicographicallyPrecedes($1.0.path.bytes) }) {
                guard let name = document.path.lastName else { continue }
                listing.add(
                    name, VirtualLink(to: document.path, place: key, depth: depth, modified: timespec(document.modified)))
            }
            return listing
        }
    }

    /// The tags one level down that the caller may know of: empty ones they made, and those on a document within reach.
    private func subtags(_ index: DocumentIndex, _ reach: Reach, _ caller: Caller) -> [Tag] {
        guard tags.count <= 1 else { return [] }
        let known = (try? tags.first.map { tag throws(IndexError) in try index.tags(nestedIn: tag) } ?? index.tags()) ?? []
        var shown: Set<Tag> = []
        let level = tags.first?.components.count ?? 0
        for summary in known {
            let components = summary.tag.components
            guard components.count > level, let tag = Tag(components.prefix(level + 1).map(\.bytes).joined(separator: [UInt8(ascii: "/")])),
                !shown.contains(tag)
            else { continue }
            if summary.keeper == UserID(caller.uid) && summary.count == 0 || shared.isReachable(summary.tag, index, reach, caller) {
                shown.insert(tag)
            }
        }
        return shown.sorted()
    }

    /// Where a folder of this name inside this one is browsed.
    private func place(of name: EntryName) -> [UInt8] {
        tags.isEmpty ? Array(name.bytes) : place + [UInt8(ascii: "/")] + name.bytes
    }

    private func folder(_ tag: Tag, _ name: EntryName) -> TagFolder {
        TagFolder(shared, tags: [tag], place: place(of: name))
    }

    /// `work+urgent`: what has both. Only where each part is a tag.
    private func joined(_ name: EntryName, _ caller: Caller) -> TagFolder? {
        let parts = name.bytes.split(separator: UInt8(ascii: "+"), omittingEmptySubsequences: false)
        guard parts.count > 1, tags.count <= 1 else { return nil }
        var joined: [Tag] = []
        for part in parts {
            guard let name = EntryName(part), let folder = listing(caller)[name] as? TagFolder, let tag = folder.tags.first
            else { return nil }
            joined.append(tag)
        }
        return TagFolder(shared, tags: joined, place: place(of: name))
    }

    private func nested(_ name: EntryName) throws(Errno) -> Tag {
        guard tags.count <= 1 else { throw .notPermitted }
        guard let tag = tags.first.map({ $0.appending(name) }) ?? Tag(name.bytes) else { throw .invalidArgument }
        return tag
    }

    // MARK: Changes

    func makeFolder(_ name: EntryName, _ caller: Caller) throws(Errno) -> any VirtualItem {
        let tag = try nested(name)
        try shared.makeTag(tag, caller)
        return folder(tag, name)
    }

    func addLink(_ name: EntryName, target: [UInt8], _ caller: Caller) throws(Errno) -> any VirtualItem {
        guard let document = shared.document(linkedBy: target, fromDepth: depth, caller) else { throw .notPermitted }
        try add(document, name, caller)
        shared.noteFreshLink(name, in: key, to: document, by: caller)
        return VirtualLink(to: document, place: key, depth: depth, modified: timespec(Timestamp(nanoseconds: Clock.now)))
    }

    func add(_ document: StorePath, _ name: EntryName, _ caller: Caller) throws(Errno) {
        guard !tags.isEmpty else { throw .notPermitted }
        try shared.tags.add(tags, to: document, caller)
    }

    func remove(_ name: EntryName, _ caller: Caller) throws(Errno) {
        let item = try child(name, caller)
        guard let link = item as? VirtualLink else { throw .isDirectory }
        try shared.remove(tags, from: link.document, caller)
    }

    func removeFolder(_ name: EntryName, _ caller: Caller) throws(Errno) {
        let item = try child(name, caller)
        guard let folder = item as? TagFolder else { throw .notDirectory }
        guard folder.tags.count == 1 else { throw .notPermitted }
        try shared.removeTag(folder.tags[0], caller)
    }

    func rename(_ name: EntryName, to folder: any VirtualItem, _ newName: EntryName, _ caller: Caller) throws(Errno) {
        guard let target = folder as? TagFolder else { throw .notPermitted }
        switch try child(name, caller) {
        case let link as VirtualLink:
            // Within one tag there is nothing to change: a link's name is its document's. Only `ln -sf` has its way, which
            // makes a link under a passing name first.
            if target.tags == tags, shared.forgetFreshLink(name, in: key, of: caller) { return }
            guard target.tags != tags, !target.tags.isEmpty else { throw .notPermitted }
            try shared.swap(tags, for: target.tags, on: link.document, caller)
        case let renamed as TagFolder:
            guard renamed.tags.count == 1 else { throw .notPermitted }
            try shared.renameTag(renamed.tags[0], to: try target.nested(newName), caller)
        default: throw .notPermitted
        }
    }
}
