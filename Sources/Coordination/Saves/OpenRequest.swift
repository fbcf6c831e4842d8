/// How a document is opened, as far as saves care.
public struct OpenFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// O_WRONLY or O_RDWR.
    public static let writes = OpenFlags(rawValue: 1)
    /// O_TRUNC.
    public static let truncates = OpenFlags(rawValue: 2)
    /// O_APPEND.
    public static let appends = OpenFlags(rawValue: 4)
    /// O_SYNC or O_DSYNC.
    public static let synchronous = OpenFlags(rawValue: 8)
    /// It came as a CREATE of a name that exists: the kernel has to walk the path again in any case.
    public static let creates = OpenFlags(rawValue: 16)
}

/// What the mount knows of the document when it is opened. For an open without O_TRUNC only `refusal` matters.
public struct OpenFacts: Hashable, Sendable {
    /// The errno of opening it O_WRONLY as the caller, nil if that works.
    public var refusal: Int32?
    public var isEmpty = false
    /// Its link count.
    public var links = 1
    /// Its name is one of the mount's live patterns.
    public var matchesLivePattern = false
    /// It is on a file system inside the store that a server answers for.
    public var isServed = false
    /// Owner, mode, ACL, attributes, flags and project can be given to a new inode. May be found out by trying: if not,
    /// the open is asked about once more with this set.
    public var attributesAreTransferable = true
    /// There is room for both versions. As above.
    public var hasRoom = true

    public init() {}
}

/// An open that writes or truncates.
public struct OpenRequest: Hashable, Sendable {
    /// The version the request came with.
    public var version: VersionID
    /// What the open is to be called from now on. The caller of the machine chooses it and releases it if it then
    /// fails.
    public var handle: SaveHandle
    public var caller: SaveCaller
    public var flags: OpenFlags
    public var facts: OpenFacts
    /// False if this open(2) has been answered ESTALE for another document: the path leads elsewhere since.
    public var mayRetry: Bool

    public init(
        version: VersionID, handle: SaveHandle, caller: SaveCaller, flags: OpenFlags,
        facts: OpenFacts = OpenFacts(), mayRetry: Bool = true
    ) {
        self.version = version
        self.handle = handle
        self.caller = caller
        self.flags = flags
        self.facts = facts
        self.mayRetry = mayRetry
    }

    /// A relay opens the document for a client that has yet to write, and may begin a save by ftruncate(2) then: until the first write the
    /// handle does not keep a save from replacing the document's file, and joins none.
    var isUnused: Bool { caller.isRelay && reasonToBeLive == .notTruncating }

    /// Why this open is live whoever else has the document open, nil if it may begin a save (rules 1 and 3). For a
    /// document without saves: an open with a reason needs no `DocumentSaves`.
    public var reasonToBeLive: LiveReason? {
        if flags.contains(.appends) { return .appending }
        if !flags.contains(.truncates) { return .notTruncating }
        if !flags.contains(.writes) { return .truncatesOnly }
        if caller.process == nil { return .unknownCaller }
        if flags.contains(.synchronous) { return .synchronous }
        if facts.matchesLivePattern { return .livePattern }
        if facts.isServed { return .served }
        if facts.isEmpty { return .empty }
        if facts.links > 1 { return .hardLinked }
        if facts.links == 0 { return .removed }
        if !facts.attributesAreTransferable { return .attributesNotTransferable }
        if !facts.hasRoom { return .noRoom }
        return nil
    }
}

public enum OpenKind: Hashable, Sendable {
    case transactional
    case live(LiveReason)
}

/// What becomes of an open.
public enum OpenDecision: Hashable, Sendable {
    /// Make a working copy of this version, then call `begin`.
    case begin(of: VersionID)
    /// Answer ESTALE. The LOOKUP that follows is answered with this version.
    case retry(to: VersionID)
    /// Open the file of this version, truncating it if that was asked for; it may be another than the request came
    /// with. A CREATE is answered with that version's entry, after a check of the caller's permissions, which the
    /// kernel leaves to whom it asks to create. The handle is known from now on. If the thread was expected on another
    /// version, that save may end by it: the step is to be carried out too.
    case serve(VersionID, OpenKind, then: SaveStep = .none)
    /// Answer with this errno.
    case refuse(Int32)

    /// Whether the open leads to that version, at once or by another walk.
    public func isOn(_ wanted: VersionID) -> Bool {
        switch self {
        case .retry(let version), .serve(let version, _, _): version == wanted
        case .begin, .refuse: false
        }
    }
}
