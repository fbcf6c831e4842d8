import DocumentIndex
import Glibc
import StorePrimitives
import SystemPackage

/// What is changed through the folders of `.tags`, and by the commands for tags. What the caller may not know of is neither
/// changed nor an obstacle.
extension TagFolders {
    /// Throws .fileExists only for a tag that the caller may know of; any other is theirs from now on, too.
    func makeTag(_ tag: Tag, _ caller: Credentials) throws(Errno) {
        indexer.catchUp()
        guard !isShown(tag, to: caller) else { throw .fileExists }
        guard mayKeepMore(caller) else { throw .diskQuotaExceeded }
        try keep([tag], caller)
    }

    /// Whether the caller's share of tags that show without documents has room: each listing of `.tags` goes through all of all users.
    private func mayKeepMore(_ caller: Credentials) -> Bool {
        (try? indexer.index.mayKeepTag(UserID(caller.uid))) ?? true
    }

    func removeTag(_ tag: Tag, _ caller: Credentials) throws(Errno) {
        // `rm -r` removes the folder right after its links, and need not wait until the index has taken all of them.
        if !indexer.isBehind || !indexer.isEmptied(tag) {
            indexer.catchUp()
            guard !hasEntries(tag, for: caller) else { throw .directoryNotEmpty }
        }
        defer { noteChange() }
        try indexer.drop(tag, by: caller, keeper: keeping(caller))
    }

    /// Adds tags to documents, and removes others. Returns those for which that failed.
    func change(_ paths: [StorePath], adding added: [Tag], removing removed: [Tag], _ caller: Credentials) -> [(path: StorePath, error: Errno)] {
        defer { noteChange() }
        return tags.change(paths, caller) { tags in
            let kept = tags.filter { !removed.contains($0) }
            return kept + added.filter { !kept.contains($0) }
        }
    }

    func add(_ added: [Tag], to path: StorePath, _ caller: Credentials) throws(Errno) {
        try tags.add(added, to: path, caller)
        noteChange()
    }

    /// Takes tags from a document. A tag that loses its last document this way stays, empty, like any folder.
    func remove(_ removed: [Tag], from path: StorePath, _ caller: Credentials) throws(Errno) {
        try tags.change(path, caller) { $0.filter { !removed.contains($0) } }
        indexer.noteTaken(removed, from: path, by: caller, canBeUndone: true)
        noteChange()
    }

    /// As `remove`, if the document has all of the tags and the caller may read it, and without waiting for the index. Whether it was done.
    func take(_ removed: [Tag], from path: StorePath, _ caller: Credentials) -> Bool {
        guard tags.take(removed, from: path, caller) else { return false }
        indexer.noteTaken(removed, from: path, by: caller, canBeUndone: true)
        noteChange()
        return true
    }

    func swap(_ old: [Tag], for new: [Tag], on path: StorePath, _ caller: Credentials) throws(Errno) {
        try tags.change(path, caller) { tags in
            let kept = tags.filter { !old.contains($0) }
            return kept + new.filter { !kept.contains($0) }
        }
        indexer.noteTaken(old, from: path, by: caller, canBeUndone: false)
        noteChange()
    }

    /// Renames a tag, and those nested in it, on every document that the caller may access, and for the caller if they keep it.
    /// All of those documents must be the caller's to write, else none is changed: .permissionDenied. Throws
    /// .noSuchFileOrDirectory for a tag the caller may not know of, .directoryNotEmpty if the new one's folder shows them
    /// anything, .invalidArgument for one nested in itself.
    /// - Parameter merges: the new tag may have documents; the two become one.
    func renameTag(_ old: Tag, to new: Tag, merges: Bool = false, _ caller: Credentials) throws(Errno) {
        indexer.catchUp()
        guard isShown(old, to: caller) else { throw .noSuchFileOrDirectory }
        guard !new.isNested(in: old) else { throw .invalidArgument }
        guard merges || old == new || !hasEntries(new, for: caller) else { throw .directoryNotEmpty }
        var documents = (try? indexer.index.documents(inside: old)) ?? []
        var share = TagShare.all
        if let user = keeping(caller) {
            documents = accessible(documents, caller)
            share = .of(user, documents: Set(documents.map(\.id)))
        }
        guard !access.filter(documents.map(\.path), caller, mode: W_OK).contains(false) else { throw .permissionDenied }
        var affected: [DocumentID] = []
        try changing { () throws(IndexError) in affected = try indexer.index.renameTag(old, to: new, for: share) }
        noteRename(of: old)
        guard !tags.liveInIndex else { return }
        let paths = Dictionary(documents.map { ($0.id, $0.path) }, uniquingKeysWith: { path, _ in path })
        // One that another thread has told the index of meanwhile.
        let others = (try? indexer.index.documents(affected.filter { paths[$0] == nil })) ?? []
        let failures = tags.change(affected.compactMap { paths[$0] } + others.map(\.path), caller, isIndexed: true) { tags in
            var renamed: [Tag] = []
            for tag in tags.map({ $0.renamed(from: old, to: new) ?? $0 }) where !renamed.contains(tag) {
                renamed.append(tag)
            }
            return renamed
        }
        noteChange()
        if let failure = failures.first { throw failure.error }
    }

    /// Brings back what the caller's last bulk removal took; how many documents got a tag back. Nil if there was none.
    func undoRemoval(_ caller: Credentials) throws(Errno) -> Int? {
        indexer.catchUp()
        guard let batch = try? indexer.index.lastTagRemovalBatch(of: UserID(caller.uid)) else { return nil }
        try keep(batch.tags, caller)
        var restored = 0
        for (added, removals) in Dictionary(grouping: batch.removals, by: \.tags) {
            // Of those that fail the document went, or is no longer the caller's.
            restored += removals.count - tags.add(added, to: removals.map(\.document.path), caller).count
        }
        try changing { () throws(IndexError) in try indexer.index.clearBatch(batch.id) }
        return restored
    }

    /// The tags show to the caller from now on, documents or not, as long as there is room for more.
    private func keep(_ tags: [Tag], _ caller: Credentials) throws(Errno) {
        guard mayKeepMore(caller) else { return noteChange() }
        try changing { () throws(IndexError) in
            for tag in tags { try indexer.index.keepTag(tag, by: UserID(caller.uid)) }
        }
    }

    private func changing(_ body: () throws(IndexError) -> Void) throws(Errno) {
        defer { noteChange() }
        do throws(IndexError) {
            try body()
        } catch {
            throw Errno(error)
        }
    }
}

extension Errno {
    /// What an app is told of a failure of the index.
    init(_ error: IndexError) {
        self =
            switch error {
            case .noSuchTag: .noSuchFileOrDirectory
            case .tagInsideItself: .invalidArgument
            case .diskFull: .noSpace
            case .busy, .scanSuperseded: .resourceTemporarilyUnavailable
            default: .ioError
            }
    }
}
