import DocumentIndex
import FuseServer
import Glibc
import QueryLanguage
import StorePrimitives
import SystemPackage

/// The results of a query as a folder of links: `.search/QUERY`. A folder in it narrows them by another query.
final class ResultFolder: PersonalFolder {
    private let folder: SearchFolder
    var access: AccessChecker { folder.access }
    /// Under which it was looked up, the outermost first.
    private let names: [EntryName]
    /// The outermost query, if it is kept under a name.
    private let kept: String?
    private let modified: timespec

    /// - Parameter query: what is kept under the name; nil if the name is the query.
    convenience init(_ folder: SearchFolder, _ name: EntryName, query: String?, _ modified: timespec) throws(Errno) {
        try self.init(folder, names: [name], kept: query, modified)
    }

    /// Throws ENOENT for a name that begins with a dot (file managers look such names up in every folder), is not UTF-8, or is nested too deep.
    private init(_ folder: SearchFolder, names: [EntryName], kept: String?, _ modified: timespec) throws(Errno) {
        guard let last = names.last, last.bytes.first != UInt8(ascii: "."), names.count <= Self.mostLevels,
            String(validating: last.bytes, as: UTF8.self) != nil
        else { throw .noSuchFileOrDirectory }
        self.folder = folder
        self.names = names
        self.kept = kept
        self.modified = modified
    }

    /// Parsed at each use: the kernel, and so the daemon, keeps the folders that were looked up, and `today` is another day tomorrow.
    private func query() throws(QueryError) -> Query {
        var joined: Query?
        for text in (kept.map { [$0] } ?? []) + names.dropFirst(kept == nil ? 0 : 1).map({ "\($0)" }) {
            let query = try Query(parsing: text)
            joined = joined?.narrowed(by: query) ?? query
        }
        guard let joined else { return try Query(parsing: "") }
        return joined
    }

    var isUnderstood: Bool { (try? query()) != nil }

    private static let mostLevels = 16

    /// With a kept query: another user may keep another one under the name.
    var key: [UInt8] {
        Array(([SearchFolder.name] + names).map(\.bytes).joined(separator: [UInt8(ascii: "/")])) + (kept.map { [0] + Array($0.utf8) } ?? [])
    }

    func lastChange(for caller: Credentials) -> timespec { modified }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        if let link = folder.shown(name, in: self, caller) { return link }
        let listing = folder.listing(of: self, caller, isShown: false)
        if let item = listing[name] { return item }
        return try ResultFolder(folder, names: names + [name], kept: kept, modified)
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        folder.listing(of: self, caller, isShown: true).entries.map { ($0.name, $0.item) }
    }

    func links(_ caller: Credentials) -> VirtualListing? { folder.listing(of: self, caller, isShown: false) }

    func makeListing(_ caller: Credentials, _ generation: UInt64) -> VirtualListing {
        var listing = VirtualListing(generation: generation)
        let query: Query
        do throws(QueryError) { query = try self.query() } catch {
            listing.add(note("\(error)"))
            return listing
        }
        do throws(IndexError) {
            let (documents, hasMore) = try folder.search.documents(query, order: .newest, limit: SearchFolder.mostShown, caller)
            if hasMore { listing.add(note("there are more than \(SearchFolder.mostShown) documents, make the query narrower")) }
            // In the order of the paths, so that the numbers of equal names stay while documents change.
            for document in documents.sorted(by: { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) }) {
                guard let name = document.path.lastName else { continue }
                listing.add(name, VirtualLink(to: document.path, place: key, depth: 1 + names.count, modified: timespec(document.modified)))
            }
        } catch {
            listing.add(note("\(error)"))
        }
        return listing
    }

    /// A file that says something by its name.
    private func note(_ text: String) -> (EntryName, any VirtualItem) {
        var (name, length) = ("(", 2)
        for character in text where length + character.utf8.count <= EntryName.maximumLength {
            name.append(character == "/" ? "|" : character)
            length += character.utf8.count
        }
        let entry = EntryName((name + ")").utf8) ?? EntryName("(note)")
        return (entry, MemoryFile(place: key + [0] + entry.bytes, content: text + "\n", modified: modified))
    }
}

extension VirtualListing {
    fileprivate mutating func add(_ entry: (EntryName, any VirtualItem)) { add(entry.0, entry.1) }
}
