public import Foundation

/// Makes of documents of an app's own types what can be shown without the app, as `QLPreviewProvider`. Runs as ``ThumbnailProvider`` does.
public protocol PreviewProvider: Sendable {
    /// What it is for.
    static var contentTypes: [DocumentContentType] { get }

    /// Makes a document's preview. Throws if that is not possible.
    func preview(for request: FilePreviewRequest) throws -> PreviewReply
}

/// What is to be shown, as `QLFilePreviewRequest`.
public struct FilePreviewRequest: Sendable {
    /// A copy of the document, to be read only.
    public let fileURL: URL
}

/// What is shown of a document, as `QLPreviewReply`: PDF, an image or text.
public struct PreviewReply: Sendable {
    enum Kind: Sendable {
        case pages(size: CGSize, count: Int, @Sendable (DrawingContext, Int) -> Bool)
        case data(Data)
        case file(URL)
    }
    let kind: Kind

    /// Pages that are drawn.
    /// - Parameters:
    ///   - pageSize: in points, of which 72 are an inch.
    ///   - pageCount: how many there are.
    ///   - drawing: draws a page, which counts from 0, and returns false if that fails.
    public init(pageSize: CGSize, pageCount: Int = 1, drawing: @escaping @Sendable (DrawingContext, Int) -> Bool) {
        kind = .pages(size: pageSize, count: max(1, pageCount), drawing)
    }

    /// What a file of PDF, an image or text in UTF-8 would hold.
    public init(data: Data) { kind = .data(data) }

    /// A file of PDF, an image or text.
    public init(fileURL: URL) { kind = .file(fileURL) }
}
