import DocumentRendering
import StorePrimitives

/// Where pictures were rendered under the paths of links in virtual folders, so that they go when their documents do. Leaf lock.
final class LinkPictures: Sendable {
    private let places = Locked<[StorePath: Set<[UInt8]>]>([:])
    private static let mostDocuments = 20_000

    /// - Parameter place: the link, from the mount's root.
    func note(_ place: [UInt8], of document: StorePath) {
        places.withLock { places in
            if places.count >= Self.mostDocuments, places[document] == nil { places.removeAll() }
            places[document, default: []].insert(place)
        }
    }

    func places(of document: StorePath) -> Set<[UInt8]> { places.withLock { $0[document] ?? [] } }

    func take(_ document: StorePath) -> Set<[UInt8]> { places.withLock { $0.removeValue(forKey: document) ?? [] } }
}

extension DocumentThumbnails {
    /// Forgets the pictures of a document, its links' too. Whether there were any.
    @discardableResult
    func removePictures(of path: StorePath) -> Bool {
        removeLinkPictures(of: path)
        return cache.remove(uri(of: path))
    }

    func removeLinkPictures(of path: StorePath) {
        for place in links.take(path) { cache.remove(uri(ofPlace: place)) }
    }

    /// Forgets the pictures of all links in virtual folders, those of earlier mounts too. O(thumbnails of all documents).
    func removeAllLinkPictures() {
        for folder in VirtualFolders.foldersOfLinks { cache.removeAll(below: uri(ofPlace: Array(folder.bytes))) }
    }
}
