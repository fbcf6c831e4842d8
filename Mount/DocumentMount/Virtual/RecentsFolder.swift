import DocumentIndex
import FuseKernel
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// `.recents`: links to the documents the caller used last, newest first; a link's time is when. `rm` forgets one.
final class RecentsFolder: VirtualItem {
    private let keeper: IndexKeeper
    let reach: Reach
    private let cache = ListingCache()
    /// What a person looks through; `quire recents --limit` shows more.
    static let shown = 200

    init(keeper: IndexKeeper, reach: Reach) {
        self.keeper = keeper
        self.reach = reach
    }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { Array(".recents".utf8) }

    func attributes(_ caller: Caller, inode: UInt64) throws(Errno) -> stat {
        let newest = recents(caller, limit: 1).first?.used
        return attributes(
            inode: inode, mode: 0o777, links: 2, modified: timespec(newest ?? Timestamp(nanoseconds: 0)))
    }

    /// The caller's recents, newest first, without what they may not reach.
    func recents(_ caller: Caller, limit: Int) -> [RecentUse] {
        keeper.catchUp()
        var found: [RecentUse] = []
        // Some may be out of reach: ask for more until there are enough.
        var asked = limit
        while true {
            guard let uses = try? keeper.index.recents(of: UserID(caller.uid), limit: asked) else { return [] }
            let reachable = reach.filter(uses.map(\.path), caller)
            found = zip(uses, reachable).filter(\.1).map(\.0)
            if found.count >= limit || uses.count < asked { return Array(found.prefix(limit)) }
            asked = asked < Int.max / 4 ? asked * 4 : Int.max
        }
    }

    private func listing(_ caller: Caller) -> VirtualListing {
        keeper.catchUp()
        let generation = keeper.generation.load(ordering: .relaxed)
        return cache.listing(of: key, for: caller, generation: generation) {
            var listing = VirtualListing()
            for use in recents(caller, limit: Self.shown) {
                guard let name = use.path.lastName else { continue }
                listing.add(name, VirtualLink(to: use.path, place: key, depth: 1, modified: timespec(use.used)))
            }
            return listing
        }
    }

    func child(_ name: EntryName, _ caller: Caller) throws(Errno) -> any VirtualItem {
        guard let item = listing(caller)[name] else { throw .noSuchFileOrDirectory }
        return item
    }

    func children(_ caller: Caller) throws(Errno) -> [(EntryName, any VirtualItem)] {
        listing(caller).entries.map { ($0.name, $0.item) }
    }

    func remove(_ name: EntryName, _ caller: Caller) throws(Errno) {
        guard let link = try child(name, caller) as? VirtualLink else { throw .noSuchFileOrDirectory }
        guard forget(link.document, caller) else { throw .ioError }
    }

    /// False if the index could not be written.
    func forget(_ path: StorePath, _ caller: Caller) -> Bool {
        keeper.catchUp()
        defer { keeper.generation.wrappingAdd(1, ordering: .relaxed) }
        return (try? keeper.index.forgetRecent(at: path, of: UserID(caller.uid))) != nil
    }
}

extension timespec {
    init(_ timestamp: Timestamp) {
        let (seconds, rest) = timestamp.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(tv_sec: Int(seconds), tv_nsec: Int(rest))
    }
}
