public import Foundation

/// A type of documents that an app's providers are for.
public struct DocumentContentType: Hashable, Sendable {
    /// A MIME type: `application/x-sketch`.
    public let identifier: String
    /// By which names its documents are known: `*.sketch`. Empty for a type that the desktop knows already.
    public let patterns: [String]
    /// For a person: `Sketch`.
    public let explanation: String

    /// - Parameters:
    ///   - identifier: the MIME type.
    ///   - patterns: how names end, as shells match them, if the desktop does not know the type yet.
    ///   - explanation: what file managers call it; the identifier unless given.
    public init(_ identifier: String, patterns: [String] = [], explanation: String? = nil) {
        self.identifier = identifier
        self.patterns = patterns
        self.explanation = explanation ?? identifier
    }
}
