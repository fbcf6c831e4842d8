import DocumentRendering
import StorePrimitives

/// Where thumbnails come from.
protocol ThumbnailSource: Sendable {
    /// Where they are kept, for a person.
    var place: String { get }
    /// A document's or folder's thumbnail, rendered if need be: opened for reading. `path` is canonical. Throws why there is none.
    func render(_ path: [UInt8], _ size: ThumbnailSize) throws(CommandFailure) -> Descriptor
    /// Forgets what was rendered of a document, or in a folder. Returns of how many documents there was something.
    func clear(_ path: [UInt8]) throws(CommandFailure) -> Int
}

enum ThumbnailSources {
    /// The one for a canonical path.
    static func source(for path: [UInt8]) throws(CommandFailure) -> any ThumbnailSource {
        if let mount = MountTable.current().holding(path), mount.isQuire,
            FileSystem.allows(0, mount.mountPoint + Array("/.thumbnails".utf8))
        {
            return MountedThumbnails(mount: mount)
        }
        return try LocalThumbnails()
    }
}
