import CoordinationService
import DocumentMount
import StorePrimitives
import SystemPackage

/// Thumbnails, for the service's clients.
extension ServedMount {
    func refusal(of path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> String? {
        guard let inside = path.inside(configuration) else { throw .notFound("\(path.wire) in this mount") }
        do throws(Errno) {
            return try store.thumbnailRefusal(of: inside, for: Credentials(peer))
        } catch {
            throw .notFound("\(path.wire) in this mount")
        }
    }

    func clearThumbnails(in path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> Int {
        let inside = path.bytes == configuration.mountPoint ? StorePath.root : path.inside(configuration)
        guard let inside else { throw .notFound("\(path.wire) in this mount") }
        do throws(Errno) {
            return try store.clearThumbnails(in: inside, for: Credentials(peer))
        } catch {
            throw .notFound("\(path.wire) in this mount, or the mount has no virtual folders")
        }
    }
}
