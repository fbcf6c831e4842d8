import DocumentIndex
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// A folder of `.tags`: `.tags` itself, a tag, or several joined by `+`. It shows links to the documents that have all of its
/// tags, and the tags nested in it as folders.
final class TagFolder: LinkFolder {
    private let shared: TagFolders
    var indexer: Indexer { shared.indexer }
    var cache: ListingCache { shared.cache }
    var access: AccessChecker { shared.access }
    /// Empty for `.tags` itself.
    let tags: [Tag]
    /// The name below `.tags`, as browsed.
    private let place: [UInt8]

    init(_ shared: TagFolders, tags: [Tag], place: [UInt8]) {
        self.shared = shared
        self.tags = tags
        self.place = place
    }

    var key: [UInt8] { Array(".tags/".utf8) + place }
    private var depth: Int { 1 + (tags.isEmpty ? 0 : place.count { $0 == UInt8(ascii: "/") } + 1) }

    func lastChange(for caller: Credentials) -> timespec { timespec(since1970: shared.lastChange.load(ordering: .relaxed)) }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        // A program that changes one document after another (`rm -r`, `mv`, `ln -s`) need not wait until the index has taken each change.
        if indexer.isBehind {
            if let document = shown(name, caller), let link = current(document, caller) { return link }
            if let tag = try? nested(name), shared.isKeptForNow(tag, by: caller) { return folder(tag, name) }
            if let document = made(name, caller), let link = current(document, caller) { return link }
        }
        let isUpToDate = catchUp(about: name)
        if isUpToDate, let item = cache.shownBefore(of: key, for: caller)?[name], let item = current(item, caller) { return item }
        if let item = (isUpToDate ? listed(name, caller) : item(named: name, caller)) ?? joined(name, caller) { return item }
        if let document = shared.freshLinks.document(name, in: key, of: caller, isPassing: true) {
            return link(document, Timestamp(nanoseconds: Clock.now))
        }
        throw .noSuchFileOrDirectory
    }

    /// The document that the name stood for in the last list that the caller saw.
    private func shown(_ name: EntryName, _ caller: Credentials) -> StorePath? {
        (cache.shownBefore(of: key, for: caller, evenIfValid: true)?[name] as? VirtualLink)?.document
    }

    /// The document that the caller has just made a link to, under this name.
    private func made(_ name: EntryName, _ caller: Credentials) -> StorePath? { shared.freshLinks.document(name, in: key, of: caller, isPassing: false) }

    /// Brings the index up to what concerns a name in this folder. Whether it is up to date, as it must be for lists: one of equal names has
    /// its number by its place among them, and a name may be that of several tags.
    private func catchUp(about name: EntryName) -> Bool {
        let isPlain = name.unnumbered == nil && name.bytes.count < EntryName.maximumLength && !name.bytes.contains(UInt8(ascii: "+"))
        if isPlain { return indexer.catchUp(about: name) }
        indexer.catchUp()
        return true
    }

    /// The kernel moves what it has of a folder when the tag is renamed, and keeps that for a moment.
    func checkHasItsName(_ caller: Credentials) throws(Errno) {
        for tag in tags where shared.wasJustRenamed(tag) && !shared.isShown(tag, to: caller) { throw .staleNFSFileHandle }
    }

    private func listed(_ name: EntryName, _ caller: Credentials) -> (any VirtualItem)? {
        guard let listing = shared.cache.listingForLookup(of: key, for: caller, { makeListing(caller) }) else {
            return item(named: name, caller)
        }
        guard let item = listing[name] else { return nil }
        // A document may have been written since, which makes no list void; its link's time is another then.
        guard let link = item as? VirtualLink, shared.indexer.written.mayHave(link.document, after: listing.generation) else {
            return item
        }
        return current(item, caller)
    }

    func makeListing(_ caller: Credentials) -> VirtualListing {
        var listing = VirtualListing(generation: shared.generation)
        for tag in subtags(caller) {
            guard let name = tag.components.last else { continue }
            listing.add(name, folder(tag, name))
        }
        // A document has its own name if that is free, so that numbers are given only among equal names.
        var others: [(EntryName, VirtualLink)] = []
        for document in shared.documents(tagged: tags, caller) {
            guard let name = document.path.lastName else { continue }
            let link = link(document.path, document.modified)
            if listing[name] == nil { listing.add(name, link) } else { others.append((name, link)) }
        }
        for (name, link) in others { listing.add(name, link) }
        return listing
    }

    /// An item of an earlier list as it is now; nil if it is no longer there for the caller.
    private func current(_ item: any VirtualItem, _ caller: Credentials) -> (any VirtualItem)? {
        if let folder = item as? TagFolder {
            guard let tag = folder.tags.first, shared.isShown(tag, to: caller) else { return nil }
            return folder
        }
        return (item as? VirtualLink).flatMap { current($0.document, caller) }
    }

    /// The link to a document that has the folder's tags; nil if it has not, or the caller may not know of it.
    private func current(_ document: StorePath, _ caller: Credentials) -> VirtualLink? {
        shared.tags.modified(of: document, tagged: tags, caller).map { link(document, $0) }
    }

    /// What a list made now would have under a name, by some queries of the index.
    private func item(named name: EntryName, _ caller: Credentials) -> (any VirtualItem)? {
        if let tag = try? nested(name), shared.isShown(tag, to: caller) { return folder(tag, name) }
        guard !tags.isEmpty else { return nil }
        if let document = shared.documents(tagged: tags, named: name, caller).first {
            return link(document.path, document.modified)
        }
        // Who has which number is told by the list alone.
        let isNumbered = name.unnumbered.map { !shared.documents(tagged: tags, named: $0, caller).isEmpty }
        guard isNumbered ?? (name.bytes.count == EntryName.maximumLength) else { return nil }
        return listing(caller, isShown: false)[name]
    }

    private func link(_ document: StorePath, _ modified: Timestamp) -> VirtualLink {
        VirtualLink(to: document, place: key, depth: depth, modified: timespec(modified))
    }

    /// The tags one level down that the caller may know of.
    private func subtags(_ caller: Credentials) -> [Tag] {
        guard tags.count <= 1, let known = try? shared.indexer.index.tags(nestedIn: tags.first) else { return [] }
        var shown: Set<Tag> = []
        let level = tags.first?.components.count ?? 0
        for summary in known {
            let components = summary.tag.components
            guard components.count > level,
                let tag = Tag(components.prefix(level + 1).map(\.bytes).joined(separator: [UInt8(ascii: "/")])),
                !shown.contains(tag)
            else { continue }
            if shared.isShown(summary, to: caller) { shown.insert(tag) }
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
    private func joined(_ name: EntryName, _ caller: Credentials) -> TagFolder? {
        let parts = name.bytes.split(separator: UInt8(ascii: "+"), omittingEmptySubsequences: false)
        guard parts.count > 1, tags.count <= 1 else { return nil }
        var joined: [Tag] = []
        for part in parts {
            guard let name = EntryName(part), let tag = try? nested(name), shared.isShown(tag, to: caller) else { return nil }
            joined.append(tag)
        }
        return TagFolder(shared, tags: joined, place: place(of: name))
    }

    private func nested(_ name: EntryName) throws(Errno) -> Tag {
        guard tags.count <= 1 else { throw .notPermitted }
        let tag = tags.first.map { $0.appending(name) } ?? Tag(name.bytes)
        // Not one that comes out as another: a tag has no white space at its ends.
        guard let tag, tag.components.last == name else { throw .invalidArgument }
        return tag
    }

    // MARK: Changes

    func makeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        let tag = try nested(name)
        try shared.makeTag(tag, caller)
        return folder(tag, name)
    }

    func addLink(_ name: EntryName, target: [UInt8], _ caller: Credentials) throws(Errno) -> any VirtualItem {
        guard case (let document, false)? = shared.targets.item(linkedBy: target, fromDepth: depth, caller) else { throw .notPermitted }
        try add(document, name, caller)
        shared.freshLinks.note(name, in: key, to: document, by: caller)
        return link(document, Timestamp(nanoseconds: Clock.now))
    }

    func add(_ document: StorePath, _ name: EntryName, _ caller: Credentials) throws(Errno) {
        guard !tags.isEmpty else { throw .notPermitted }
        try shared.add(tags, to: document, caller)
    }

    func remove(_ name: EntryName, _ caller: Credentials) throws(Errno) {
        if indexer.isBehind {
            if let document = shown(name, caller), shared.take(tags, from: document, caller) { return }
            // The kernel has looked the name up, and has found no folder.
            if let document = made(name, caller), shared.take(tags, from: document, caller) { return }
        }
        let item = try child(name, caller)
        guard let link = item as? VirtualLink else { throw .isDirectory }
        try shared.remove(tags, from: link.document, caller)
    }

    func removeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno) {
        let item = try child(name, caller)
        guard let folder = item as? TagFolder else { throw .notDirectory }
        guard folder.tags.count == 1 else { throw .notPermitted }
        try shared.removeTag(folder.tags[0], caller)
    }

    func rename(_ name: EntryName, to folder: any VirtualItem, _ newName: EntryName, _ caller: Credentials) throws(Errno) {
        guard let target = folder as? TagFolder else { throw .notPermitted }
        switch try child(name, caller) {
        case let link as VirtualLink:
            // Within one tag there is nothing to change: a link's name is its document's. Only `ln -sf` has its way, which
            // makes a link under a passing name first.
            if target.tags == tags, shared.freshLinks.forget(name, in: key, of: caller) { return }
            guard target.tags != tags, !target.tags.isEmpty else { throw .notPermitted }
            try shared.swap(tags, for: target.tags, on: link.document, caller)
        case let renamed as TagFolder:
            guard renamed.tags.count == 1 else { throw .notPermitted }
            try shared.renameTag(renamed.tags[0], to: try target.nested(newName), caller)
        default: throw .notPermitted
        }
    }
}
