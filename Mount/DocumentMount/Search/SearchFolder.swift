import DocumentIndex
import FuseServer
import Glibc
import QueryLanguage
import StorePrimitives
import SystemPackage

/// `.search`: a folder for each query. It lists those that the caller keeps; any other name is a query itself, but for `NAME=QUERY`.
///
/// A folder can be made only under a name that is not there, as the kernel looks it up before mkdir(2): a name is then what makes a query
/// one that is kept.
final class SearchFolder: PersonalFolder {
    let search: StoreSearch
    var access: AccessChecker { search.access }
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

    var key: [UInt8] { Array(Self.name.bytes) }

    func lastChange(for caller: Credentials) -> timespec { started }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        if let query = try indexer.ask({ (index) throws(IndexError) in try index.savedSearch(name, of: UserID(caller.uid)) }) {
            return try ResultFolder(self, name, query: query, started)
        }
        guard let definition = Self.definition(name) else { return try ResultFolder(self, name, query: nil, started) }
        let kept = try indexer.ask { (index) throws(IndexError) in try index.savedSearch(definition.name, of: UserID(caller.uid)) }
        guard kept == definition.query else { throw .noSuchFileOrDirectory }
        return try ResultFolder(self, definition.name, query: kept, started)
    }

    /// `NAME=QUERY`; nil if it is nothing of the kind, as `size=10` is a query.
    private static func definition(_ name: EntryName) -> SavedSearch? {
        let parts = name.bytes.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let kept = parts.first.flatMap({ EntryName($0) }), let query = parts.last.flatMap({ String(validating: $0, as: UTF8.self) }),
            kept.bytes.first != UInt8(ascii: "."), !query.isEmpty, !comparedFields.contains("\(kept)".lowercased())
        else { return nil }
        return SavedSearch(name: kept, query: query)
    }

    private static let comparedFields: Set = ["date", "size"]

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        let kept = try indexer.ask { (index) throws(IndexError) in try index.savedSearches(of: UserID(caller.uid)) }
        return kept.compactMap { search in
            (try? ResultFolder(self, search.name, query: search.query, started)).map { (search.name, $0) }
        }
    }

    /// The results of a query, in the order of the paths. - Parameter isShown: to somebody who reads the names.
    func listing(of folder: ResultFolder, _ caller: Credentials, isShown: Bool) -> VirtualListing {
        indexer.catchUp()
        return cache.listing(of: folder.key, for: caller, isShown: isShown) {
            folder.makeListing(caller, indexer.generation.load(ordering: .relaxed))
        }
    }

    /// The link that the folder showed under a name, if that listing is void since and the caller may still read the document: a program that
    /// goes through the names of a listing means the documents that they stood for, and has no other listing made for each.
    func shown(_ name: EntryName, in folder: ResultFolder, _ caller: Credentials) -> VirtualLink? {
        let listing: VirtualListing? = cache.shownBefore(of: folder.key, for: caller)
        guard let link = listing?[name] as? VirtualLink, search.mayRead(link.document, caller) else { return nil }
        return link
    }

    // MARK: Kept queries

    func makeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        let (search, folder) = try made(of: name)
        let isKept = try indexer.ask { (index) throws(IndexError) in
            let isThere = try index.savedSearch(search.name, of: UserID(caller.uid)) != nil
            let mayMake = try index.maySaveSearch(UserID(caller.uid))
            guard isThere || mayMake else { return false }
            try index.saveSearch(search, by: UserID(caller.uid))
            return true
        }
        guard isKept else { throw .diskQuotaExceeded }
        return folder
    }

    /// The query that a name defines, and its folder. Throws EINVAL if it is none that can be understood.
    private func made(of name: EntryName) throws(Errno) -> (SavedSearch, ResultFolder) {
        guard let search = Self.definition(name) else { throw .invalidArgument }
        let folder = try ResultFolder(self, search.name, query: search.query, started)
        guard folder.isUnderstood else { throw .invalidArgument }
        return (search, folder)
    }

    func removeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno) {
        let kept = Self.definition(name)?.name ?? name
        guard try indexer.ask({ (index) throws(IndexError) in try index.forgetSearch(kept, of: UserID(caller.uid)) }) else { throw .noSuchFileOrDirectory }
    }

    /// A kept query gets another name or, by `NAME=QUERY`, another query.
    func rename(_ name: EntryName, to folder: any VirtualItem, _ newName: EntryName, _ caller: Credentials) throws(Errno) {
        guard folder is SearchFolder, newName.bytes.first != UInt8(ascii: ".") else { throw .notPermitted }
        let old = Self.definition(name)?.name ?? name
        let query = try indexer.ask { (index) throws(IndexError) in try index.savedSearch(old, of: UserID(caller.uid)) }
        guard let query else { throw .noSuchFileOrDirectory }
        let new = Self.definition(newName) == nil ? SavedSearch(name: newName, query: query) : try made(of: newName).0
        guard try indexer.ask({ (index) throws(IndexError) in try index.replaceSearch(old, by: new, of: UserID(caller.uid)) }) else {
            throw .noSuchFileOrDirectory
        }
    }
}
