import DocumentIndex
import FuseServer
import Glibc
import QueryLanguage
import StorePrimitives
import SystemPackage

/// The results of a query as a folder of links: `.search/QUERY`. A folder in it narrows them by another query.
final class ResultFolder: VirtualItem {
    private let folder: SearchFolder
    /// As they were looked up, the outermost first.
    private let queries: [EntryName]
    /// Nil if one of them cannot be understood.
    let query: Query?
    private let failure: String?
    private let modified: timespec

    /// Throws `ENOENT` for a name that is none: hidden files are asked for by file managers in every folder.
    init(_ folder: SearchFolder, queries: [EntryName], _ modified: timespec) throws(Errno) {
        guard let last = queries.last, last.bytes.first != UInt8(ascii: "."), queries.count <= Self.mostLevels,
            let text = String(validating: last.bytes, as: UTF8.self)
        else { throw .noSuchFileOrDirectory }
        self.folder = folder
        self.queries = queries
        self.modified = modified
        do throws(QueryError) {
            var joined = try Query(parsing: text)
            for name in queries.dropLast() { joined = try Query(parsing: "\(name)").narrowed(by: joined) }
            (query, failure) = (joined, nil)
        } catch {
            (query, failure) = (nil, "\(error)")
        }
    }

    /// A path has 4,096 bytes.
    private static let mostLevels = 16

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { Array(([SearchFolder.name] + queries).map(\.bytes).joined(separator: [UInt8(ascii: "/")])) }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        attributes(inode: inode, mode: 0o777, links: 2, modified: modified)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        let listing = folder.listing(of: self, caller)
        if let item = listing[name] { return item }
        return try ResultFolder(folder, queries: queries + [name], modified)
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        folder.listing(of: self, caller).entries.map { ($0.name, $0.item) }
    }

    func links(_ caller: Credentials) -> VirtualListing? { folder.listing(of: self, caller) }

    func makeListing(_ caller: Credentials, _ generation: UInt64) -> VirtualListing {
        var listing = VirtualListing(generation: generation)
        guard let query else {
            listing.add(note(failure ?? ""))
            return listing
        }
        do throws(IndexError) {
            let (documents, hasMore) = try folder.search.documents(query, order: .newest, limit: SearchFolder.mostShown, caller)
            if hasMore { listing.add(note("there are more than \(SearchFolder.mostShown) documents, make the query narrower")) }
            // In the order of the paths, so that the numbers of equal names stay while documents change.
            for document in documents.sorted(by: { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) }) {
                guard let name = document.path.lastName else { continue }
                listing.add(name, VirtualLink(to: document.path, place: key, depth: 1 + queries.count, modified: timespec(document.modified)))
            }
        } catch {
            listing.add(note("\(error)"))
        }
        return listing
    }

    /// A name has 255 bytes, and parentheses.
    private static let longestNote = 253

    /// A file that says something by its name.
    private func note(_ text: String) -> (EntryName, any VirtualItem) {
        let bytes = text.utf8.map { $0 == UInt8(ascii: "/") ? UInt8(ascii: "|") : $0 }
        let name = EntryName("(\(String(decoding: bytes.prefix(Self.longestNote), as: UTF8.self)))".utf8) ?? EntryName("(the query is wrong)")
        return (name, MemoryFile(place: key + [0] + name.bytes, content: text + "\n", modified: modified))
    }
}

extension VirtualListing {
    fileprivate mutating func add(_ entry: (EntryName, any VirtualItem)) { add(entry.0, entry.1) }
}
