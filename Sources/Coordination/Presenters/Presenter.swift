public import StorePrimitives

/// A presenter, from its registration to its end.
public struct PresenterID: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// Whoever shows an item, like an `NSFilePresenter`.
public struct Presenter: Hashable, Sendable {
    /// The item; nothing needs to be there.
    public internal(set) var path: StorePath
    /// Whether it presents what is in the folder too, at any depth.
    public let coversContents: Bool
    public let owner: Claimant
    /// Whose it is counted for: its user, as a rule.
    public let account: UInt32
    /// When it was registered: processes that its owner starts later are its own.
    public let moment: SaveMoment
    /// It shows something that is not in the file yet, so that whoever reads it asks first.
    public internal(set) var hasUnsavedChanges = false
    /// It has let a question go unanswered, and is not asked again before it answers.
    public internal(set) var isSilent = false
    /// Whether its owner may write the item. Who may not has nothing to save, and is told but not asked.
    public let maySave: Bool
    var lastQuestion: PresenterQuestion.ID?

    var isAsked: Bool { maySave && !isSilent }

    public init(of path: StorePath, coversContents: Bool, owner: Claimant, account: UInt32? = nil, moment: SaveMoment, maySave: Bool = true) {
        self.path = path
        self.coversContents = coversContents
        self.owner = owner
        self.account = account ?? owner.user
        self.moment = moment
        self.maySave = maySave
    }

    /// Whether what somebody does is its own doing, of which it is neither asked nor told.
    func isOwn(_ actor: Claimant) -> Bool { owner.includes(actor, since: moment) }
}

/// What a presenter is asked, to be answered when it is done.
public struct PresenterQuestion: Hashable, Sendable {
    public struct ID: Hashable, Comparable, Sendable {
        public let rawValue: UInt64
        public init(_ rawValue: UInt64) { self.rawValue = rawValue }
        public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
    }

    public enum AskedAccess: Hashable, Sendable {
        case reading
        case writing
    }

    /// What is asked about an item. In the order of `NSFilePresenter`: it relinquishes the item, then saves, then makes room
    /// for the deletion.
    public struct Matter: Hashable, Sendable {
        /// The item that is claimed or opened: the presented one, or one in it, or a folder that holds it.
        public let item: StorePath
        public let access: AskedAccess
        /// Whether it is to save what it has not saved.
        public let savesChanges: Bool
        /// Whether the item will be gone.
        public let isDeletion: Bool
    }

    public let id: ID
    public let presenter: PresenterID
    public let matter: Matter
}

extension ClaimIntent {
    /// What presenters are asked before this is granted; nil for what does not concern them. As on Apple's systems, a reader
    /// and a writer who merges have them save, and who replaces or deletes has them make room.
    var matter: PresenterQuestion.Matter? {
        switch access {
        case .reading(let options):
            guard !isImmediate else { return nil }
            return .init(
                item: path, access: .reading, savesChanges: !options.contains(.withoutChanges), isDeletion: false)
        case .writing(let options):
            guard !options.contains(.metadataOnly) else { return nil }
            return .init(
                item: path, access: .writing, savesChanges: options.contains(.merging),
                isDeletion: !options.isDisjoint(with: [.deleting, .replacing]))
        }
    }
}
