import StorePrimitives
import Synchronization

/// Pictures that apps have made of their documents: what is to be rendered of such a version is rendered of them, as images. Kept
/// in memory until all sizes are in the cache. Leaf lock.
final class HandedPictures: Sendable {
    private struct Picture {
        let uri: String
        let version: ThumbnailVersion
        let image: Descriptor
    }
    /// The latest last.
    private let pictures = Mutex<[Picture]>([])
    private static let most = 64

    func add(_ image: Descriptor, of uri: String, _ version: ThumbnailVersion) {
        pictures.withLock { pictures in
            pictures.removeAll { $0.uri == uri }
            if pictures.count >= Self.most { pictures.removeFirst() }
            pictures.append(Picture(uri: uri, version: version, image: image))
        }
    }

    func picture(of uri: String, _ version: ThumbnailVersion) -> Descriptor? {
        pictures.withLock { pictures in
            pictures.isEmpty ? nil : pictures.last { $0.uri == uri && $0.version == version }?.image
        }
    }

    func remove(_ uri: String, _ version: ThumbnailVersion) {
        pictures.withLock { $0.removeAll { $0.uri == uri && $0.version == version } }
    }
}

extension Thumbnailer {
    /// Has all sizes of a thumbnail made of an image file, instead of the document's content. Returns at once.
    public func handOver(_ image: Descriptor, of subject: RenderSubject, _ version: ThumbnailVersion) {
        handed.add(image, of: subject.uri, version)
        contents.remove(subject.uri)
        // Somebody may have looked already.
        cache.remove(subject.uri)
        let left = Mutex(ThumbnailSize.allCases.count)
        let finish: @Sendable (RenderOutcome) -> Void = { [handed] _ in
            let isLast = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isLast { handed.remove(subject.uri, version) }
        }
        for size in ThumbnailSize.allCases {
            if !render(subject, size, .awaited, completion: finish) { finish(.failed("too many are waiting")) }
        }
    }
}
