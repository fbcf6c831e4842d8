import Coordination
import Glibc
import MountProtocol
import StorePrimitives

/// Paths and callers, as the service's clients name them and as the store knows them.
extension MountedStore {
    /// A path in the store as its users see it.
    func place(_ path: StorePath) -> DocumentPath {
        DocumentPath(configuration.mountPoint + (path.isRoot ? [] : [UInt8(ascii: "/")] + path.bytes))
    }

    /// The path in the store of a path below the mount point or the store. Throws `.notFound` for any other.
    func inside(_ path: DocumentPath) throws(ServiceFailure) -> StorePath {
        for folder in [configuration.mountPoint, configuration.store] {
            let prefix = folder + [UInt8(ascii: "/")]
            if path.bytes.starts(with: prefix), let inside = StorePath(parsing: path.bytes.dropFirst(prefix.count)) { return inside }
        }
        throw .notFound("\(path.wire) in this mount")
    }

    /// As `inside`, or the package that the path leads into.
    func document(_ path: DocumentPath) throws(ServiceFailure) -> StorePath { indexer.reader.packages.whole(try inside(path)) }

    /// As `inside`, or the root for the mount point and the store themselves. Throws `.invalidParameter` for one that is longer than any
    /// that the kernel takes, which would be costly to compare.
    func item(_ path: DocumentPath) throws(ServiceFailure) -> StorePath {
        guard path.bytes.count < Int(PATH_MAX) else { throw .invalidParameter("path") }
        return path.bytes == configuration.mountPoint || path.bytes == configuration.store ? .root : try inside(path)
    }
}

extension Credentials {
    init(_ peer: Peer) { self.init(uid: peer.uid, gid: peer.gid, groups: peer.groups) }
}

extension SaveProcess {
    /// The process that made the connection, as it was when that was accepted; nil if it had ended by then. By its number alone it could
    /// be taken for another one later.
    init?(_ peer: Peer) {
        guard let start = peer.start else { return nil }
        self.init(id: peer.pid, start: start)
    }
}
