import CLinux
import DocumentIndex
import Glibc
public import MountProtocol
import QueryLanguage
import StorePrimitives
import Synchronization
import SystemPackage

/// Bookmarks: texts by which a document is found again.
extension MountedStore {
    public func createBookmark(_ path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> String {
        let (inside, caller) = (try document(path), Credentials(peer))
        indexer.catchUp()
        guard case (_, false)? = favorites.targets.item(at: inside, caller) else { throw .notFound("\(path.wire) among the documents that you may read") }
        if (try? indexer.index.document(at: inside)) == nil, case .document(let facts) = indexer.reader.status(at: inside) {
            indexer.apply([.present(facts)])
        }
        let known: (document: Document?, epoch: Int64)
        do throws(IndexError) { known = (try indexer.index.document(at: inside), try indexer.index.epoch()) } catch { throw .failed("\(error)") }
        guard let document = known.document else { throw .failed("the index has no room for \(path.wire); `quire status` has the bounds") }
        return try key().token(of: Bookmark(epoch: known.epoch, document: document, hint: hint(of: document) ?? []).bytes)
    }

    public func resolveBookmark(_ token: String, for peer: Peer) throws(ServiceFailure) -> ResolvedBookmark {
        guard let content = try key().content(of: token), let bookmark = Bookmark(content) else { return ResolvedBookmark(state: .forged) }
        indexer.catchUp()
        let caller = Credentials(peer)
        do throws(IndexError) {
            if let document = try document(of: bookmark), fileSystem.tags.access.may(caller, document.path, R_OK) {
                return ResolvedBookmark(state: .found, path: place(document.path))
            }
            if let document = try document(like: bookmark, caller) { return ResolvedBookmark(state: .stale, path: place(document.path)) }
            return ResolvedBookmark(state: .deleted)
        } catch { throw .failed("\(error)") }
    }

    /// The document by its id or, in an index that was made anew, by its file.
    private func document(of bookmark: Bookmark) throws(IndexError) -> Document? {
        if try indexer.index.epoch() == bookmark.epoch, let document = try indexer.index.document(id: DocumentID(rawValue: bookmark.id)) { return document }
        return try indexer.index.document(of: bookmark.identity, at: bookmark.path)
    }

    /// A document with the same content and time, as when it was restored from a backup: the one at the same path, or else any. Or whichever
    /// document has the path by now.
    private func document(like bookmark: Bookmark, _ caller: Credentials) throws(IndexError) -> Document? {
        let access = fileSystem.tags.access
        func isLike(_ document: Document) -> Bool {
            document.size == bookmark.size && document.modified == bookmark.modified && access.may(caller, document.path, R_OK) && hint(of: document) == bookmark.hint
        }
        let there = try indexer.index.document(at: bookmark.path).flatMap { access.may(caller, $0.path, R_OK) ? $0 : nil }
        if let there, isLike(there) { return there }
        if bookmark.size > 0, !bookmark.hint.isEmpty, let query = try? Query(parsing: "size:\(bookmark.size)") {
            let (alike, _) = try search.documents(query, order: .newest, limit: Self.mostAlike, caller)
            if let found = alike.first(where: isLike) { return found }
        }
        return there
    }

    private static let mostAlike = 1_000

    /// Nil if it cannot be read.
    private func hint(of document: Document) -> [UInt8]? {
        guard let file = try? fileSystem.store.open(document.path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK | CL_O_NOATIME) else { return nil }
        return try? ContentHint.of(file, size: document.size)
    }

    private func key() throws(ServiceFailure) -> BookmarkKey {
        let key = bookmarkKey.withLock { key -> Result<BookmarkKey, Errno> in
            if let key { return .success(key) }
            do throws(Errno) {
                let made = try BookmarkKey(folder: configuration.stateFolder)
                key = made
                return .success(made)
            } catch { return .failure(error) }
        }
        do throws(Errno) { return try key.get() } catch { throw .failed("\(configuration.stateFolder)/\(BookmarkKey.fileName): \(error)") }
    }
}
