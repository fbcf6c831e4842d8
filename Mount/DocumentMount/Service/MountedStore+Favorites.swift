import DocumentIndex
public import MountProtocol
import StorePrimitives
import SystemPackage

/// Favorites, for the user who asks.
extension MountedStore {
    public func favorites(for peer: Peer) throws(ServiceFailure) -> [FavoriteItem] {
        favorites.favorites(Credentials(peer)).map {
            FavoriteItem(path: place($0.path), folder: $0.isFolder, added: Double($0.added.nanoseconds) / 1e9)
        }
    }

    public func addFavorites(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) -> [PathFailure] {
        try failures(paths) { (path) throws(Errno) in
            try favorites.mark(path, Credentials(peer))
            return true
        }
    }

    public func removeFavorites(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) -> [PathFailure] {
        try failures(paths) { (path) throws(Errno) in try favorites.unmark(path, Credentials(peer)) }
    }

    /// Calls `body` for each path, which returns false for one that is not marked.
    private func failures(_ paths: [DocumentPath], _ body: (StorePath) throws(Errno) -> Bool) throws(ServiceFailure) -> [PathFailure] {
        var failures: [PathFailure] = []
        for path in paths {
            let inside = try document(path)
            do throws(Errno) {
                if try !body(inside) { failures.append(PathFailure(path: path, message: "is no favorite")) }
            } catch {
                let message =
                    switch error {
                    case .noSuchFileOrDirectory: "is no document or folder that you may read"
                    case .diskQuotaExceeded: "you have as many favorites as you may; `quire status` has the bounds"
                    case .noSpace: "the index has no room for it; `quire status` has the bounds"
                    default: "\(error)"
                    }
                failures.append(PathFailure(path: path, message: message))
            }
        }
        return failures
    }
}
