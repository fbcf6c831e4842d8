import CLinux
import DocumentIndex
import FuseKernel
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// What the folders of `.tags` share: the tags, who may see them, and what changes them.
final class TagFolders: Sendable {
    let tags: TagStore
    private let keeper: IndexKeeper
    private let reach: Reach
    private let cache = ListingCache()
    /// Absolute paths that lead into the store, for links made by absolute paths.
    private let prefixes: [[UInt8]]
    private let change = Atomic<Int64>(Clock.now)

    init(tags: TagStore, keeper: IndexKeeper, reach: Reach, prefixes: [[UInt8]]) {
        self.tags = tags
        self.keeper = keeper
        self.reach = reach
        self.prefixes = prefixes
    }

    /// When a tag last changed, for the folders' times.
    var lastChange: Int64 { change.load(ordering: .relaxed) }

    func listing(
        of folder: [UInt8], _ caller: Caller, _ make: (DocumentIndex, Reach) -> VirtualListing
    ) -> VirtualListing {
        keeper.catchUp()
        let generation = keeper.generation.load(ordering: .relaxed)
        return cache.listing(of: folder, for: caller, generation: generation) { make(keeper.index, reach) }
    }

    /// Whether some document with the tag is within the caller's reach.
    func isReachable(_ tag: Tag, _ index: DocumentIndex, _ reach: Reach, _ caller: Caller) -> Bool {
        guard reach.actsForCallers, caller.uid != 0 else { return true }
        // The first few answer nearly always.
        for limit in [16, Int.max] {
            guard let documents = try? index.documents(tagged: [tag], limit: limit) else { return false }
            if reach.filter(documents.map(\.path), caller).contains(true) { return true }
            if documents.count < limit { return false }
        }
        return false
    }

    /// Every tag the caller may know of, with how many documents within their reach have it.
    func counts(for caller: Caller) -> [(name: String, count: Int)] {
        keeper.catchUp()
        let known = (try? keeper.index.tags()) ?? []
        guard reach.actsForCallers, caller.uid != 0 else { return known.map { ($0.tag.text, $0.count) } }
        return known.compactMap { summary in
            let documents = (try? keeper.index.documents(tagged: [summary.tag])) ?? []
            let count = reach.filter(documents.map(\.path), caller).count { $0 }
            return count > 0 || (summary.keeper == UserID(caller.uid) && summary.count == 0) ? (summary.tag.text, count) : nil
        }
    }

    /// Links just made under a name that is not their document's: programs look at what they made, and `ln -sf` renames it.
    private struct FreshLink {
        let uid: uid_t
        let folder: [UInt8]
        let name: EntryName
        let document: StorePath
        let made: Int64
    }
    private let freshLinks = Mutex<[FreshLink]>([])
    private static let freshLinksKept = 32
    private static let freshness: Int64 = 5_000_000_000

    func noteFreshLink(_ name: EntryName, in folder: [UInt8], to document: StorePath, by caller: Caller) {
        guard document.lastName != name else { return }
        freshLinks.withLock { links in
            if links.count >= Self.freshLinksKept { links.removeFirst() }
            links.append(FreshLink(uid: caller.uid, folder: folder, name: name, document: document, made: Clock.now))
        }
    }

    func freshLink(_ name: EntryName, in folder: [UInt8], of caller: Caller) -> StorePath? {
        let now = Clock.now
        return freshLinks.withLock { links in
            links.last { $0.uid == caller.uid && $0.folder == folder && $0.name == name && now - $0.made < Self.freshness }?.document
        }
    }

    /// Whether there was such a link, which is forgotten.
    func forgetFreshLink(_ name: EntryName, in folder: [UInt8], of caller: Caller) -> Bool {
        freshLinks.withLock { links in
            let count = links.count
            links.removeAll { $0.uid == caller.uid && $0.folder == folder && $0.name == name }
            return links.count < count
        }
    }

    func makeTag(_ tag: Tag, _ caller: Caller) throws(Errno) {
        try changing { () throws(IndexError) in try keeper.index.makeTag(tag, by: UserID(caller.uid)) }
    }

    func removeTag(_ tag: Tag, _ caller: Caller) throws(Errno) {
        try changing { () throws(IndexError) in try keeper.index.removeTag(tag) }
        tags.noteRemoval([], removedTags: [tag], caller)
    }

