import DocumentIndex
import Glibc
public import MountProtocol
import QueryLanguage
import StorePrimitives

/// Searches, for the user who asks.
extension MountedStore {
    public func search(_ request: SearchRequest, for peer: Peer) throws(ServiceFailure) -> FoundDocuments {
        let (documents, hasMore) = try documents(
            request, try order(of: request), limit: request.limit ?? SearchInterface.defaultLimit, for: Credentials(peer))
        return FoundDocuments(documents: documents.map(shown), more: hasMore)
    }

    public func watchSearch(
        _ request: SearchRequest, for peer: Peer, wake: @escaping @Sendable () -> Void
    ) throws(ServiceFailure) -> any SearchFeed {
        let (order, limit) = (try order(of: request), request.limit ?? SearchInterface.defaultLimit)
        _ = try query(of: request)
        guard let share = TakenShare(.liveResults, limit, of: shares, for: peer.uid) else {
            throw .failed("you watch the results of as many searches as you may; `quire status` has the bounds (liveResults)")
        }
        return LiveSearch(self, request, order, limit: limit, for: Credentials(peer), share, wake: wake)
    }

    /// The documents that are in the mount when it is called, with all that was written through it.
    func documents(
        _ request: SearchRequest, _ order: SearchOrder, limit: Int, for caller: Credentials, remembering memory: SearchMemory? = nil
    ) throws(ServiceFailure) -> (documents: [Document], hasMore: Bool) {
        let query = try query(of: request)
        indexer.catchUp()
        do throws(IndexError) { return try search.documents(query, order: order, limit: limit, caller, remembering: memory) } catch { throw .failed("\(error)") }
    }

    func shown(_ document: Document) -> FoundDocument {
        FoundDocument(
            id: document.id.rawValue, path: place(document.path), size: document.size, modified: Double(document.modified.nanoseconds) / 1e9)
    }

    /// Whether the first scan has met all documents.
    var hasScanned: Bool { indexer.scanner.progress.state == "done" }

    private func order(of request: SearchRequest) throws(ServiceFailure) -> SearchOrder {
        guard let order = SearchOrder(rawValue: request.order ?? SearchOrder.newest.rawValue) else { throw .invalidParameter("order") }
        return order
    }

    /// Dates in it are those of now.
    private func query(of request: SearchRequest) throws(ServiceFailure) -> Query {
        let root = String(decoding: configuration.mountPoint, as: UTF8.self)
        let query: Query
        do throws(QueryError) { query = try Query(parsing: request.query, root: root) } catch { throw .invalidQuery("\(error)", error.range) }
        guard let folder = try request.folder.map(item), !folder.isRoot else { return query }
        guard let name = String(validating: folder.bytes, as: UTF8.self) else { throw .invalidParameter("folder") }
        return query.within(folder: name)
    }

    public func textState(of document: DocumentPath, for peer: Peer) throws(ServiceFailure) -> TextStateReply {
        let (path, caller) = (try self.document(document), Credentials(peer))
        indexer.catchUp()
        guard fileSystem.tags.access.may(caller, path, R_OK), let known = try? indexer.index.document(at: path) else {
            throw .notFound("\(document.wire) among the documents of this mount")
        }
        guard let texts = search.texts else { return TextStateReply(state: "off", reason: Self.offReason) }
        guard let text = texts.textIndex else { return TextStateReply(state: "waiting", reason: "the index of texts is damaged and made anew") }
        if path.isHidden { return TextStateReply(state: "nothing", reason: "hidden documents are not read") }
        do throws(IndexError) {
            let state = try text.state(of: known.id)
            if state?.version != TextVersion(known), try !text.hasRoom(for: known.owner) {
                return TextStateReply(state: "waiting", reason: "its owner has as many texts as a user may have; `quire status` has the bounds (textBytes)")
            }
            guard let state else { return TextStateReply(state: "waiting") }
            guard state.version == TextVersion(known) else { return TextStateReply(state: "waiting", reason: "it has changed since it was read") }
            return TextStateReply(
                state: "\(state.kind)", reason: state.reason, time: Double(state.time.nanoseconds) / 1e9, length: state.length, attempts: state.attempts)
        } catch {
            throw .failed("\(error)")
        }
    }

    private static let offReason = "the mount does not search texts (mount option search-text)"

    public func textStatus(for peer: Peer) throws(ServiceFailure) -> TextStatusReply {
        do throws(IndexError) {
            guard let texts = search.texts else { return TextStatusReply(state: "off", trouble: Self.offReason) }
            let status = try texts.status()
            let current = fileSystem.tags.access.isUnlimited(Credentials(peer)) ? status.document.map(place) : nil
            return TextStatusReply(
                state: status.state, indexed: status.counts.indexed, nothing: status.counts.nothing, failed: status.counts.failed,
                bytes: status.counts.bytes, current: current, trouble: status.trouble)
        } catch {
            throw .failed("\(error)")
        }
    }

    public func pauseTexts(_ isPaused: Bool, for peer: Peer) throws(ServiceFailure) { try texts(for: peer).setPaused(isPaused) }

    public func rebuildTexts(for peer: Peer) throws(ServiceFailure) {
        let texts = try texts(for: peer)
        do throws(IndexError) { try texts.rebuild() } catch { throw .failed("\(error)") }
    }

    private func texts(for peer: Peer) throws(ServiceFailure) -> TextIndexer {
        guard fileSystem.tags.access.isUnlimited(Credentials(peer)) else {
            throw .permissionDenied("only root and the user who mounted may pause or rebuild the index of texts")
        }
        guard let texts = search.texts else { throw .failed(Self.offReason) }
        return texts
    }
}
