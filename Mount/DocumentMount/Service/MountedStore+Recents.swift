import DocumentIndex
public import MountProtocol
import StorePrimitives

/// The documents that a user has used last, for the user who asks.
extension MountedStore {
    public func recents(limit: Int, for peer: Peer) throws(ServiceFailure) -> [RecentDocument] {
        recents.recents(Credentials(peer), limit: limit).map {
            RecentDocument(path: place($0.path), used: Double($0.used.nanoseconds) / 1e9)
        }
    }

    public func forgetRecents(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) {
        for path in paths {
            guard recents.forget(try inside(path), Credentials(peer)) else { throw .failed("\(path.wire): could not be forgotten") }
        }
    }
}
