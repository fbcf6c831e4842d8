/// A document's number in the index of one store: stays the same through rename, move and edit, and is never given to
/// another document.
public struct DocumentID: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int64

    public init(rawValue: Int64) { self.rawValue = rawValue }

    public static func < (left: DocumentID, right: DocumentID) -> Bool { left.rawValue < right.rawValue }
}

/// How many contents a document has had since the index met it: grows by one with each change of content seen.
public struct ContentGeneration: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int64

    public init(rawValue: Int64) { self.rawValue = rawValue }

    public static func < (left: ContentGeneration, right: ContentGeneration) -> Bool { left.rawValue < right.rawValue }
}

/// A user's number, as the kernel gives it with each request.
public struct UserID: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public init(_ rawValue: UInt32) { self.rawValue = rawValue }
}

/// A moment on the wall clock, in nanoseconds since 1970.
public struct Timestamp: Hashable, Comparable, Sendable {
    public let nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The nearest there is for moments before 1677 and after 2262.
    public init(seconds: Int64, nanoseconds: Int64 = 0) {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = product.addingReportingOverflow(nanoseconds)
        self.nanoseconds = overflow || carry ? (seconds < 0 ? .min : .max) : sum
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.nanoseconds < right.nanoseconds }

    public func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let more = seconds.multiplied(clamping: 1_000_000_000).adding(clamping: attoseconds / 1_000_000_000)
        return Timestamp(nanoseconds: nanoseconds.adding(clamping: more))
    }
}
