import DocumentIndex
import FuseServer
import Glibc
import QueryLanguage
import StorePrimitives
import SystemPackage

/// `.search`: a folder for each query. It lists those that the caller saved (mkdir); any other name is a query, too.
final class SearchFolder: VirtualItem {
    let search: StoreSearch
    private let indexer: Indexer
    private let cache: ListingCache
    private let started = timespec(since1970: Clock.now)
    static let name = EntryName(".search")

    /// Of more documents a folder shows these, and says that there are more.
    static let mostShown = 20_000

    init(search: StoreSearch, indexer: Indexer, shares: UserShares) {
        self.search = search
        self.indexer = indexer
        cache = ListingCache(shares) { indexer.generation.load(ordering: .relaxed) }
    }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { Array(Self.name.bytes) }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        attributes(inode: inode, mode: 0o777, links: 2, modified: started)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        try ResultFolder(self, queries: [name], started)
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        guard let saved = try? indexer.index.savedSearches(of: UserID(caller.uid)) else { throw .ioError }
        return saved.compactMap { name in (try? ResultFolder(self, queries: [name], started)).map { (name, $0) } }
    }

    /// The results of a query, in the order of the paths.
    func listing(of folder: ResultFolder, _ caller: Credentials) -> VirtualListing {
        cache.listing(of: folder.key, for: caller, isShown: true) { folder.makeListing(caller, indexer.generation.load(ordering: .relaxed)) }
    }

    // MARK: Saved queries

    func makeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        let folder = try ResultFolder(self, queries: [name], started)
        // What is no query is not kept.
        guard folder.query != nil else { throw .invalidArgument }
        guard try saving({ () throws(IndexError) in try indexer.index.maySaveSearch(UserID(caller.uid)) }) else { throw .diskQuotaExceeded }
        try saving { () throws(IndexError) in try indexer.index.saveSearch(name, by: UserID(caller.uid)) }
        return folder
    }

    func removeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno) {
        let isGone = try saving { () throws(IndexError) in try indexer.index.forgetSearch(name, of: UserID(caller.uid)) }
        guard isGone else { throw .noSuchFileOrDirectory }
    }

    func rename(_ name: EntryName, to folder: any VirtualItem, _ newName: EntryName, _ caller: Credentials) throws(Errno) {
        guard folder is SearchFolder else { throw .notPermitted }
        _ = try makeFolder(newName, caller)
        do throws(Errno) { try removeFolder(name, caller) } catch {
            if name != newName { try? removeFolder(newName, caller) }
            throw error
        }
    }

    /// Runs a change of the saved queries, with the error of a system call.
    private func saving<Result>(_ change: () throws(IndexError) -> Result) throws(Errno) -> Result {
        do throws(IndexError) { return try change() } catch {
            if case .diskFull = error { throw .noSpace }
            throw .ioError
        }
    }
}
