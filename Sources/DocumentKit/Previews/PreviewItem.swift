public import Foundation

/// Something that a ``PreviewSession`` shows, as `QLPreviewItem`.
public protocol PreviewItem: Sendable {
    /// The document; nil while there is none.
    var previewItemURL: URL? { get }
    /// What it is called; nil: as its file.
    var previewItemTitle: String? { get }
}

extension PreviewItem {
    public var previewItemTitle: String? { nil }
}

extension URL: PreviewItem {
    public var previewItemURL: URL? { self }
}

/// What there is to see of a document without the program that made it.
public struct DocumentPreview: Sendable {
    /// A MIME type.
    public let contentType: String
    /// How many pages can be drawn; 0 if none can, and ``trouble`` says why.
    public let pageCount: Int
    public let trouble: String?
    /// Whether it has text to read.
    public let hasText: Bool
    /// What the document says of itself, and its name, type, size and time: pairs of what it is and what it says.
    public let facts: [(name: String, value: String)]
    /// The paths of the files in it, if it is an archive.
    public let contents: [String]?
}

/// A link on a page.
public struct PreviewLink: Hashable, Sendable {
    public let url: URL
    /// In parts of the page's width and height, from its left upper corner.
    public let rect: CGRect
}

/// Why there is no preview, or not this part of one.
public struct PreviewError: Error, Hashable, Sendable, CustomStringConvertible {
    /// For a person.
    public let description: String
}
