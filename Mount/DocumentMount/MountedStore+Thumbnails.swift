import DocumentRendering
import FuseServer
import Glibc
public import StorePrimitives
public import SystemPackage

/// What the service tells of thumbnails.
extension MountedStore {
    /// Why what stands at a path has no thumbnail; nil if it has one, or nobody has looked. Throws ENOENT if there is nothing that
    /// the caller may read.
    public func thumbnailRefusal(of path: StorePath, for caller: Credentials) throws(Errno) -> String? {
        guard let thumbnails = fileSystem.thumbnails, let status = thumbnails.status(of: path, for: caller, R_OK)
        else { throw .noSuchFileOrDirectory }
        return thumbnails.cache.refusal(of: thumbnails.uri(of: path), ThumbnailVersion(status))
    }

    /// Forgets the thumbnails of a document, or of all in a folder, of what the caller may write. Returns of how many there were any.
    /// O(documents in it); of the whole mount also the pictures in virtual folders, O(thumbnails).
    public func clearThumbnails(in path: StorePath, for caller: Credentials) throws(Errno) -> Int {
        guard let thumbnails = fileSystem.thumbnails, thumbnails.access.may(caller, path, R_OK)
        else { throw .noSuchFileOrDirectory }
        if path.isRoot, thumbnails.access.may(caller, path, W_OK) { thumbnails.removeAllLinkPictures() }
        var count = 0
        var next = [path]
        while let path = next.popLast(), !isEnding.load(ordering: .relaxed) {
            if thumbnails.access.may(caller, path, W_OK), thumbnails.removePictures(of: path) { count += 1 }
            next += ((try? thumbnails.items(in: path)) ?? []).map { path.appending($0.name) }
        }
        return count
    }

    /// Takes over a picture that an app has made of what a document holds now: its thumbnails are made of that. Nothing happens if
    /// the caller may not write the document, or if it cannot be kept.
    public func handOverThumbnail(_ image: [UInt8], of path: StorePath, for caller: Credentials) {
        guard let thumbnails = fileSystem.thumbnails, let status = thumbnails.status(of: path, for: caller, W_OK),
            DocumentThumbnails.mayBeRendered(status), let picture = try? MemoryFile.file(image)
        else { return }
        thumbnails.thumbnailer.handOver(picture, of: thumbnails.subject(path, isFolder: false), ThumbnailVersion(status))
    }

    /// How many thumbnails were rendered, how many documents could not be, and how many wait.
    public var thumbnailCounters: [String: Int] {
        guard let status = fileSystem.thumbnails?.thumbnailer.status else { return [:] }
        return ["thumbnailsDrawn": status.rendered, "thumbnailsRefused": status.refused, "thumbnailsWaiting": status.waiting]
    }

    /// Why none can be rendered at the moment; nil if they can.
    public var thumbnailTrouble: String? { fileSystem.thumbnails?.thumbnailer.status.trouble }
}
