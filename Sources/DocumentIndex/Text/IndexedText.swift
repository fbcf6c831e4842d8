public import StorePrimitives

/// A version of a document, as far as its text is concerned.
public struct TextVersion: Hashable, Sendable {
    /// In bytes.
    public let size: Int64
    public let modified: Timestamp

    public init(size: Int64, modified: Timestamp) { (self.size, self.modified) = (size, modified) }
}

/// What was read of a version of a document.
public struct IndexedText: Hashable, Sendable {
    public enum Outcome: Hashable, Sendable {
        /// The text, in UTF-8.
        case text([UInt8])
        /// There is none, and why, for a person.
        case nothing(String)
        /// It could not be read, and why, for a person. It is tried again `TextIndex.mostAttempts` times in all.
        case failed(String)
    }

    public let document: DocumentID
    /// For whom the text is counted: the owner of the file.
    public let owner: UserID
    public let version: TextVersion
    public let outcome: Outcome

    public init(document: DocumentID, owner: UserID, version: TextVersion, outcome: Outcome) {
        (self.document, self.owner, self.version, self.outcome) = (document, owner, version, outcome)
    }
}

/// What the text index knows of a document.
public struct TextState: Hashable, Sendable {
    public enum Kind: Int64, Sendable { case indexed, nothing, failed }

    public let version: TextVersion
    public let kind: Kind
    public let attempts: Int
    /// Bytes of words.
    public let length: Int
    /// Why there is nothing, for a person.
    public let reason: String?
    /// When it was read.
    public let time: Timestamp

    /// Whether a version of the document is to be read.
    public func isDue(for version: TextVersion) -> Bool {
        version != self.version || kind == .failed && attempts < TextIndex.mostAttempts
    }
}

/// How much the text index has.
public struct TextCounts: Hashable, Sendable {
    public let indexed: Int
    public let nothing: Int
    public let failed: Int
    /// Of the file.
    public let bytes: Int

    public init(indexed: Int, nothing: Int, failed: Int, bytes: Int) {
        (self.indexed, self.nothing, self.failed, self.bytes) = (indexed, nothing, failed, bytes)
    }
}

/// A document whose text has what was sought, and the version that the text is of.
struct TextHit {
    let document: Int64
    let size: Int64
    /// In nanoseconds since 1970.
    let modified: Int64
}
