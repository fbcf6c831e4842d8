public import StorePrimitives

/// A claim, from its request to its release. Later ones are greater.
public struct ClaimID: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// How an item is to be read. The names are those of `NSFileCoordinator.ClaimReadingOptions`.
public struct ClaimReadingOptions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// What was published last, without a wait for saves under way.
    public static let immediately = ClaimReadingOptions(rawValue: 1)
    /// Presenters are not asked to save first.
    public static let withoutChanges = ClaimReadingOptions(rawValue: 2)
    /// Name, dates and attributes only: there is no snapshot, and no wait.
    public static let metadataOnly = ClaimReadingOptions(rawValue: 4)
    /// A document that somebody writes in place, and that can be neither cloned nor copied, is granted as it is.
    public static let live = ClaimReadingOptions(rawValue: 8)
}

/// How an item is to be written. The names are those of `NSFileCoordinator.ClaimWritingOptions`.
public struct ClaimWritingOptions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// What is there is changed: presenters save first.
    public static let merging = ClaimWritingOptions(rawValue: 1)
    /// What is there is replaced by another document: what presenters have not saved is lost.
    public static let replacing = ClaimWritingOptions(rawValue: 2)
    public static let moving = ClaimWritingOptions(rawValue: 4)
    /// Presenters make room for the deletion first.
    public static let deleting = ClaimWritingOptions(rawValue: 8)
    /// Tags, comments and dates only: other processes may go on writing the content.
    public static let metadataOnly = ClaimWritingOptions(rawValue: 16)
    /// Of a folder all that is in it too, whatever else it is written for.
    public static let contents = ClaimWritingOptions(rawValue: 32)

    /// Whether a claim with these on a folder covers everything in it.
    public var coversContents: Bool { !isDisjoint(with: [.replacing, .moving, .deleting, .contents]) }
}

/// One item of a claim, and what it is claimed for.
public struct ClaimIntent: Hashable, Sendable {
    public enum Access: Hashable, Sendable {
        case reading(ClaimReadingOptions)
        case writing(ClaimWritingOptions)
    }

    /// The item; nothing needs to be there.
    public var path: StorePath
    public let access: Access

    public init(_ path: StorePath, _ access: Access) {
        self.path = path
        self.access = access
    }

    public var isWriting: Bool { if case .writing = access { true } else { false } }

    /// A reader of a folder gets all of it as it was at one instant.
    var coversContents: Bool {
        switch access {
        case .reading: true
        case .writing(let options): options.coversContents
        }
    }

    /// Whether it takes what is there without a wait.
    var isImmediate: Bool {
        guard case .reading(let options) = access else { return false }
        return !options.isDisjoint(with: [.immediately, .metadataOnly])
    }

    /// Whether it matters who writes the item's content meanwhile.
    var concernsContent: Bool {
        guard case .writing(let options) = access else { return !isImmediate }
        return !options.contains(.metadataOnly)
    }

    /// Whether it is given the item as it is at the moment of the grant.
    public var wantsSnapshot: Bool {
        guard case .reading(let options) = access else { return false }
        return !options.contains(.metadataOnly)
    }

    /// Whether it takes the item as it is, if it cannot be kept so.
    public var mayBeLive: Bool { if case .reading(let options) = access { options.contains(.live) } else { false } }

    /// Whether the two name a document in common.
    func meets(_ other: ClaimIntent) -> Bool {
        path == other.path || coversContents && other.path.isInside(path) || other.coversContents && path.isInside(other.path)
    }
}

public struct ClaimRequest: Hashable, Sendable {
    public internal(set) var intents: [ClaimIntent]
    public let claimant: Claimant
    /// When it was made: processes that the claimant starts later belong to it.
    public let moment: SaveMoment
    /// A claim that its claimant holds for as long as this one waits: what waits for that one waits for this one too.
    public internal(set) var within: ClaimID?

    public init(_ intents: [ClaimIntent], by claimant: Claimant, at moment: SaveMoment, within: ClaimID? = nil) {
        self.intents = intents
        self.claimant = claimant
        self.moment = moment
        self.within = within
    }

    public var isWriting: Bool { intents.contains(where: \.isWriting) }

    /// Whether it matters to it who writes a document's content meanwhile.
    public func concernsContent(of path: StorePath) -> Bool { claims(path) { _ in true } }

    /// Whether it is to write a document's content.
    public func writesContent(of path: StorePath) -> Bool { claims(path, where: \.isWriting) }

    private func claims(_ path: StorePath, where isMeant: (ClaimIntent) -> Bool) -> Bool {
        let item = ClaimIntent(path, .writing([]))
        return intents.contains { isMeant($0) && $0.concernsContent && $0.meets(item) }
    }
}
