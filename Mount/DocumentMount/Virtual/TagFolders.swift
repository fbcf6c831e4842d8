import CLinux
import DocumentIndex
import struct DocumentIndex.UserID
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// What the folders of `.tags` share: the tags, and who may see them. A user knows of a tag if they keep it (mkdir) or can
/// access a document that has it; any other tag is to them as if it were not there.
final class TagFolders: Sendable {
    let tags: TagStore
    let indexer: Indexer
    let access: AccessChecker
    let cache: ListingCache
    /// Absolute paths that lead into the store, for links made by absolute paths.
    private let prefixes: [[UInt8]]
    /// When each user last changed a tag.
    private let changes = Locked<[uid_t: Int64]>([:])
    private let started = Clock.now

    init(tags: TagStore, indexer: Indexer, access: AccessChecker, shares: UserShares, prefixes: [[UInt8]]) {
        self.tags = tags
        self.indexer = indexer
        self.access = access
        self.prefixes = prefixes
        cache = ListingCache(shares) { indexer.tagGeneration.load(ordering: .relaxed) }
    }

    // MARK: Who sees what

    /// When a tag last changed, for the folders' times: by the caller, since what others do is not to be told.
    func lastChange(for caller: Credentials) -> Int64 {
        changes.withLock { access.isUnlimited(caller) ? $0.values.max() : $0[caller.uid] } ?? started
    }

    func touch(_ caller: Credentials) {
        changes.withLock { $0[caller.uid] = Clock.now }
        indexer.noteChange(toTags: true)
    }

    var generation: UInt64 { indexer.generation.load(ordering: .relaxed) }

    /// Whether the caller may know of a tag, or of one nested in it.
    func isShown(_ tag: Tag, to caller: Credentials) -> Bool {
        guard (try? indexer.index.knows(tag)) == true else { return false }
        return hasDocuments(tag, for: caller) || isKept(nestedIn: tag, orItself: true, by: caller)
    }

    func isShown(_ summary: TagSummary, to caller: Credentials) -> Bool {
        // Those that others keep and no document has cost no query; those nested in it have summaries of their own.
        access.isUnlimited(caller) || summary.creators.contains(UserID(caller.uid))
            || summary.count > 0 && hasDocuments(summary.tag, for: caller)
    }

    /// Whether a tag's folder shows the caller anything.
    func hasEntries(_ tag: Tag, for caller: Credentials) -> Bool {
        hasDocuments(tag, for: caller) || isKept(nestedIn: tag, orItself: false, by: caller)
    }

    private func isKept(nestedIn tag: Tag, orItself: Bool, by caller: Credentials) -> Bool {
        (try? indexer.index.isKept(nestedIn: tag, orItself: orItself, by: keeping(caller))) == true
    }

    /// Whose keeping of tags the caller sees and ends: their own, or with nil everyone's.
    func keeping(_ caller: Credentials) -> UserID? { access.isUnlimited(caller) ? nil : UserID(caller.uid) }

    /// Whether the caller may access a document that has the tag or one nested in it.
    private func hasDocuments(_ tag: Tag, for caller: Credentials) -> Bool {
        // The first few answer nearly always.
        for limit in [16, Int.max] {
            guard let documents = try? indexer.index.documents(inside: tag, limit: limit) else { return false }
            if access.isUnlimited(caller) { return !documents.isEmpty }
            if access.mayReadAny(of: documents.map(\.path), caller) { return true }
            if documents.count < limit { return false }
        }
        return false
    }

    /// The documents that have all of the tags and that the caller may access, in the order of their paths.
    func documents(tagged tags: [Tag], named name: EntryName? = nil, _ caller: Credentials) -> [TagEntry] {
        accessible((try? indexer.index.documents(tagged: tags, named: name)) ?? [], caller)
            .sorted { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) }
    }

    func accessible(_ documents: [TagEntry], _ caller: Credentials) -> [TagEntry] {
        zip(documents, access.filter(documents.map(\.path), caller)).filter(\.1).map(\.0)
    }

    /// Every tag the caller may know of, with how many documents that they may access have it.
    func counts(for caller: Credentials) -> [(name: String, count: Int)] {
        indexer.catchUp()
        let known = (try? indexer.index.tags()) ?? []
        if access.isUnlimited(caller) { return known.map { ($0.tag.text, $0.count) } }
        return known.compactMap { summary in
            let count = documents(tagged: [summary.tag], caller).count
            return count > 0 || summary.creators.contains(UserID(caller.uid)) ? (summary.tag.text, count) : nil
        }
    }

    /// The document a link made in a tag's folder leads to, by its text alone; nil if that is none of the store's.
    func document(linkedBy target: [UInt8], fromDepth depth: Int, _ caller: Credentials) -> StorePath? {
        let slash = UInt8(ascii: "/")
        var names: [ArraySlice<UInt8>]
        if target.first == slash {
            guard let prefix = prefixes.first(where: { target.starts(with: $0 + [slash]) }) else { return nil }
            names = target.dropFirst(prefix.count).split(separator: slash)
        } else {
            // Relative to the folder the link is in: `depth` levels below the mount's root.
            let parts = target.split(separator: slash)
            let ups = parts.prefix { $0.elementsEqual("..".utf8) }.count
            guard ups == depth else { return nil }
            names = Array(parts.dropFirst(ups))
        }
        names.removeAll { $0.elementsEqual(".".utf8) }
        guard let path = StorePath(parsing: names.joined(separator: [slash])), !path.isRoot else { return nil }
        // One answer for what is not there and what the caller may not access.
        guard access.may(caller, path, R_OK), case .document = indexer.reader.status(at: path) else { return nil }
        return path
    }

    // MARK: Links just made

    /// Links just made under a name that is not their document's: programs look at what they made, and `ln -sf` renames it.
    private struct FreshLink {
        let uid: uid_t
        let folder: [UInt8]
        let name: EntryName
        let document: StorePath
        let made: Int64
    }
    private let freshLinks = Locked<[FreshLink]>([])
    private static let freshLinksKept = 32
    private static let freshness: Int64 = 5_000_000_000

    func noteFreshLink(_ name: EntryName, in folder: [UInt8], to document: StorePath, by caller: Credentials) {
        guard document.lastName != name else { return }
        freshLinks.withLock { links in
            if links.count >= Self.freshLinksKept { links.removeFirst() }
            links.append(FreshLink(uid: caller.uid, folder: folder, name: name, document: document, made: Clock.now))
        }
    }

    func freshLink(_ name: EntryName, in folder: [UInt8], of caller: Credentials) -> StorePath? {
        let now = Clock.now
        return freshLinks.withLock { links in
            let link = links.last { $0.uid == caller.uid && $0.folder == folder && $0.name == name }
            return link.flatMap { now - $0.made < Self.freshness ? $0.document : nil }
        }
    }

    /// Whether there was such a link, which is forgotten.
    func forgetFreshLink(_ name: EntryName, in folder: [UInt8], of caller: Credentials) -> Bool {
        freshLinks.withLock { links in
            let count = links.count
            links.removeAll { $0.uid == caller.uid && $0.folder == folder && $0.name == name }
            return links.count < count
        }
    }
}
