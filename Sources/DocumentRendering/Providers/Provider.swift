import WorkerProtocol

/// Who renders a document.
public enum Provider: Sendable, Equatable {
    /// A decoder of the worker's own.
    case builtIn(WorkRequest.Subject)
    /// A picture made of those of what is in a folder.
    case folder
    /// A program that the desktop knows.
    case program(ThumbnailerFile)
}

extension Provider: CustomStringConvertible {
    public var description: String {
        switch self {
        case .builtIn(let subject): "built in: \(subject.explanation)"
        case .folder: "built in: what is in the folder"
        case .program(let file): file.path
        }
    }
}

extension WorkRequest.Subject {
    fileprivate var explanation: String {
        switch self {
        case .image: "the image"
        case .pages: "the first page"
        case .text: "the beginning, as prose"
        case .code: "the beginning, as code"
        case .archive: "a list of what is in the archive"
        case .embedded: "the picture that the document has of itself"
        case .media: "the cover, or a frame"
        }
    }
}
