import CLinux
import DocumentIndex
import struct DocumentIndex.UserID
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// What the folders of `.tags` share: the tags, and who may see them. A user knows of a tag if they keep it (mkdir) or can
/// access a document that has it; any other tag is to them as if it were not there.
final class TagFolders: Sendable {
    let tags: TagStore
    let indexer: Indexer
    let access: AccessChecker
    let cache: ListingCache
    let freshLinks = FreshLinks()
    let targets: LinkTargets
    /// When a tag was last changed, in nanoseconds since 1970.
    let lastChange = Atomic<Int64>(Clock.now)

    init(tags: TagStore, indexer: Indexer, access: AccessChecker, shares: UserShares, targets: LinkTargets) {
        self.tags = tags
        self.indexer = indexer
        self.access = access
        self.targets = targets
        // Where one user sees all lists, `ls -l` of a large one ends before the list does.
        let lifetime = access.isForOneUser ? 5 * ListingCache.usualLifetime : ListingCache.usualLifetime
        cache = ListingCache(shares, lifetime: lifetime) { indexer.tagGeneration.load(ordering: .relaxed) }
    }

    /// Tags that were renamed a moment ago, by the names that they had, and when, on the monotonic clock. Leaf.
    private let renamed = Locked<[(tag: Tag, at: Int64)]>([])
    /// Longer than the kernel keeps a folder's name (`PersonalFolder.validity`).
    private static let timeOfRename: Int64 = 1_000_000_000

    func noteRename(of tag: Tag) {
        let now = cl_monotonic_ns()
        renamed.withLock { renamed in
            renamed.removeAll { now - $0.at > Self.timeOfRename }
            renamed.append((tag, now))
        }
    }

    /// Whether the tag, or one that it is nested in, was renamed a moment ago.
    func wasJustRenamed(_ tag: Tag) -> Bool {
        let now = cl_monotonic_ns()
        return renamed.withLock { $0.contains { now - $0.at < Self.timeOfRename && ($0.tag == tag || tag.isNested(in: $0.tag)) } }
    }

    // MARK: Who sees what

    func noteChange() {
        lastChange.store(Clock.now, ordering: .relaxed)
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

    func isKept(nestedIn tag: Tag, orItself: Bool, by caller: Credentials) -> Bool {
        (try? indexer.index.isKept(nestedIn: tag, orItself: orItself, by: keeping(caller))) == true
    }

    /// Whether the caller keeps a tag, as far as is known without waiting for the index.
    func isKeptForNow(_ tag: Tag, by caller: Credentials) -> Bool {
        !indexer.isDropping(tag) && (indexer.isTaken(tag, by: caller) || isKept(nestedIn: tag, orItself: true, by: caller))
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
}