    /// Takes tags from a document. A tag that loses its last document this way stays, empty, like any folder.
    func remove(_ removed: [Tag], from path: StorePath, _ caller: Caller) throws(Errno) {
        guard let document = try? keeper.index.document(at: path) else { throw .noSuchFileOrDirectory }
        try changing { () throws(IndexError) in for tag in removed { try keeper.index.keepTag(tag, by: UserID(caller.uid)) } }
        try tags.remove(removed, from: document, caller)
        touch()
    }

    func swap(_ old: [Tag], for new: [Tag], on path: StorePath, _ caller: Caller) throws(Errno) {
        try changing { () throws(IndexError) in for tag in old { try keeper.index.keepTag(tag, by: UserID(caller.uid)) } }
        try tags.change(path, caller) { tags in
            let kept = tags.filter { !old.contains($0) }
            return kept + new.filter { !kept.contains($0) }
        }
        touch()
    }

    /// Renames a tag, and those nested in it, on every document. All of them must be the caller's to write, else none is
    /// changed: .permissionDenied.
    func renameTag(_ old: Tag, to new: Tag, _ caller: Caller) throws(Errno) {
        keeper.catchUp()
        let nested = (try? keeper.index.tags(nestedIn: old).map(\.tag)) ?? []
        var paths: [StorePath] = []
        for tag in [old] + nested { paths += ((try? keeper.index.documents(tagged: [tag])) ?? []).map(\.path) }
        guard !reach.filter(paths, caller, mode: W_OK).contains(false) else { throw .permissionDenied }
        var affected: [Document] = []
        try changing { () throws(IndexError) in affected = try keeper.index.renameTag(old, to: new) }
        guard !tags.liveInIndex else { return touch() }
        for document in affected {
            try tags.change(document.path, caller) { tags in
                var renamed: [Tag] = []
                for tag in tags.map({ $0.renamed(from: old, to: new) ?? $0 }) where !renamed.contains(tag) {
                    renamed.append(tag)
                }
                return renamed
            }
        }
        touch()
    }

    /// Brings back what the caller's last bulk removal took; how many documents got a tag back. Nil if there was none.
    func undoRemoval(_ caller: Caller) throws(Errno) -> Int? {
        keeper.catchUp()
        guard let batch = try? keeper.index.lastTagRemovalBatch(of: UserID(caller.uid)) else { return nil }
        try changing { () throws(IndexError) in for tag in batch.tags { try keeper.index.keepTag(tag, by: UserID(caller.uid)) } }
        var restored = 0
        for removal in batch.removals {
            do throws(Errno) {
                try tags.add(removal.tags, to: removal.document.path, caller)
                restored += 1
            } catch {
                // The document went, or is no longer the caller's.
            }
        }
        try changing { () throws(IndexError) in try keeper.index.clearBatch(batch.id) }
        return restored
    }

    /// The document a link made in a tag's folder leads to, by its text alone; nil if that is none of the store's.
    func document(linkedBy target: [UInt8], fromDepth depth: Int, _ caller: Caller) -> StorePath? {
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
        // One answer for what is not there and what the caller may not reach.
        guard reach.may(caller, path, R_OK), case .document = keeper.reader.look(at: path) else { return nil }
        return path
    }

    private func changing(_ body: () throws(IndexError) -> Void) throws(Errno) {
        keeper.catchUp()
        defer { touch() }
        do throws(IndexError) {
            try body()
        } catch {
            throw Errno(error)
        }
    }

    private func touch() {
        change.store(Clock.now, ordering: .relaxed)
        keeper.generation.wrappingAdd(1, ordering: .relaxed)
    }
}

extension Errno {
    /// What an app is told of a failure of the index.
    init(_ error: IndexError) {
        self =
            switch error {
            case .noSuchTag: .noSuchFileOrDirectory
            case .tagExists: .fileExists
            case .tagNotEmpty: .directoryNotEmpty
            case .tagInsideItself: .invalidArgument
            case .diskFull: .noSpace
            case .busy, .gatherSuperseded: .resourceTemporarilyUnavailable
            default: .ioError
            }
    }
}
