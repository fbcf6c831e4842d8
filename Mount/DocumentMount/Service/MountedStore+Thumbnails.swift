import DocumentRendering
import FuseServer
import Glibc
public import MountProtocol
import StorePrimitives
import SystemPackage

/// Thumbnails, for the service's clients.
extension MountedStore {
    public func refusal(of path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> String? {
        let inside = try inside(path)
        guard let thumbnails = virtualTree.thumbnails, let status = thumbnails.status(of: inside, for: Credentials(peer), R_OK)
        else { throw .notFound("\(path.wire) in this mount") }
        return thumbnails.cache.refusal(of: thumbnails.uri(of: inside), ThumbnailVersion(status))
    }

    /// O(documents in it); of the whole mount also the pictures in virtual folders, O(thumbnails).
    public func clearThumbnails(in path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> Int {
        let (folder, caller) = (try item(path), Credentials(peer))
        guard let thumbnails = virtualTree.thumbnails, thumbnails.access.may(caller, folder, R_OK)
        else { throw .notFound("\(path.wire) in this mount, or the mount has no virtual folders") }
        if folder.isRoot, thumbnails.access.may(caller, folder, W_OK) { thumbnails.removeAllLinkPictures() }
        var count = 0
        var next = [folder]
        while let path = next.popLast(), !isEnding.load(ordering: .relaxed) {
            if thumbnails.access.may(caller, path, W_OK), thumbnails.removePictures(of: path) { count += 1 }
            next += ((try? thumbnails.items(in: path)) ?? []).map { path.appending($0.name) }
        }
        return count
    }

    /// Takes over a picture that an app has made of what a document holds now: its thumbnails are made of that. Nothing happens if
    /// the caller may not write the document, or if it cannot be kept.
    func handOverThumbnail(_ image: [UInt8], of path: StorePath, for caller: Credentials) {
        guard let thumbnails = virtualTree.thumbnails, let status = thumbnails.status(of: path, for: caller, W_OK),
            DocumentThumbnails.mayBeRendered(status), let picture = try? MemoryFile.file(image)
        else { return }
        thumbnails.thumbnailer.handOver(picture, of: thumbnails.subject(path, isFolder: false), ThumbnailVersion(status))
    }
}
