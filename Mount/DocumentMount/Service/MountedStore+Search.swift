import DocumentIndex
import Glibc
public import MountProtocol
import QueryLanguage
import StorePrimitives

/// Searches, for the user who asks.
extension MountedStore {
    public func search(_ request: SearchRequest, for peer: Peer) throws(ServiceFailure) -> FoundDocuments {
        guard let order = SearchOrder(rawValue: request.order ?? SearchOrder.newest.rawValue) else { throw .invalidParameter("order") }
        let query: Query
        let root = String(decoding: configuration.mountPoint, as: UTF8.self)
        do throws(QueryError) { query = try Query(parsing: request.query, root: root) } catch { throw .invalidQuery("\(error)", error.range) }
        indexer.catchUp()
        do throws(IndexError) {
            let (documents, hasMore) = try search.documents(
                query, order: order, limit: request.limit ?? SearchInterface.defaultLimit, Credentials(peer))
            return FoundDocuments(
                documents: documents.map {
                    FoundDocument(path: place($0.path), size: $0.size, modified: Double($0.modified.nanoseconds) / 1e9)
                }, more: hasMore)
        } catch {
            throw .failed("\(error)")
        }
    }

    public func textState(of document: DocumentPath, for peer: Peer) throws(ServiceFailure) -> TextStateReply {
        let (path, caller) = (try inside(document), Credentials(peer))
        indexer.catchUp()
        guard fileSystem.tags.access.may(caller, path, R_OK), let known = try? indexer.index.document(at: path) else {
            throw .notFound("\(document.wire) among the documents of this mount")
        }
        guard let texts = search.texts else { return TextStateReply(state: "off", reason: Self.offReason) }
        guard let text = texts.textIndex else { return TextStateReply(state: "waiting", reason: "the index of texts is damaged and made anew") }
        if path.isHidden { return TextStateReply(state: "nothing", reason: "hidden documents are not read") }
        do throws(IndexError) {
            guard let state = try text.state(of: known.id) else { return TextStateReply(state: "waiting") }
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
