import DocumentIndex
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
}
