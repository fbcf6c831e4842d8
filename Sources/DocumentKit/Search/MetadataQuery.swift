public import Foundation
import MountClient
import MountProtocol

/// A search for documents in a Quire mount, as `NSMetadataQuery` is one on Apple's systems: once, or with results that stay current.
///
///     let query = MetadataQuery("kind:image after:last-month", in: URL(filePath: "/home/ada/Documents"))
///     for try await update in query.updates {
///         show(update.items)
///     }
///
/// Only documents are found that the user may read. What was written through the mount is in the results from close(2) on.
public struct MetadataQuery: Hashable, Sendable {
    public enum Order: String, Hashable, Sendable, CaseIterable {
        /// Last modification first.
        case newest
        case oldest, largest, smallest, name
    }

    /// In the language that `quire help search` describes.
    public let query: String
    /// Where to search: a folder in a mount, with all that is in it.
    public let directory: URL
    public let order: Order
    /// How many documents at most, 20,000 or less.
    public let limit: Int

    public init(_ query: String, in directory: URL, order: Order = .newest, limit: Int = 1_000) {
        (self.query, self.directory, self.order, self.limit) = (query, directory, order, limit)
    }

    /// The documents that meet the query now. Costs a connection to the mount's daemon.
    /// - Throws: `failed` for a query that cannot be understood (the text says why) and for a folder that is in no Quire mount,
    ///   `disconnected` if the mount has no daemon.
    public func results() async throws(FileCoordinationError) -> [MetadataItem] {
        let target = try MetadataTarget(self)
        let answer = await WaitingThreads.queries.result { () -> Result<[MetadataItem], FileCoordinationError> in
            do throws(FileCoordinationError) { return .success(try target.search()) } catch { return .failure(error) }
        }
        return try answer.get()
    }

    /// The documents that meet the query, now and whenever that changes. Costs a connection for each iterator, and a thread while one waits.
    public var updates: MetadataUpdates { MetadataUpdates(query: self) }
}

/// A document that a query has found.
public struct MetadataItem: Hashable, Sendable, Identifiable {
    /// Stays the document's own when it is moved or saved. Distinct in one mount.
    public let id: Int64
    public let url: URL
    /// In bytes.
    public let size: Int64
    public let contentModificationDate: Date

    init(_ document: FoundDocument) {
        id = document.id
        url = AbsolutePath(document.path).url
        size = document.size
        contentModificationDate = Date(timeIntervalSince1970: document.modified)
    }
}

/// The mount that a query is about, and what its daemon is asked.
struct MetadataTarget: Sendable {
    let mount: QuireMount
    let request: SearchRequest

    init(_ query: MetadataQuery) throws(FileCoordinationError) {
        let folder = try AbsolutePath(query.directory, resolvesLink: true)
        guard let mount = QuireMount.holding(folder) else { throw .failed("\(folder): is in no Quire mount") }
        self.mount = mount
        request = SearchRequest(query: query.query, limit: query.limit, order: query.order.rawValue, folder: folder.wire)
    }

    func search() throws(FileCoordinationError) -> [MetadataItem] {
        let connection = try mount.connect()
        do throws(ServiceCallError) {
            return try connection.call(SearchInterface.search, request).documents.map { MetadataItem($0) }
        } catch {
            throw FileCoordinationError(error, in: mount)
        }
    }

    /// Begins to be told of results. The connection serves for that alone.
    func watch() throws(FileCoordinationError) -> ServiceConnection {
        let connection = try mount.connect()
        do throws(ServiceCallError) { try connection.open(SearchInterface.watch, request) } catch { throw FileCoordinationError(error, in: mount) }
        return connection
    }
}
