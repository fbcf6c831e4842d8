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

    public func noteUses(_ uses: [RecentDocument], for peer: Peer) throws(ServiceFailure) {
        let (caller, now) = (Credentials(peer), Double(Clock.now) / 1e9)
        let told = uses.compactMap { use -> (path: StorePath, used: Double)? in
            guard let path = try? document(use.path), !path.isHidden, use.used > 0, use.used <= now else { return nil }
            return (path, use.used)
        }
        indexer.catchUp()
        let readable = zip(told, fileSystem.tags.access.filter(told.map(\.path), caller)).filter(\.1).map(\.0)
        // Not again, and not what the mount has seen later.
        let new = readable.filter { use in
            let known = (try? indexer.index.lastKnownUse(of: use.path, by: UserID(caller.uid)))?.nanoseconds ?? 0
            return Double(known) / 1e9 + 1 < use.used
        }
        indexer.apply(new.map { .used($0.path, by: UserID(caller.uid), at: Timestamp(nanoseconds: Int64(clamping: $0.used * 1e9)), written: false) })
    }

    public func forgetRecents(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) {
        for path in paths {
            guard recents.forget(try document(path), Credentials(peer)) else { throw .failed("\(path.wire): could not be forgotten") }
        }
    }
}
