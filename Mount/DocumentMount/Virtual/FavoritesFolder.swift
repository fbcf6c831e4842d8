import DocumentIndex
import struct DocumentIndex.UserID
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// `.favorites`: links to the documents and folders that the caller has marked; a link's time is when. `ln -s` marks one, `rm` takes the mark
/// away; what the link leads to is not changed.
final class FavoritesFolder: LinkFolder {
    let indexer: Indexer
    let targets: LinkTargets
    var access: AccessChecker { targets.access }
    let cache: ListingCache
    private let freshLinks = FreshLinks()

    init(indexer: Indexer, targets: LinkTargets, shares: UserShares) {
        self.indexer = indexer
        self.targets = targets
        cache = ListingCache(shares) { indexer.generation.load(ordering: .relaxed) }
    }

    var key: [UInt8] { Array(".favorites".utf8) }

    func lastChange(for caller: Credentials) -> timespec { timespec(marked(caller).first?.added ?? Timestamp(nanoseconds: 0)) }

    /// The caller's favorites that are there and that the caller may read; the one that was marked last comes first.
    func favorites(_ caller: Credentials) -> [Favorite] {
        let marked = marked(caller)
        return zip(marked, targets.access.filter(marked.map(\.path), caller)).filter(\.1).map(\.0)
    }

    /// Whether the caller may read them or not.
    private func marked(_ caller: Credentials) -> [Favorite] {
        indexer.catchUp()
        return (try? indexer.index.favorites(of: UserID(caller.uid))) ?? []
    }

    func makeListing(_ caller: Credentials) -> VirtualListing {
        var listing = VirtualListing(generation: indexer.generation.load(ordering: .relaxed))
        for favorite in favorites(caller) {
            guard let name = favorite.path.lastName else { continue }
            listing.add(name, link(favorite))
        }
        return listing
    }

    private func link(_ favorite: Favorite) -> VirtualLink {
        VirtualLink(to: favorite.path, place: key, depth: 1, modified: timespec(favorite.added))
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        indexer.catchUp()
        // Equal names have numbers by their order: what was listed as `note (2)` stays that while marks of others are taken away.
        if let shown = cache.shownBefore(of: key, for: caller)?[name] as? VirtualLink,
            let favorite = try? indexer.index.favorite(at: shown.document, of: UserID(caller.uid)), targets.access.may(caller, favorite.path, R_OK)
        {
            return link(favorite)
        }
        if let item = try listed(name, caller) { return item }
        guard let path = freshLinks.document(name, in: key, of: caller, isPassing: true), let favorite = try? indexer.index.favorite(at: path, of: UserID(caller.uid)) else {
            throw .noSuchFileOrDirectory
        }
        return link(favorite)
    }

    /// Finds one name without a list where that costs less, as after each mark of a row of them.
    private func listed(_ name: EntryName, _ caller: Credentials) throws(Errno) -> (any VirtualItem)? {
        if let listing = cache.listingForLookup(of: key, for: caller, { makeListing(caller) }) { return listing[name] }
        let user = UserID(caller.uid)
        let marked = try indexer.ask { (index) throws(IndexError) in try index.favorites(of: user) }.filter { $0.path.lastName == name }
        if let favorite = marked.first(where: { targets.access.may(caller, $0.path, R_OK) }) { return link(favorite) }
        // Which has which number the list alone says.
        return name.unnumbered == nil && name.bytes.count < EntryName.maximumLength ? nil : listing(caller, isShown: false)[name]
    }

    // MARK: Changes

    func addLink(_ name: EntryName, target: [UInt8], _ caller: Credentials) throws(Errno) -> any VirtualItem {
        guard let item = targets.item(linkedBy: target, fromDepth: 1, caller) else { throw .notPermitted }
        let favorite = try mark(item.path, isFolder: item.isFolder, caller)
        freshLinks.note(name, in: key, to: item.path, by: caller)
        return link(favorite)
    }

    /// A link's name is that of what it leads to. Only `ln -sf` has its way, which makes a link under a passing name first.
    func rename(_ name: EntryName, to folder: any VirtualItem, _ newName: EntryName, _ caller: Credentials) throws(Errno) {
        guard folder is FavoritesFolder, freshLinks.forget(name, in: key, of: caller) else { throw .notPermitted }
    }

    func add(_ document: StorePath, _ name: EntryName, _ caller: Credentials) throws(Errno) { try mark(document, caller) }

    func remove(_ name: EntryName, _ caller: Credentials) throws(Errno) {
        guard let link = try child(name, caller) as? VirtualLink else { throw .noSuchFileOrDirectory }
        _ = try unmark(link.document, caller)
    }

    /// Throws ENOENT for what is not there, or what the caller may not read, EDQUOT, and ENOSPC for a document that the index has no room for.
    func mark(_ path: StorePath, _ caller: Credentials) throws(Errno) {
        guard let item = targets.item(at: path, caller) else { throw .noSuchFileOrDirectory }
        _ = try mark(item.path, isFolder: item.isFolder, caller)
    }

    private func mark(_ path: StorePath, isFolder: Bool, _ caller: Credentials) throws(Errno) -> Favorite {
        indexer.catchUp()
        // The first scan may not have met it.
        if !isFolder, (try? indexer.index.document(at: path)) == nil, case .document(let facts) = indexer.reader.status(at: path) {
            indexer.apply([.present(facts)])
        }
        defer { indexer.noteChange(toTags: false) }
        let user = UserID(caller.uid)
        if let favorite = try indexer.ask({ (index) throws(IndexError) in try index.favorite(at: path, of: user) }) { return favorite }
        guard try indexer.ask({ (index) throws(IndexError) in try index.mayAddFavorite(user) }) else { throw .diskQuotaExceeded }
        let favorite = Favorite(path: path, isFolder: isFolder, added: Timestamp(nanoseconds: Clock.now))
        guard try indexer.ask({ (index) throws(IndexError) in try index.addFavorite(favorite, by: user) }) else { throw .noSpace }
        return favorite
    }

    /// Whether it was marked. The caller need not be able to read it any more.
    func unmark(_ path: StorePath, _ caller: Credentials) throws(Errno) -> Bool {
        indexer.catchUp()
        defer { indexer.noteChange(toTags: false) }
        return try indexer.ask { (index) throws(IndexError) in try index.removeFavorite(at: path, of: UserID(caller.uid)) }
    }
}
