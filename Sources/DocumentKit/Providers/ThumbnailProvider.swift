public import Foundation

/// Draws documents of an app's own types as thumbnails, as `QLThumbnailProvider`.
///
/// It runs in a program of its own, see ``ProviderProgram``, which is started in a sandbox for each document: it can read that one,
/// a copy, and the system's libraries, and has no network and no other files. What it leaves behind is gone with it.
public protocol ThumbnailProvider: Sendable {
    /// What it draws.
    static var contentTypes: [DocumentContentType] { get }

    /// Draws a document. Throws if that is not possible; then another program may be asked.
    func thumbnail(for request: FileThumbnailRequest) throws -> ThumbnailReply
}

/// What is to be drawn, as `QLFileThumbnailRequest`.
public struct FileThumbnailRequest: Sendable {
    /// A copy of the document, to be read only.
    public let fileURL: URL
    /// In points: a picture may be smaller in one direction.
    public let maximumSize: CGSize
    /// In points: what is smaller in both directions is of no use.
    public let minimumSize: CGSize
    /// Pixels for each point.
    public let scale: Double
}

/// A drawn document, as `QLThumbnailReply`.
public struct ThumbnailReply: Sendable {
    enum Kind: Sendable {
        case drawing(size: CGSize, @Sendable (DrawingContext) -> Bool)
        case file(URL)
    }
    let kind: Kind

    /// A picture that is drawn when it is wanted.
    /// - Parameters:
    ///   - contextSize: its size in points, no larger than the request's `maximumSize`.
    ///   - drawing: draws it, and returns false if that fails.
    public init(contextSize: CGSize, drawing: @escaping @Sendable (DrawingContext) -> Bool) {
        kind = .drawing(size: contextSize, drawing)
    }

    /// An image file of any size, which is made smaller.
    public init(imageFileURL: URL) { kind = .file(imageFileURL) }
}
