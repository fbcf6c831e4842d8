import CLinux
import Glibc
public import StorePrimitives
public import SystemPackage

/// A document, or a folder, that a picture is wanted of.
public struct RenderSubject: Sendable {
    /// Its name, which says its type.
    public let name: EntryName
    /// As it is browsed: what its thumbnail is known by.
    public let uri: String
    /// Opens its content for reading.
    public let open: @Sendable () throws(Errno) -> Descriptor
    /// Of a folder; nil for a document.
    public let folder: Folder?

    /// What a folder's picture may be made of.
    public struct Folder: Sendable {
        public struct Part: Sendable {
            let subject: RenderSubject
            let changed: Int64

            /// - Parameter changed: see `FolderParts.Part`; from before it was found that the folder's readers may see it.
            public init(_ subject: RenderSubject, changed: Int64) { (self.subject, self.changed) = (subject, changed) }
        }

        /// When the folder was changed (ctime), and what is in it, the best first. Nothing if another folder stands there by now than the
        /// one of that version: it may be for others.
        let contents: @Sendable (ThumbnailVersion) -> (changed: Int64, parts: [Part])
        /// Whether nothing of what a picture of that version was made of has changed.
        let isCurrent: @Sendable (FolderParts, ThumbnailVersion) -> Bool

        public init(
            contents: @escaping @Sendable (ThumbnailVersion) -> (changed: Int64, parts: [Part]),
            isCurrent: @escaping @Sendable (FolderParts, ThumbnailVersion) -> Bool
        ) {
            (self.contents, self.isCurrent) = (contents, isCurrent)
        }
    }

    public init(
        name: EntryName, uri: String, open: @escaping @Sendable () throws(Errno) -> Descriptor,
        folder: Folder? = nil
    ) {
        self.name = name
        self.uri = uri
        self.open = open
        self.folder = folder
    }
}

extension RenderSubject {
    /// A document by its path, as it is opened by any app. - Parameter path: from `/` on.
    public init?(document path: [UInt8]) {
        guard let name = path.split(separator: UInt8(ascii: "/")).last.flatMap({ EntryName($0) }) else { return nil }
        self.init(name: name, uri: DesktopURI.uri(ofPath: path)) { () throws(Errno) in
            let number = (path + [0]).withUnsafeBytes {
                cl_openat(AT_FDCWD, $0.assumingMemoryBound(to: CChar.self).baseAddress, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)
            }
            return Descriptor(owning: try check(number))
        }
    }
}

/// What came of rendering.
public enum RenderOutcome: Sendable {
    /// It is in the cache.
    case rendered(ThumbnailVersion, ThumbnailCache.Entry)
    /// Nobody can render this content, and why, for a person. That is in the cache too.
    case refused(String)
    /// Not this time, and why.
    case failed(String)
}
