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
        do throws(QueryError) { query = try Query(parsing: request.query) } catch { throw .invalidQuery("\(error)", error.range) }
        do throws(IndexError) {
            let (documents, hasMore) = try search.documents(
                query, order: order, limit: request.limit ?? SearchInterface.mostDocuments, Credentials(peer))
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
        guard let texts = search.texts, let text = texts.current else { return TextStateReply(state: "off", reason: Self.off) }
        if path.isHidden { return TextStateReply(state: "nothing", reason: "hidden documents are not read") }
        do throws(IndexError) {
            let version = TextVersion(size: known.size, modified: known.modified)
            guard let state = try text.state(of: known.id) else { return TextStateReply(state: "waiting", reason: "it was not read yet") }
            guard state.version == version else { return TextStateReply(state: "waiting", reason: "it has changed since it was read") }
            return TextStateReply(
                state: "\(state.kind)", reason: state.reason, time: Double(state.time.nanoseconds) / 1e9, length: state.length, attempts: state.attempts)
        } catch {
            throw .failed("\(error)")
        }
    }

    private static let off = "the mount does not search texts (mount option search-text)"

    public func textStatus(for peer: Peer) throws(ServiceFailure) -> TextStatusReply {
        do throws(IndexError) {
            guard let status = try search.texts?.status() else { return TextStatusReply(state: "off", trouble: Self.off) }
            let current = fileSystem.tags.access.isUnlimited(Credentials(peer)) ? status.current.map(place) : nil
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
            throw .permissionDenied("only root and the user who mounted pause and rebuild the index")
        }
        guard let texts = search.texts else { throw .failed(Self.off) }
        return texts
    }
}
