import DocumentIndex
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// `.recents`: links to the documents the caller used last, newest first; a link's time is when. `rm` forgets one.
final class RecentsFolder: LinkFolder {
    let indexer: Indexer
    let access: AccessChecker
    let cache: ListingCache
    /// What a person looks through; `quire recents --limit` shows more.
    static let shown = 200

    init(indexer: Indexer, access: AccessChecker, shares: UserShares) {
        self.indexer = indexer
        self.access = access
        cache = ListingCache(shares) { indexer.generation.load(ordering: .relaxed) }
    }

    var key: [UInt8] { Array(".recents".utf8) }

    func lastChange(for caller: Credentials) -> timespec {
        timespec(recents(caller, limit: 1).first?.used ?? Timestamp(nanoseconds: 0))
    }

    /// The caller's recents, newest first, without what they may not access.
    func recents(_ caller: Credentials, limit: Int) -> [RecentUse] {
        indexer.catchUp()
        return accessible(caller, limit: limit)
    }

    private func accessible(_ caller: Credentials, limit: Int) -> [RecentUse] {
        var found: [RecentUse] = []
        // Some may not be accessible: ask for more until there are enough.
        var asked = limit
        while true {
            guard let uses = try? indexer.index.recents(of: UserID(caller.uid), limit: asked) else { return [] }
            let accessible = access.filter(uses.map(\.path), caller)
            found = zip(uses, accessible).filter(\.1).map(\.0)
            if found.count >= limit || uses.count < asked { return Array(found.prefix(limit)) }
            asked = asked < Int.max / 4 ? asked * 4 : Int.max
        }
    }

    func makeListing(_ caller: Credentials) -> VirtualListing {
        var listing = VirtualListing(generation: indexer.generation.load(ordering: .relaxed))
        for use in accessible(caller, limit: Self.shown) {
            guard let name = use.path.lastName else { continue }
            listing.add(name, link(use))
        }
        return listing
    }

    private func link(_ use: RecentUse) -> VirtualLink {
        VirtualLink(to: use.path, place: key, depth: 1, modified: timespec(use.used))
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        indexer.catchUp()
        // Equal names have numbers by their order: what was listed as `note (2)` stays that while others are forgotten.
        if let link = cache.shownBefore(of: key, for: caller)?[name] as? VirtualLink,
            let use = try? indexer.index.recentUse(of: link.document, by: UserID(caller.uid)),
            access.may(caller, use.path, R_OK)
        {
            return self.link(use)
        }
        guard let item = listing(caller, isShown: false)[name] else { throw .noSuchFileOrDirectory }
        return item
    }

    func remove(_ name: EntryName, _ caller: Credentials) throws(Errno) {
        guard let link = try child(name, caller) as? VirtualLink else { throw .noSuchFileOrDirectory }
        guard forget(link.document, caller) else { throw .ioError }
    }

    /// False if the index could not be written.
    func forget(_ path: StorePath, _ caller: Credentials) -> Bool {
        indexer.catchUp()
        defer { indexer.noteChange(toTags: false) }
        return (try? indexer.index.forgetRecent(at: path, of: UserID(caller.uid))) != nil
    }
}

extension timespec {
    init(_ timestamp: Timestamp) { self.init(since1970: timestamp.nanoseconds) }

    /// The time that is this many nanoseconds after 1970.
    init(since1970 nanoseconds: Int64) {
        let (seconds, rest) = splitNanoseconds(nanoseconds)
        self.init(tv_sec: Int(seconds), tv_nsec: Int(rest))
    }
}
