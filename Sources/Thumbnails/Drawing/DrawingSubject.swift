public import StorePrimitives
public import SystemPackage

/// A document, or a folder, that a picture is wanted of.
public struct DrawingSubject: Sendable {
    /// Its name, which says its type.
    public let name: EntryName
    /// As it is browsed: what its thumbnail is known by.
    public let uri: String
    /// Opens its content for reading.
    public let open: @Sendable () throws(Errno) -> Descriptor
    /// Of a folder, what its picture may be made of, the best first; nil for a document.
    public let parts: (@Sendable () -> [DrawingSubject])?

    public init(
        name: EntryName, uri: String, open: @escaping @Sendable () throws(Errno) -> Descriptor,
        parts: (@Sendable () -> [DrawingSubject])? = nil
    ) {
        self.name = name
        self.uri = uri
        self.open = open
        self.parts = parts
    }
}

/// What came of drawing.
public enum DrawingOutcome: Sendable {
    /// It is in the cache.
    case drawn(ThumbnailVersion, ThumbnailCache.Entry)
    /// Nobody can draw this content, and why, for a person. That is in the cache too.
    case refused(String)
    /// Not this time, and why.
    case failed(String)
}
