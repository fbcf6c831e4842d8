import StorePrimitives
import SystemPackage

/// A folder of links that is made of the index; its list is kept for a moment.
protocol LinkFolder: PersonalFolder {
    var indexer: Indexer { get }
    var cache: ListingCache { get }
    func makeListing(_ caller: Credentials) -> VirtualListing
}

extension LinkFolder {
    /// - Parameter isShown: to a program that reads the names.
    func listing(_ caller: Credentials, isShown: Bool) -> VirtualListing {
        cache.listing(of: key, for: caller, isShown: isShown) { makeListing(caller) }
    }

    func links(_ caller: Credentials) -> VirtualListing? {
        indexer.catchUp()
        return listing(caller, isShown: false)
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        indexer.catchUp()
        return listing(caller, isShown: true).entries.map { ($0.name, $0.item) }
    }
}
